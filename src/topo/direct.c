/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Direct networks with coordinates: torus, mesh, hypercube, HyperX; and the Kautz graph. Every
 * switch carries the same number of hosts, on its first ports.
 */
#include "topo/helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct grid {
	uint32_t n_dims;
	uint32_t dim[OSR_TOPO_MAX_DIMS];
	uint32_t stride
		[OSR_TOPO_MAX_DIMS]; /* of the switch index; the last dimension varies fastest */
	uint32_t n_switches;
	uint32_t hosts;
};

static uint32_t coordinate(const struct grid *grid, uint32_t s, uint32_t d)
{
	osr_invariant(s < grid->n_switches && d < grid->n_dims);
	return s / grid->stride[d] % grid->dim[d];
}

/*
 * All switches of the grid, so that cables can follow in any order; named by their coordinates:
 * "s-3-0-7".
 */
static enum osr_status grid_switches(struct grid *grid, uint64_t needed,
				     const struct osr_topo_job *job)
{
	enum osr_status st =
		osr_topo_product(grid->dim, grid->n_dims, "switches", &grid->n_switches, job->diag);
	char name[OSR_TOPO_MAX_DIMS * 8 + 8];
	uint32_t n_ports, stride = 1;

	for (uint32_t d = st ? 0 : grid->n_dims; d-- > 0;) {
		grid->stride[d] = stride;
		stride *= grid->dim[d];
	}
	if (!st)
		st = osr_switch_ports(job, needed, &n_ports);
	for (uint32_t s = 0; !st && s < grid->n_switches; s++) {
		size_t n = (size_t)snprintf(name, sizeof(name), "s");

		for (uint32_t d = 0; d < grid->n_dims; d++) {
			osr_topo_name(name + n, sizeof(name) - n, "-", coordinate(grid, s, d),
				      grid->dim[d]);
			n += strlen(name + n);
		}
		osr_switch(job, n_ports, name);
	}
	return st ? st : osr_net_status(job->net, job->diag);
}

/* ---- torus, mesh ---------------------------------------------------------------------------- */

/*
 * Behind the hosts, each dimension has two ports: towards the next higher coordinate, then towards
 * the next lower. The wrap-around cable of a dimension of 2 would run beside the other cable; it is
 * there only if `twice` asks for it. A dimension of 1 has none.
 */
static enum osr_status make_grid(struct grid *grid, bool wrap, bool twice,
				 const struct osr_topo_job *job)
{
	enum osr_status st = grid_switches(grid, (uint64_t)grid->hosts + 2 * grid->n_dims, job);

	for (uint32_t s = 0; !st && s < grid->n_switches; s++) {
		for (uint32_t d = 0; d < grid->n_dims; d++) {
			uint32_t up = grid->hosts + 1 + 2 * d;
			uint32_t x = coordinate(grid, s, d);

			if (x + 1 < grid->dim[d])
				osr_cable(job, s, up, s + grid->stride[d], up + 1);
			else if (wrap && grid->dim[d] > (twice ? 1u : 2u))
				osr_cable(job, s, up, s - x * grid->stride[d], up + 1);
		}
	}
	return st ? st : osr_hosts(job, grid->n_switches, grid->hosts);
}

enum { GRID_DIMS, GRID_HOSTS, GRID_TWICE };

#define HOSTS_PARAM(def)                                                                           \
	{                                                                                          \
		"hosts", OSR_PARAM_UINT, def, 0, 253, NULL, "hosts per switch"                     \
	}

static const struct osr_param torus_params[] = {
	[GRID_DIMS] = { "dims", OSR_PARAM_STRING, "4x4", 0, 0, NULL,
			"switches along each dimension" },
	[GRID_HOSTS] = HOSTS_PARAM("1"),
	[GRID_TWICE] = { "twice", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			 "two cables instead of one in dimensions of 2" },
	{ 0 },
};

static const struct osr_param mesh_params[] = {
	[GRID_DIMS] = { "dims", OSR_PARAM_STRING, "4x4", 0, 0, NULL,
			"switches along each dimension" },
	[GRID_HOSTS] = HOSTS_PARAM("1"),
	{ 0 },
};

