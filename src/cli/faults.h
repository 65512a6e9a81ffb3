/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * faults.h - what is to fail, as the command line says it: cables and switches by name, each in turn,
 * or a number of them at random. A case is one fabric without them.
 */
#ifndef OSR_CLI_FAULTS_H
#define OSR_CLI_FAULTS_H

#include "io/net.h"
#include "cli/output.h"
#include "topo/topo.h"

#define CLI_FAULTS_MAX 64
#define CLI_FAULT_LABEL 512

enum cli_faults_kind { FAULTS_NAMED, FAULTS_LINK, FAULTS_SWITCH, FAULTS_RANDOM };

struct cli_faults {
	enum cli_faults_kind kind;
	const char *link[CLI_FAULTS_MAX], *sw[CLI_FAULTS_MAX]; /* words of argv */
	uint32_t n_links, n_switches;                          /* of these */
	uint32_t each;                                         /* 1: link, 2: switch */
	bool by_chance, split;
	struct osr_degrade random;
	uint32_t n_cases;

	const struct osr_net *net;
	uint32_t *list; /* [n_cases] of FAULTS_LINK and FAULTS_SWITCH: a port, a node */
};

#define CLI_FAULTS_INIT                                                                            \
	{                                                                                          \
		.random = { .seed = 1 }, .n_cases = 10                                             \
	}

/* Options of a command, by which a struct cli_faults is filled. */
extern const struct cli_spec faults_spec;

/* Counts the cases in this net, which must live as long; `name` is its name in messages. */
enum osr_status cli_faults_prepare(struct cli_faults *faults, const struct osr_net *net,
				   const char *name, struct osr_diag *diag);

/* Of section "removed", a row for each cable and switch that fails in a case. */
extern const struct out_field cli_removed_fields[];

/*
 * Case k < n_cases: `net` becomes the fabric without what fails, and label[CLI_FAULT_LABEL] names that, as do rows of
 * section "removed" of `removed`, unless it is NULL.
 * Any number of threads may make cases at the same time.
 */
enum osr_status cli_faults_make(const struct cli_faults *faults, uint32_t k, struct osr_net *net,
				char *label, struct out *removed, struct osr_diag *diag);

void cli_faults_free(struct cli_faults *faults);

#endif
