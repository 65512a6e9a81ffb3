/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-sa: asks the subnet administrator (OpenSM) as applications do, thousands of times a second.
 *
 *	osr-sa paths [--sl N] [--pkey N] < LISTS	one PathRecord query per (source, destination)
 *	osr-sa storm SECONDS [WINDOW] < LISTS		the same pairs again and again; see struct heard
 *	osr-sa join|leave MGID [GID]			a full member of a multicast group
 *
 * LISTS: lines "SOURCE_LID: DEST_LID DEST_LID ...". Every line gives one line of output: the
 * source LID and one character per destination: the SL in hexadecimal, "-" where the SA has no path
 * for us, "!" where it did not answer. saquery would need one process per query.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/mad.h>

#include "mad.h"

#define SA_DATA 56 /* offset of the attribute in a subnet administration MAD */

/* Component masks of the attributes' fields (IBA 15.2.5.16 PathRecord, 15.2.5.17 MCMemberRecord). */
enum {
	PR_DLID = 1 << 4,
	PR_SLID = 1 << 5,
	PR_NUMB_PATH = 1 << 12,
	PR_PKEY = 1 << 13,
	PR_SL = 1 << 15,
	MCM_MGID = 1 << 0,
	MCM_PORT_GID = 1 << 1,
	MCM_JOIN_STATE = 1 << 16,
};

struct options {
	int sl, pkey; /* -1: not asked for */
	char *args[3];
	int n_args;
};

static void sa_header(uint8_t *mad, unsigned method, unsigned attr, uint64_t components)
{
	memset(mad, 0, IB_MAD_SIZE);
	mad_set_field(mad, 0, IB_MAD_METHOD_F, method);
	mad_set_field(mad, 0, IB_MAD_CLASSVER_F, 2);
	mad_set_field(mad, 0, IB_MAD_MGMTCLASS_F, IB_SA_CLASS);
	mad_set_field(mad, 0, IB_MAD_BASEVER_F, 1);
	mad_set_field(mad, 0, IB_MAD_ATTRID_F, attr);
	mad_set_field64(mad, 0, IB_SA_COMPMASK_F, components);
}

static void path_query(uint8_t *mad, unsigned slid, unsigned dlid, const struct options *o)
{
	uint64_t mask = PR_DLID | PR_SLID | PR_NUMB_PATH;
	uint8_t *record = mad + SA_DATA;

	if (o->sl >= 0)
		mask |= PR_SL;
	if (o->pkey >= 0)
		mask |= PR_PKEY;
	sa_header(mad, IB_MAD_METHOD_GET, IB_SA_ATTR_PATHRECORD, mask);
	mad_set_field(record, 0, IB_SA_PR_DLID_F, dlid);
	mad_set_field(record, 0, IB_SA_PR_SLID_F, slid);
	mad_set_field(record, 0, IB_SA_PR_NPATH_F, 1);
	if (o->sl >= 0)
		mad_set_field(record, 0, IB_SA_PR_SL_F, o->sl);
	if (o->pkey >= 0) {
		record[48] = o->pkey >> 8;
		record[49] = o->pkey;
	}
}

static void on_path(void *ctx, uint64_t cookie, const uint8_t *answer)
{
	char *to = (char *)cookie;

	if (!answer)
		*to = '!';
	else if (mad_get_field((void *)answer, 0, IB_MAD_STATUS_F))
		*to = '-';
	else
		*to = "0123456789abcdef"[mad_get_field((void *)answer, SA_DATA, IB_SA_PR_SL_F)];
}

/* One line of input: answers are written in place as they come. */
static struct osr_device port; /* that the queries leave from */

static enum osr_status open_sa(struct osr_mad **m, unsigned window, osr_mad_fn fn, void *ctx,
			       struct osr_diag *diag)
{
	enum osr_status st = osr_device_find(&(struct osr_device_want){ 0 }, &port, diag);

	return st ? st
		  : osr_mad_open(m,
				 &(struct osr_mad_client){ .device = &port,
							   .mgmt_class = IB_SA_CLASS,
							   .class_version = 2,
							   .window = window,
							   .fn = fn,
							   .ctx = ctx },
				 diag);
}

