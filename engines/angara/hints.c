/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "hints.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One file being read. */
struct reader {
	const char *path;
	unsigned line;
	struct hints *h;
	uint64_t *guid; /* in the order of the file */
	uint16_t *coord;
	struct osr_diag *diag;
};

static enum osr_status bad(const struct reader *r, const char *what)
{
	return osr_fail(r->diag, OSR_NOT_APPLICABLE, "hints %s:%u: %s", r->path, r->line, what);
}

/* Skips blanks; true at the end of the line. */
static bool at_end(const char **p)
{
	*p += strspn(*p, " \t\r");
	return !**p || **p == '\n' || **p == '#';
}

static bool hints_take_word(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n) != 0 || !strchr(" \t", (*p)[n]) || !(*p)[n])
		return false;
	*p += n;
	*p += strspn(*p, " \t");
	return true;
}

static bool take_number(const char **p, unsigned long max, unsigned long *n)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	*n = strtoul(*p, &end, 10);
	*p = end;
	return *n <= max;
}

static enum osr_status read_shape(struct reader *r, const char *p, bool torus)
{
	struct osr_grid_shape *grid_shape = &r->h->frame.shape;

	if (grid_shape->n_dims)
		return bad(r, "the shape is given twice");
	do {
		unsigned long n;

		if (grid_shape->n_dims == 6)
			return bad(r, "more than 6 dimensions");
		if (!take_number(&p, 4096, &n) || n < 2)
			return bad(r, "expected sizes of 2 or more, as in 8x8x4");
		grid_shape->size[grid_shape->n_dims] = (uint16_t)n;
		grid_shape->ring[grid_shape->n_dims] = torus && n > 2 && *p != 'm';
		p += *p == 'm';
		grid_shape->n_dims++;
	} while (*p++ == 'x');
	p--;
	return at_end(&p) ? OSR_OK : bad(r, "expected sizes of 2 or more, as in 8x8x4");
}

static enum osr_status read_switch(struct reader *r, const char *p)
{
	struct osr_grid_frame *grid_frame = &r->h->frame;
	uint16_t *x = r->coord + (size_t)grid_frame->n * grid_frame->shape.n_dims;
	char *end;

	/* strtoull() would go on in the next line, and takes signs. */
	r->guid[grid_frame->n] = strtoull(p, &end, 16);
	if (!isxdigit((unsigned char)*p) || !strchr(" \t", *end))
		return bad(r, "expected a GUID and coordinates");
	p = end + strspn(end, " \t");
	for (uint32_t i = 0; i < grid_frame->shape.n_dims; i++) {
		unsigned long n;

		if ((i && *p++ != ',') || !take_number(&p, grid_frame->shape.size[i] - 1u, &n))
			return bad(r, "expected a coordinate for each dimension, from 0 and below "
				      "its size, with commas between them");
		x[i] = (uint16_t)n;
	}
	for (uint32_t k = 0; k < grid_frame->n; k++) {
		if (r->guid[k] == r->guid[grid_frame->n])
			return bad(r, "this switch has coordinates already");
		if (!memcmp(x, r->coord + (size_t)k * grid_frame->shape.n_dims,
			    grid_frame->shape.n_dims * sizeof(*x)))
			return bad(r, "another switch has these coordinates");
	}
	grid_frame->n++;
	return at_end(&p) ? OSR_OK : bad(r, "more coordinates than dimensions");
}

static enum osr_status read_port(struct reader *r, const char *p)
{
	static const char letters[] = "XYZKLM";
	const char *letter;
	unsigned long port;
	uint32_t i, way;

	if (!take_number(&p, 254, &port) || !port)
		return bad(r, "expected a port, 1 to 254, and a direction such as +X");
	p += strspn(p, " \t");
	way = *p == '-';
	if (*p != '+' && *p != '-')
		return bad(r, "expected a direction such as +X or -Y");
	letter = p[1] ? strchr(letters, p[1]) : NULL;
	i = letter ? (uint32_t)(letter - letters) : 6;
	if (i >= r->h->frame.shape.n_dims)
		return bad(r, "there is no such dimension");
	if (r->h->port_dir[port] != 255)
		return bad(r, "this port has a direction already");
	r->h->port_dir[port] = (uint8_t)(2 * i + way);
	r->h->ports = true;
	p += 2;
	return at_end(&p) ? OSR_OK : bad(r, "expected exactly one direction");
}

static enum osr_status hints_read_line(struct reader *r, const char *p)
{
	if (at_end(&p))
		return OSR_OK;
	if (hints_take_word(&p, "torus"))
		return read_shape(r, p, true);
	if (hints_take_word(&p, "mesh"))
		return read_shape(r, p, false);
	if (!r->h->frame.shape.n_dims)
		return bad(r, "expected \"torus\" or \"mesh\" and sizes first");
	if (hints_take_word(&p, "switch"))
		return read_switch(r, p);
	if (hints_take_word(&p, "port"))
		return read_port(r, p);
	return bad(r, "expected torus, mesh, switch or port");
}

