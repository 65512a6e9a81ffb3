/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* survey.h - a survey (src/traffic/survey.h) by one worker. */
#ifndef TEST_SURVEY_H
#define TEST_SURVEY_H

#include "traffic/survey.h"

static inline enum osr_status test_survey(const struct osr_survey_in *in, struct osr_arena *scratch,
					  struct osr_survey_sum *sum, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_worker worker;
	struct osr_survey s;
	enum osr_status st = osr_survey_init(&s, in, scratch, diag);

	if (!st)
		st = osr_worker_init(&worker, &s, scratch, diag);
	while (!st && osr_survey_take(&s, &worker))
		st = osr_worker_run(&worker, diag);
	if (!st)
		osr_survey_sum(&s, sum);
	osr_arena_reset(scratch, mark);
	return st;
}

#endif
