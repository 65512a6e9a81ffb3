/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hints.h - what an administrator says of a grid, for fabrics whose cables leave it open:
 *
 *	torus 8x8x3m		sizes; m: a line. Or "mesh 4x4"
 *	switch 0x2c903 1,0,2	coordinates, from 0
 *	port 5 +X		every switch's port 5 leads to the next higher X; Y Z K L M likewise
 *
 * One per line; # begins a comment. The first line that counts says torus or mesh.
 */
#ifndef ANGARA_HINTS_H
#define ANGARA_HINTS_H

#include <osmroutes/grid.h>

struct hints {
	struct osr_grid_frame frame;
	uint8_t port_dir[256]; /* 255: nothing said */
	bool ports;
};

/* OSR_NOT_APPLICABLE with file and line if it cannot be read or contradicts itself. */
enum osr_status angara__hints(const char *path, const char *text, struct osr_arena *arena,
			      struct hints *h, struct osr_diag *diag);

/* Do the cables make the grid that was described? A ring of 4 is two lines of 2. */
bool angara__same_shape(const struct osr_grid_shape *said, const struct osr_grid_shape *found);

#endif