static int query_line(struct osr_mad *m, char *line, const struct options *o)
{
	char *at = line, *end;
	unsigned slid = strtoul(at, &end, 0), n = 0;
	char *answers = calloc(strlen(line) + 1, 1);
	uint8_t mad[IB_MAD_SIZE];

	if (!answers || end == at || *end != ':') {
		free(answers);
		fprintf(stderr, "osr-sa: expected \"SOURCE: DEST DEST ...\", got: %.40s\n", line);
		return 2;
	}
	for (at = end + 1;; at = end) {
		unsigned dlid = strtoul(at, &end, 0);

		if (end == at)
			break;
		path_query(mad, slid, dlid, o);
		osr_mad_gmp(m, mad, port.sm_lid, (uintptr_t)&answers[n++]);
	}
	osr_mad_drain(m);
	printf("%u %s\n", slid, answers);
	free(answers);
	return 0;
}

static int paths(const struct options *o)
{
	struct osr_mad *m;
	struct osr_diag diag;
	char *line = NULL;
	size_t size = 0;
	int st = 0;

	if (open_sa(&m, 0, on_path, NULL, &diag)) {
		fprintf(stderr, "osr-sa: %s\n", diag.text);
		return 2;
	}
	/* Somebody may wait for a line's answers before writing the next one. */
	while (!st && getline(&line, &size, stdin) > 0) {
		st = query_line(m, line, o);
		fflush(stdout);
	}
	free(line);
	osr_mad_close(m);
	return st;
}

/*
 * A storm: what was heard of each query, in the order of the answers, in this machine's bytes. Times are
 * microseconds of CLOCK_MONOTONIC.
 */
struct heard {
	uint64_t sent, got;
	uint16_t slid, dlid; /* as asked for */
	uint16_t status;     /* of the MAD; 0xffff: no answer */
	uint8_t sl;
	uint8_t same; /* does the answer name the LIDs that were asked for? */
	uint32_t zero[2];
};

struct storm {
	struct heard *query; /* [n] as they were sent; the answers go to standard output */
	uint64_t n, size;
};

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void on_storm(void *ctx, uint64_t cookie, const uint8_t *answer)
{
	struct storm *storm = ctx;
	struct heard *h = &storm->query[cookie];
	void *mad = (void *)answer;

	h->got = now_us();
	h->status = answer ? (uint16_t)mad_get_field(mad, 0, IB_MAD_STATUS_F) : 0xffff;
	if (answer && !h->status) {
		h->sl = (uint8_t)mad_get_field(mad, SA_DATA, IB_SA_PR_SL_F);
		h->same = mad_get_field(mad, SA_DATA, IB_SA_PR_SLID_F) == h->slid &&
			  mad_get_field(mad, SA_DATA, IB_SA_PR_DLID_F) == h->dlid;
	}
	fwrite(h, sizeof(*h), 1, stdout);
}

/* Pairs of LIDs, from the lists on standard input. */
static uint32_t read_pairs(uint16_t (**pairs)[2])
{
	uint32_t n = 0, size = 0;
	char *line = NULL;
	size_t length = 0;

	*pairs = NULL;
	while (getline(&line, &length, stdin) > 0) {
		char *end;
		unsigned long slid = strtoul(line, &end, 0), dlid;

		if (*end != ':')
			break;
		for (char *at = end + 1; dlid = strtoul(at, &end, 0), end != at; at = end) {
			if (n == size) {
				size = size ? 2 * size : 1024;
				*pairs = reallocarray(*pairs, size, sizeof(**pairs));
				if (!*pairs)
					return 0;
			}
			(*pairs)[n][0] = (uint16_t)slid;
			(*pairs)[n++][1] = (uint16_t)dlid;
		}
	}
	free(line);
	return n;
}

