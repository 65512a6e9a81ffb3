/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/check_prom.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void prom_gauge(FILE *out, const char *name, const char *help, double value)
{
	fprintf(out, "# HELP osmroutes_check_%s %s\n# TYPE osmroutes_check_%s gauge\n", name, help,
		name);
	fprintf(out, "osmroutes_check_%s %.17g\n", name, value);
}

enum osr_status cli_prom_write(const char *path, const struct cli_prom *prom, struct osr_diag *diag)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	char hidden[PATH_MAX];
	FILE *out;
	bool bad;
	const struct osr_audit *audit;
	const struct osr_findings *found = prom->found;

	if (snprintf(hidden, sizeof(hidden), "%.*s.%s.new", (int)n, path, path + n) >=
	    (int)sizeof(hidden))
		return osr_fail(diag, OSR_INVAL, "%.200s: the name is too long", path);
	out = fopen(hidden, "w");
	if (!out)
		return osr_fail(diag, OSR_INVAL, "%.300s: %s", hidden, strerror(errno));
	errno = 0;
	audit = &found->audit;
	prom_gauge(out, "time_seconds", "When the tables were verified.", (double)time(NULL));
	prom_gauge(out, "duration_seconds", "Time to read and verify the tables.", prom->seconds);
	prom_gauge(out, "routes_busiest", "Routes between end ports on the busiest link.",
		   (double)audit->efi);
	prom_gauge(out, "efi_bound", "No routing has fewer routes on its busiest link.",
		   (double)prom->bound);
	prom_gauge(out, "routes", "Routes from switches to LIDs that arrive.",
		   (double)audit->n_routes);
	prom_gauge(out, "routes_longer", "Routes longer than minimal.", (double)audit->n_longer);
	prom_gauge(out, "pairs_lost", "Pairs of hosts that are cut off.", (double)audit->n_lost);
	fputs("# HELP osmroutes_check_answer 1 proven, 0 unknown, -1 refuted.\n"
	      "# TYPE osmroutes_check_answer gauge\n",
	      out);
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
		enum osr_answer answer = found->on[question].answer;

		if (found->applies >> question & 1)
			fprintf(out, "osmroutes_check_answer{question=\"%s\"} %d\n",
				osr_question_name(question),
				answer == OSR_PROVEN    ? 1
				: answer == OSR_REFUTED ? -1
							: 0);
	}
	bad = ferror(out) != 0;
	/* A full disk may show only when the file is closed. */
	if (!fclose(out) && !bad && !rename(hidden, path))
		return OSR_OK;
	osr_fail(diag, OSR_INVAL, "%.300s: %s", path, errno ? strerror(errno) : "cannot write");
	unlink(hidden);
	return OSR_INVAL;
}
