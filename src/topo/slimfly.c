/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Slim Fly (Besta, Hoefler, SC 2014): the graphs of McKay, Miller and Siran for a prime q = 4 w +
 * d, d = 1 or -1: 2 q^2 switches of degree (3 q - d) / 2, diameter 2. Switch (0, x, y) is joined to
 * (0, x, y') where y - y' is in the set X, (1, m, c) to (1, m, c') where c - c' is in X', and (0,
 * x, y) to (1, m, c) where y = m x + c. With a primitive root r of q,
 *	d = 1:	X = even powers of r, X' = odd powers
 *	d = -1:	X = r^0, r^2, ..., r^(2w-2), r^(2w-1), r^(2w+1), ..., r^(4w-3), and X' = r X
 *
 * Ports: p hosts, the switches of X or X', then the q of the other half.
 */
#include "topo/helper.h"

#include <osmroutes/invariant.h>

#include <stdio.h>

#define MAX_Q 101

struct slimfly {
	uint32_t q, p, n_set;
	uint8_t port[2][MAX_Q]; /* port to the switch this much further, from 1; 0: none */
};

static void slimfly_sets(struct slimfly *slimfly)
{
	uint32_t q = slimfly->q, r = 1, w = (q + 1) / 4, power = 1, order = 1;
	bool in[2][MAX_Q] = { { false } };

	/* The smallest number whose powers are all of 1 .. q-1. */
	while (order < q - 1) {
		r++;
		order = 1;
		for (uint64_t x = r; x != 1; x = x * r % q)
			order++;
		osr_invariant(order < q);
	}
	for (uint32_t i = 0; i < q - 1; i++, power = power * r % q) {
		bool even = i % 2 == 0, first = q % 4 == 1 || i < 2 * w - 1 ? even : !even;

		if (!first)
			continue;
		in[0][power] = true;
		in[1][power * r % q] = true;
	}
	for (uint32_t half = 0; half < 2; half++) {
		slimfly->n_set = 0;
		for (uint32_t i = 1; i < q; i++)
			if (in[half][i])
				slimfly->port[half][i] = ++slimfly->n_set;
		/* (q - d) / 2, with q = 4 w + d. */
		osr_invariant(slimfly->n_set == (q % 4 == 1 ? q - 1 : q + 1) / 2);
	}
}

static uint32_t slimfly_switch(const struct slimfly *slimfly, uint32_t half, uint32_t x, uint32_t y)
{
	osr_invariant(half < 2 && x < slimfly->q && y < slimfly->q);
	return (half * slimfly->q + x) * slimfly->q + y;
}

enum { SF_Q, SF_P };

static const struct osr_param params[] = {
	[SF_Q] = { "q", OSR_PARAM_UINT, "5", 3, MAX_Q, NULL, "an odd prime; 2 q^2 switches" },
	[SF_P] = { "p", OSR_PARAM_UINT, "1", 0, 253, NULL, "hosts of a switch" },
	{ 0 },
};

static enum osr_status slimfly_make(const struct osr_topo_job *job)
{
	struct slimfly slimfly = { .q = job->num[SF_Q], .p = job->num[SF_P] };
	uint32_t n = 2 * slimfly.q * slimfly.q, n_ports;
	enum osr_status st;
	char name[64], part[32];
	bool is_prime = slimfly.q % 2 == 1;

	for (uint32_t i = 3; i * i <= slimfly.q; i += 2)
		is_prime = is_prime && slimfly.q % i != 0;
	if (!is_prime)
		return osr_fail(job->diag, OSR_INVAL, "q = %u is no odd prime", slimfly.q);
	slimfly_sets(&slimfly);
	st = osr_switch_ports(job, (uint64_t)slimfly.p + slimfly.n_set + slimfly.q, &n_ports);
	for (uint32_t s = 0; !st && s < n; s++) {
		osr_topo_name(part, sizeof(part), s < n / 2 ? "a" : "b", s / slimfly.q % slimfly.q,
			      slimfly.q);
		snprintf(name, sizeof(name), "%s-", part);
		osr_topo_name(part, sizeof(part), name, s % slimfly.q, slimfly.q);
		osr_switch(job, n_ports, part);
		st = osr_net_status(job->net, job->diag);
	}
	if (st)
		return st;
	for (uint32_t half = 0; half < 2; half++)
		for (uint32_t x = 0; x < slimfly.q; x++)
			for (uint32_t y = 0; y < slimfly.q; y++)
				for (uint32_t z = y + 1; z < slimfly.q; z++)
					if (slimfly.port[half][z - y])
						osr_cable(job, slimfly_switch(&slimfly, half, x, y),
							  slimfly.p + slimfly.port[half][z - y],
							  slimfly_switch(&slimfly, half, x, z),
							  slimfly.p + slimfly.port[half][slimfly.q +
											 y - z]);
	for (uint32_t x = 0; x < slimfly.q; x++)
		for (uint32_t m = 0; m < slimfly.q; m++)
			for (uint32_t c = 0; c < slimfly.q; c++)
				osr_cable(job,
					  slimfly_switch(&slimfly, 0, x, (m * x + c) % slimfly.q),
					  slimfly.p + slimfly.n_set + 1 + m,
					  slimfly_switch(&slimfly, 1, m, c),
					  slimfly.p + slimfly.n_set + 1 + x);
	return osr_hosts(job, n, slimfly.p);
}

const struct osr_topo osr_topo_slimfly = {
	.name = "slimfly",
	.summary = "Slim Fly: diameter 2, from a prime q",
	.params = params,
	.make = slimfly_make,
};
