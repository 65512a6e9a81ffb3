/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * verdict.h - one verdict on tables from any source: a few questions, each answered proven,
 * refuted (with a witness) or unknown (with the reason).
 *
 * All commands and the plugin ask here, so that the same tables have the same verdict everywhere.
 * audit.h finds the entries that lose packets, union.h the credit loops. A promise that the checker
 * (check.h) has proven of the same tables is not searched again.
 *
 * The answers about deadlock form a chain: one_way, then multicast, then replies. Each question has
 * the packets of the question before it and more. sl0 and any_sl stand beside the chain, without
 * multicast.
 *
 * Time and memory: as osr_audit(), plus osr_union_loop(), once for most tables and five times at
 * most. Tables that the checker has proven cost next to nothing.
 */
#ifndef OSMROUTES_VERDICT_H
#define OSMROUTES_VERDICT_H

#include "core/verify/audit.h"
#include <osmroutes/check.h>

enum osr_question {
	OSR_ASK_REACH,     /* no entry that packets meet is a hole, a dead end or a wrong port */
	OSR_ASK_NO_LOOPS,  /* no entries that packets meet lead around */
	OSR_ASK_LANES,     /* no packet is dropped for its SL; every path has one */
	OSR_ASK_GROUPS,    /* multicast reaches every member, once */
	OSR_ASK_ONE_WAY,   /* no credit loop of packets on the SLs of their path records */
	OSR_ASK_MULTICAST, /* nor with multicast */
	OSR_ASK_REPLIES,   /* nor with replies on the SL of their request */
	OSR_ASK_SL0,       /* no credit loop if all unicast packets are on SL 0 */
	OSR_ASK_ANY_SL,    /* nor if senders choose any */
	OSR_N_QUESTIONS
};

enum osr_answer { OSR_UNKNOWN, OSR_PROVEN, OSR_REFUTED };

/* A bit for each question. These are the promises of stock routing engines: */
#define OSR_REQUIRED                                                                               \
	(1u << OSR_ASK_REACH | 1u << OSR_ASK_NO_LOOPS | 1u << OSR_ASK_LANES |                      \
	 1u << OSR_ASK_GROUPS | 1u << OSR_ASK_ONE_WAY | 1u << OSR_ASK_MULTICAST)

struct osr_inquiry {
	const struct osr_fabric *fabric;
	const struct osr_generation *gen;
	uint32_t questions;  /* a bit each; the others stay unknown; 0: all */
	uint32_t scope;      /* OSR_ONLY_HOSTS or 0 */
	uint32_t max_listed; /* faults of each kind to be listed */
	/*
	 * The result of osr_check_keep() for gen->routing if it was OSR_OK; else NULL. Its figures
	 * become those of the audit, which is made only for questions that are still open.
	 */
	const struct osr_checked *checked;
	uint32_t *rank; /* NULL, or as for osr_union_loop(): of the whole chain */
};

struct osr_answered {
	enum osr_answer answer;
	const char *why;      /* unknown or refuted: one sentence, in result; "" */
	struct osr_loop loop; /* refuted by a credit loop: its channels */
};

struct osr_findings {
	struct osr_answered on[OSR_N_QUESTIONS];
	/* questions that concern these tables: about multicast only if there is multicast */
	uint32_t applies;
	struct osr_audit audit;
};

/*
 * OSR_OK whatever the answers are; OSR_INVAL for tables of another fabric; OSR_NOMEM. Witnesses and
 * sentences live in `result`.
 */
enum osr_status osr_verify(const struct osr_inquiry *ask, struct osr_arena *scratch,
			   struct osr_arena *result, struct osr_findings *found,
			   struct osr_diag *diag);

/*
 * Of the questions in `required` that apply: refuted if one is, else unknown if one is, else
 * proven. *which is the first that decides (OSR_N_QUESTIONS: all are proven); NULL if not wanted.
 */
enum osr_answer osr_verdict_of(const struct osr_findings *found, uint32_t required,
			       enum osr_question *which);

/* "proven", "refuted", "unknown"; "reach", "no_loops", "lanes", ...: stable, for programs. */
const char *osr_answer_name(enum osr_answer answer);
const char *osr_question_name(enum osr_question question);

#endif