static enum osr_status grid_options(const struct osr_topo_job *job, struct grid *grid)
{
	*grid = (struct grid){ .hosts = job->num[GRID_HOSTS] };
	return osr_list(job->values->str[job->num[GRID_DIMS]], "dims", grid->dim, &grid->n_dims,
			job->diag);
}

static enum osr_status make_torus(const struct osr_topo_job *job)
{
	struct grid grid;
	enum osr_status st = grid_options(job, &grid);

	return st ? st : make_grid(&grid, true, job->num[GRID_TWICE], job);
}

static enum osr_status make_mesh(const struct osr_topo_job *job)
{
	struct grid grid;
	enum osr_status st = grid_options(job, &grid);

	return st ? st : make_grid(&grid, false, false, job);
}

const struct osr_topo osr_topo_torus = {
	.name = "torus",
	.summary = "torus of any dimension; a ring is a torus of one",
	.params = torus_params,
	.make = make_torus,
};

const struct osr_topo osr_topo_mesh = {
	.name = "mesh",
	.summary = "mesh of any dimension: a torus without wrap-around cables",
	.params = mesh_params,
	.make = make_mesh,
};

/* ---- HyperX, hypercube ---------------------------------------------------------------------- */

/* In every dimension every switch is cabled to every other one of its line. */
static enum osr_status make_full(struct grid *grid, const struct osr_topo_job *job)
{
	uint64_t needed = grid->hosts;
	enum osr_status st;

	for (uint32_t d = 0; d < grid->n_dims; d++)
		needed += grid->dim[d] - 1;
	st = grid_switches(grid, needed, job);
	for (uint32_t s = 0; !st && s < grid->n_switches; s++) {
		uint32_t port = grid->hosts + 1;

		for (uint32_t d = 0; d < grid->n_dims; port += grid->dim[d++] - 1) {
			uint32_t x = coordinate(grid, s, d);

			/* Port y leads to coordinate y, y + 1 behind the own one. */
			for (uint32_t y = x + 1; y < grid->dim[d]; y++)
				osr_cable(job, s, port + y - 1, s + (y - x) * grid->stride[d],
					  port + x);
		}
	}
	return st ? st : osr_hosts(job, grid->n_switches, grid->hosts);
}

static enum osr_status make_hyperx(const struct osr_topo_job *job)
{
	struct grid grid;
	enum osr_status st = grid_options(job, &grid);

	return st ? st : make_full(&grid, job);
}

const struct osr_topo osr_topo_hyperx = {
	.name = "hyperx",
	.summary = "HyperX: a full mesh along every dimension",
	.params = mesh_params,
	.make = make_hyperx,
};

enum { CUBE_N, CUBE_HOSTS };

static const struct osr_param cube_params[] = {
	[CUBE_N] = { "n", OSR_PARAM_UINT, "4", 1, 15, NULL, "dimensions; 2^n switches" },
	[CUBE_HOSTS] = HOSTS_PARAM("1"),
	{ 0 },
};

static enum osr_status make_cube(const struct osr_topo_job *job)
{
	struct grid grid = { .n_dims = job->num[CUBE_N], .hosts = job->num[CUBE_HOSTS] };

	for (uint32_t d = 0; d < grid.n_dims; d++)
		grid.dim[d] = 2;
	return make_full(&grid, job);
}

const struct osr_topo osr_topo_hypercube = {
	.name = "hypercube",
	.summary = "hypercube: a HyperX with n dimensions of 2",
	.params = cube_params,
	.make = make_cube,
};

/* ---- Kautz ---------------------------------------------------------------------------------- */

/*
 * Kautz graph K(b, n): words of n letters out of b + 1 without equal neighbours, (b + 1) b^(n-1) of
 * them, an arc from x_1 .. x_n to every x_2 .. x_n y. Diameter n. One cable carries an arc; where
 * both directions are arcs they share it.
 *
 * Words are numbered by their first letter, then by which of the b letters allowed follows.
 */
struct kautz {
	uint32_t b, n, n_words;
	uint32_t tail; /* b^(n-1): words with one first letter */
	uint8_t *used; /* [n_words] ports behind the hosts that are cabled */
};