/* By ascending GUID, as grid.h wants them. */
static enum osr_status sort_switches(struct reader *r, struct osr_arena *arena)
{
	struct osr_grid_frame *grid_frame = &r->h->frame;
	uint64_t *guid = osr_alloc(arena, grid_frame->n, sizeof(*guid));
	uint16_t *coord =
		osr_alloc(arena, (size_t)grid_frame->n * grid_frame->shape.n_dims, sizeof(*coord));

	if (osr_arena_failed(arena, r->diag))
		return OSR_NOMEM;
	for (uint32_t k = 0; k < grid_frame->n; k++) {
		uint32_t rank = 0;

		for (uint32_t m = 0; m < grid_frame->n; m++)
			rank += r->guid[m] < r->guid[k];
		guid[rank] = r->guid[k];
		memcpy(coord + (size_t)rank * grid_frame->shape.n_dims,
		       r->coord + (size_t)k * grid_frame->shape.n_dims,
		       grid_frame->shape.n_dims * sizeof(*coord));
	}
	grid_frame->guid = guid;
	grid_frame->coord = coord;
	return OSR_OK;
}

/* As grid.h sees them: a ring of 4 is two lines of 2, its places 0 1 2 3 are 00 10 11 01. */
static enum osr_status hints_split_fours(struct reader *r, struct osr_arena *arena)
{
	struct osr_grid_frame *grid_frame = &r->h->frame;
	struct osr_grid_shape old = grid_frame->shape, *grid_shape = &grid_frame->shape;
	uint16_t *coord =
		osr_alloc(arena, (size_t)grid_frame->n * OSR_GRID_MAX_DIMS, sizeof(*coord));

	if (osr_arena_failed(arena, r->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < old.n_dims; i++)
		if (old.ring[i] && old.size[i] == 4) {
			grid_shape->ring[i] = grid_shape->ring[grid_shape->n_dims] = false;
			grid_shape->size[i] = grid_shape->size[grid_shape->n_dims] = 2;
			grid_shape->n_dims++;
		}
	for (uint32_t k = 0; k < grid_frame->n; k++) {
		uint16_t *to = coord + (size_t)k * grid_shape->n_dims;
		uint32_t next = old.n_dims;

		for (uint32_t i = 0; i < old.n_dims; i++) {
			uint16_t x = grid_frame->coord[(size_t)k * old.n_dims + i];

			to[i] = x;
			if (!old.ring[i] || old.size[i] != 4)
				continue;
			to[i] = x == 1 || x == 2;
			to[next++] = x / 2;
		}
	}
	grid_frame->coord = coord;
	return OSR_OK;
}

enum osr_status angara__hints(const char *path, const char *text, struct osr_arena *arena,
			      struct hints *h, struct osr_diag *diag)
{
	struct reader r = { .path = path, .h = h, .diag = diag };
	size_t n_lines = 1;
	enum osr_status st = OSR_OK;

	memset(h, 0, sizeof(*h));
	memset(h->port_dir, 255, sizeof(h->port_dir));
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n_lines++;
	r.guid = osr_alloc(arena, n_lines, sizeof(*r.guid));
	r.coord = osr_alloc(arena, n_lines * 6, sizeof(*r.coord));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (const char *p = text; p && *p && !st;) {
		r.line++;
		st = hints_read_line(&r, p);
		p = strchr(p, '\n');
		if (p)
			p++;
	}
	if (!st && !h->frame.shape.n_dims)
		st = bad(&r, "expected \"torus\" or \"mesh\" and sizes");
	if (!st)
		st = sort_switches(&r, arena);
	/* Ports speak of the ring as it is. */
	return st || !h->frame.n ? st : hints_split_fours(&r, arena);
}

/* Rings and lines by size, rings of 4 as two lines of 2. */
static void hints_count_rows(const struct osr_grid_shape *grid_shape, int by, int *count)
{
	for (uint32_t i = 0; i < grid_shape->n_dims; i++) {
		if (grid_shape->ring[i] && grid_shape->size[i] == 4)
			count[2] += 2 * by;
		else
			count[grid_shape->size[i] + (grid_shape->ring[i] ? 4097 : 0)] += by;
	}
}

bool angara__same_shape(const struct osr_grid_shape *said, const struct osr_grid_shape *found)
{
	int count[2 * 4097] = { 0 };

	for (uint32_t i = 0; i < found->n_dims; i++)
		if (found->size[i] > 4096)
			return false;
	hints_count_rows(said, 1, count);
	hints_count_rows(found, -1, count);
	for (uint32_t k = 0; k < 2 * 4097; k++)
		if (count[k])
			return false;
	return true;
}
