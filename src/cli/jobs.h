/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * jobs.h - who runs where, as Slurm says it: `squeue -h -t R -o '%A|%u|%N|%j'`, or a file of such lines.
 */
#ifndef OSR_CLI_JOBS_H
#define OSR_CLI_JOBS_H

#include <osmroutes/fabric.h>

struct cli_job {
	char id[32], user[64], name[96];
	uint32_t n_hosts; /* end ports of its nodes */
};

struct cli_jobs {
	struct cli_job *job; /* [n] */
	uint32_t n, room, rows_room;
	uint32_t *term; /* [n_places] end ports, ascending within a job */
	uint32_t *row;  /* [n + 1] of term */
	uint32_t n_places, places_room;
};

/*
 * Asks squeue if path is NULL. Nodes are matched with the first word of end ports' names, up to the first dot;
 * those that the fabric does not have are passed over. OSR_INVAL: no squeue, or a line that is none of these.
 */
enum osr_status cli_jobs_read(const char *path, const struct osr_fabric *fabric,
			      struct cli_jobs *jobs, struct osr_diag *diag);
void cli_jobs_free(struct cli_jobs *jobs);

/*
 * Names in a list as Slurm writes it, one after the other: commas within brackets do not separate, "n[01-03,7]-ib"
 * is n01-ib, n02-ib, n03-ib, n7-ib, and several brackets are a product. False: `take` said so, or no list.
 */
bool cli_each_name(const char *list, bool (*take)(void *context, const char *name), void *context);

#endif
