/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/clock.h>

/* Memory counts as bad input: a smaller fabric would have fitted. */
int cli_fail(enum osr_status st, const struct osr_diag *diag)
{
	fprintf(stderr, "osmroutes: %s\n", diag->text[0] ? diag->text : osr_status_str(st));
	return st == OSR_INVAL || st == OSR_NOMEM ? CLI_USAGE : CLI_BAD;
}

enum osr_status cli_set(struct osr_values *values, const struct osr_param *table, const char *word,
			struct osr_diag *diag)
{
	const char *eq = strchr(word, '=');
	char name[64];

	if (!eq || eq == word || (size_t)(eq - word) >= sizeof(name))
		return osr_fail(diag, OSR_INVAL, "\"%s\": expected NAME=VALUE", word);
	memcpy(name, word, (size_t)(eq - word));
	name[eq - word] = '\0';
	return osr_values_set(values, table, name, eq + 1, diag);
}

void cli_print_params(FILE *out, const struct osr_param *table)
{
	for (const struct osr_param *param = table; param && param->name; param++) {
		char text[64];

		snprintf(text, sizeof(text), "%s=%s", param->name, param->def);
		fprintf(out, "    %-22s %s", text, param->help);
		/* What values it takes. */
		if (param->type == OSR_PARAM_UINT && param->max == UINT64_MAX)
			fprintf(out, " (%" PRIu64 " or more)", param->min);
		else if (param->type == OSR_PARAM_UINT)
			fprintf(out, " (%" PRIu64 "..%" PRIu64 ")", param->min, param->max);
		else if (param->type == OSR_PARAM_ENUM)
			fprintf(out, " (%s)", param->words);
		fputc('\n', out);
	}
}

FILE *cli_create(const char *path)
{
	return path && strcmp(path, "-") ? fopen(path, "w") : stdout;
}

enum osr_status cli_written(FILE *out, const char *path, struct osr_diag *diag)
{
	bool bad = !out || ferror(out);

	if (out && out != stdout)
		bad |= fclose(out) != 0;
	return bad ? osr_fail(diag, OSR_INVAL, "%.300s: %s",
			      out == stdout ? "standard output" : path, strerror(errno))
		   : OSR_OK;
}

enum osr_status cli_write_net(const struct osr_net *net, const char *path, const char *comment,
			      struct osr_diag *diag)
{
	FILE *out = cli_create(path);
	enum osr_status st = out ? osr_netfile_write(net, comment, out, diag) : OSR_OK;
	enum osr_status written = cli_written(out, path, diag);

	return st ? st : written;
}

int cli_number(const char *text, long lo, long hi, long *value)
{
	char *end;

	errno = 0;
	*value = strtol(text, &end, 10);
	return end > text && !*end && !errno && *value >= lo && *value <= hi;
}

long cli_take_number(const char *text, const char *what, long lo, long hi, struct argp_state *state)
{
	long n = 0;

	if (!cli_number(text, lo, hi, &n))
		argp_error(state, "%s \"%s\": expected %ld to %ld", what, text, lo, hi);
	return n;
}

double cli_cpu_ms(void)
{
	return osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

double cli_thread_ms(void)
{
	return osr_clock_ms(CLOCK_THREAD_CPUTIME_ID);
}

double cli_wall_ms(void)
{
	return osr_clock_ms(CLOCK_MONOTONIC);
}

struct cli_stamp cli_now(void)
{
	return (struct cli_stamp){ cli_cpu_ms(), cli_wall_ms() };
}

struct cli_stamp cli_since(struct cli_stamp start)
{
	struct cli_stamp end = cli_now();

	return (struct cli_stamp){ end.cpu - start.cpu, end.wall - start.wall };
}

char *cli_command_line(int argc, char **argv)
{
	char *buf = NULL;
	size_t size;
	FILE *out = open_memstream(&buf, &size);

	if (!out)
		return NULL;
	fputs(argv[0], out);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-o") || !strcmp(argv[i], "--output"))
			i++;
		else if (strncmp(argv[i], "-o", 2) && strncmp(argv[i], "--output=", 9))
			fprintf(out, " %s", argv[i]);
	}
	fclose(out);
	return buf;
}