/* As many queries as the SA answers, WINDOW of them under way at any time. */
static int storm(const struct options *o)
{
	double seconds = o->n_args > 1 ? strtod(o->args[1], NULL) : 1;
	unsigned window = o->n_args > 2 ? (unsigned)strtoul(o->args[2], NULL, 0) : 8;
	struct storm s = { .size = (uint64_t)(seconds * 100000) + 1 };
	uint64_t end = now_us() + (uint64_t)(seconds * 1e6);
	uint16_t(*pairs)[2];
	uint32_t n_pairs = read_pairs(&pairs);
	struct osr_diag diag;
	struct osr_mad *m;

	s.query = calloc(s.size, sizeof(*s.query));
	if (!n_pairs || !s.query || open_sa(&m, window, on_storm, &s, &diag)) {
		fprintf(stderr, "osr-sa: %s\n",
			n_pairs && s.query ? diag.text : "no pairs, or no memory");
		return 2;
	}
	for (uint32_t i = 0; s.n < s.size && now_us() < end; i = (i + 1) % n_pairs) {
		struct heard *h = &s.query[s.n];
		uint8_t mad[IB_MAD_SIZE];

		h->slid = pairs[i][0];
		h->dlid = pairs[i][1];
		path_query(mad, h->slid, h->dlid, o);
		h->sent = now_us();
		osr_mad_gmp(m, mad, port.sm_lid, s.n++);
	}
	osr_mad_drain(m);
	osr_mad_close(m);
	free(s.query);
	free(pairs);
	return 0;
}

static void on_member(void *ctx, uint64_t cookie, const uint8_t *answer)
{
	int *st = ctx;
	unsigned status;

	if (!answer) {
		fprintf(stderr, "osr-sa: the subnet administrator did not answer\n");
		return;
	}
	status = mad_get_field((void *)answer, 0, IB_MAD_STATUS_F);
	if (status) {
		fprintf(stderr, "osr-sa: refused with status 0x%04x\n", status);
		return;
	}
	printf("mlid %u sl %u\n", mad_get_field((void *)answer, SA_DATA, IB_SA_MCM_MLID_F),
	       mad_get_field((void *)answer, SA_DATA, IB_SA_MCM_SL_F));
	*st = 0;
}

static int member(const struct options *o, unsigned method)
{
	struct osr_mad *m;
	struct osr_diag diag;
	uint8_t mad[IB_MAD_SIZE], mgid[16], gid[16];
	int st = 1;

	if (o->n_args < 2 || inet_pton(AF_INET6, o->args[1], mgid) != 1 ||
	    (o->n_args > 2 && inet_pton(AF_INET6, o->args[2], gid) != 1)) {
		fprintf(stderr,
			"osr-sa: a multicast GID is needed, like ff12:401b:ffff::ffff:ffff\n");
		return 2;
	}
	if (open_sa(&m, 0, on_member, &st, &diag)) {
		fprintf(stderr, "osr-sa: %s\n", diag.text);
		return 2;
	}
	if (o->n_args < 3)
		memcpy(gid, port.gid, sizeof(gid));
	sa_header(mad, method, IB_SA_ATTR_MCRECORD, MCM_MGID | MCM_PORT_GID | MCM_JOIN_STATE);
	mad_set_array(mad, SA_DATA, IB_SA_MCM_MGID_F, mgid);
	mad_set_array(mad, SA_DATA, IB_SA_MCM_PORTGID_F, gid);
	mad_set_field(mad, SA_DATA, IB_SA_MCM_JOIN_STATE_F, 1);
	osr_mad_gmp(m, mad, port.sm_lid, 0);
	osr_mad_drain(m);
	osr_mad_close(m);
	return st;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 's':
		o->sl = strtol(arg, NULL, 0) & 0xf;
		return 0;
	case 'p':
		o->pkey = strtol(arg, NULL, 0) & 0xffff;
		return 0;
	case ARGP_KEY_ARG:
		if (o->n_args == 3)
			argp_usage(state);
		o->args[o->n_args++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->n_args)
			argp_usage(state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

int main(int argc, char **argv)
{
	static const struct argp_option table[] = {
		{ "sl", 's', "N", 0, "ask for this service level", 0 },
		{ "pkey", 'p', "N", 0, "ask for this partition", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = table,
		.parser = parse,
		.args_doc = "paths | storm SECONDS [WINDOW] | join MGID [GID] | leave MGID [GID]",
		.doc = "Queries the subnet administrator.",
	};
	struct options o = { .sl = -1, .pkey = -1 };

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!strcmp(o.args[0], "paths"))
		return paths(&o);
	if (!strcmp(o.args[0], "storm"))
		return storm(&o);
	if (!strcmp(o.args[0], "join"))
		return member(&o, IB_MAD_METHOD_SET);
	if (!strcmp(o.args[0], "leave"))
		return member(&o, 0x15 /* SubnAdmDelete */);
	fprintf(stderr, "osr-sa: unknown command \"%s\"\n", o.args[0]);
	return 2;
}