static void word_letters(const struct kautz *kautz, uint32_t word, uint32_t *letter)
{
	uint32_t place = kautz->tail;

	letter[0] = word / place;
	word %= place;
	for (uint32_t i = 1; i < kautz->n; i++) {
		place /= kautz->b;
		letter[i] = word / place;
		letter[i] += letter[i] >= letter[i - 1];
		osr_invariant(letter[i] <= kautz->b && letter[i] != letter[i - 1]);
		word %= place;
	}
}

enum { KAUTZ_B, KAUTZ_N, KAUTZ_HOSTS };

static const struct osr_param kautz_params[] = {
	[KAUTZ_B] = { "b", OSR_PARAM_UINT, "2", 1, 100, NULL, "arcs that leave a switch" },
	[KAUTZ_N] = { "n", OSR_PARAM_UINT, "3", 1, 12, NULL, "diameter; (b+1) b^(n-1) switches" },
	[KAUTZ_HOSTS] = HOSTS_PARAM("1"),
	{ 0 },
};

static enum osr_status make_kautz(const struct osr_topo_job *job)
{
	struct kautz kautz = { .b = job->num[KAUTZ_B], .n = job->num[KAUTZ_N] };
	uint32_t hosts = job->num[KAUTZ_HOSTS], factor[OSR_TOPO_MAX_DIMS + 1], n_ports;
	uint32_t letter[OSR_TOPO_MAX_DIMS + 1], other[OSR_TOPO_MAX_DIMS + 1];
	char name[OSR_TOPO_MAX_DIMS * 5 + 8];
	enum osr_status st;

	factor[0] = kautz.b + 1;
	for (uint32_t i = 1; i < kautz.n; i++)
		factor[i] = kautz.b;
	st = osr_topo_product(factor, kautz.n, "switches", &kautz.n_words, job->diag);
	if (!st)
		st = osr_switch_ports(job, (uint64_t)hosts + 2 * kautz.b, &n_ports);
	if (st)
		return st;
	kautz.tail = kautz.n_words / (kautz.b + 1);
	kautz.used = calloc(kautz.n_words, sizeof(*kautz.used));
	if (!kautz.used)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for %u switches",
				kautz.n_words);
	for (uint32_t s = 0; s < kautz.n_words; s++) {
		size_t n = (size_t)snprintf(name, sizeof(name), "s");

		word_letters(&kautz, s, letter);
		for (uint32_t i = 0; i < kautz.n; i++)
			n += (size_t)snprintf(name + n, sizeof(name) - n, "-%u", letter[i]);
		osr_switch(job, n_ports, name);
	}
	for (uint32_t s = 0; s < kautz.n_words; s++) {
		word_letters(&kautz, s, letter);
		for (uint32_t y = 0; y < kautz.b; y++) {
			/* The end of the arc that appends the y-th letter allowed. */
			uint32_t last = letter[kautz.n - 1], next = y + (y >= last),
				 t = kautz.n > 1 ? letter[1] : next;

			for (uint32_t i = 2; i < kautz.n; i++)
				t = t * kautz.b + letter[i] - (letter[i] > letter[i - 1]);
			t = kautz.n > 1 ? t * kautz.b + next - (next > last) : t;
			osr_invariant(t < kautz.n_words);
			word_letters(&kautz, t, other);
			/*
			 * An arc whose reverse is an arc too was cabled when the lower of its ends
			 * was visited.
			 */
			if (t == s ||
			    (t < s && !memcmp(other + 1, letter, (kautz.n - 1) * sizeof(*letter))))
				continue;
			osr_cable(job, s, hosts + ++kautz.used[s], t, hosts + ++kautz.used[t]);
		}
	}
	free(kautz.used);
	st = osr_net_status(job->net, job->diag);
	return st ? st : osr_hosts(job, kautz.n_words, hosts);
}

const struct osr_topo osr_topo_kautz = {
	.name = "kautz",
	.summary = "Kautz graph K(b, n): degree 2b, diameter n",
	.params = kautz_params,
	.make = make_kautz,
};
