/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-sa: asks the subnet administrator (OpenSM) as applications do, thousands of times a second.
 *
 *	osr-sa paths [--sl=N] [--pkey=N] < LISTSone PathRecord query per (source, destination)
 *	osr-sa join|leave MGID [GID]			a full member of a multicast group
 *
 * LISTS: lines "SOURCE_LID: DEST_LID DEST_LID ...". Every line gives one line of output: the source
 * LID and one character per destination: the SL in hexadecimal, "-" where the SA has no path for
 * us, "!" where it did not answer, "?" where the answer names other LIDs. saquery would need one
 * process per query.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "mad.h"

#define SA_DATA 56 /* offset of the attribute in a subnet administration MAD */

/*
 * Component masks of the attributes' fields (IBA 15.2.5.16 PathRecord, 15.2.5.17 MCMemberRecord).
 */
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

static int sl = -1, pkey = -1; /* -1: not asked for */
static struct osr_device port; /* that the queries leave from */

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

static void path_query(uint8_t *mad, unsigned slid, unsigned dlid)
{
	uint64_t mask = PR_DLID | PR_SLID | PR_NUMB_PATH;
	uint8_t *record = mad + SA_DATA;

	/* What the mask leaves out nobody reads. */
	mask |= (sl >= 0 ? PR_SL : 0) | (pkey >= 0 ? PR_PKEY : 0);
	sa_header(mad, IB_MAD_METHOD_GET, IB_SA_ATTR_PATHRECORD, mask);
	mad_set_field(record, 0, IB_SA_PR_DLID_F, dlid);
	mad_set_field(record, 0, IB_SA_PR_SLID_F, slid);
	mad_set_field(record, 0, IB_SA_PR_NPATH_F, 1);
	mad_set_field(record, 0, IB_SA_PR_SL_F, sl < 0 ? 0 : sl);
	record[48] = pkey < 0 ? 0 : pkey >> 8;
	record[49] = pkey < 0 ? 0 : pkey;
}

/* What was asked for, and what was heard. */
struct asked {
	uint16_t slid, dlid;
	char answer;
};

static void on_path(void *ctx, uint64_t cookie, const uint8_t *answer)
{
	struct asked *asked = (struct asked *)cookie;
	void *mad = (void *)answer;

	if (!answer)
		asked->answer = '!';
	else if (mad_get_field(mad, 0, IB_MAD_STATUS_F))
		asked->answer = '-';
	else if (mad_get_field(mad, SA_DATA, IB_SA_PR_SLID_F) != asked->slid ||
		 mad_get_field(mad, SA_DATA, IB_SA_PR_DLID_F) != asked->dlid)
		asked->answer = '?';
	else
		asked->answer = "0123456789abcdef"[mad_get_field(mad, SA_DATA, IB_SA_PR_SL_F)];
}

static struct osr_mad *open_sa(osr_mad_fn fn, void *ctx)
{
	struct osr_mad *mad;
	struct osr_diag diag;

	if (!osr_device_find(&(struct osr_device_want){ 0 }, &port, &diag) &&
	    !osr_mad_open(&mad,
			  &(struct osr_mad_client){ .device = &port,
						    .mgmt_class = IB_SA_CLASS,
						    .class_version = 2,
						    .fn = fn,
						    .ctx = ctx },
			  &diag))
		return mad;
	fprintf(stderr, "osr-sa: %s\n", diag.text);
	exit(2);
}

/* Somebody may wait for a line's answers before writing the next one. */
static int paths(void)
{
	struct osr_mad *m = open_sa(on_path, NULL);
	static struct asked asked[UINT16_MAX];
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		uint8_t mad[IB_MAD_SIZE];
		char *at = line, *end;
		unsigned slid = strtoul(at, &end, 0), n = 0, dlid;

		if (end == at || *end != ':') {
			fprintf(stderr, "osr-sa: expected \"SOURCE: DEST DEST ...\", got: %.40s\n",
				line);
			return 2;
		}
		for (at = end + 1; dlid = strtoul(at, &end, 0), end != at; at = end, n++) {
			asked[n] = (struct asked){ (uint16_t)slid, (uint16_t)dlid, 0 };
			path_query(mad, slid, dlid);
			osr_mad_gmp(m, mad, port.sm_lid, (uintptr_t)&asked[n]);
		}
		osr_mad_drain(m);
		printf("%u ", slid);
		for (unsigned i = 0; i < n; i++)
			putchar(asked[i].answer);
		putchar('\n');
		fflush(stdout);
	}
	free(line);
	osr_mad_close(m);
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

static int member(unsigned method, const char *group, const char *own)
{
	struct osr_mad *m;
	uint8_t mad[IB_MAD_SIZE], mgid[16], gid[16];
	int st = 1;

	if (inet_pton(AF_INET6, group, mgid) != 1 || (own && inet_pton(AF_INET6, own, gid) != 1)) {
		fprintf(stderr,
			"osr-sa: a multicast GID is needed, like ff12:401b:ffff::ffff:ffff\n");
		return 2;
	}
	m = open_sa(on_member, &st);
	if (!own)
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

int main(int argc, char **argv)
{
	const char *words[3] = { "" };
	int n = 0;

	for (int i = 1; i < argc && n < 3; i++)
		if (sscanf(argv[i], "--sl=%d", &sl) != 1 &&
		    sscanf(argv[i], "--pkey=%d", &pkey) != 1)
			words[n++] = argv[i];
	if (!strcmp(words[0], "paths"))
		return paths();
	if (!strcmp(words[0], "join") && n > 1)
		return member(IB_MAD_METHOD_SET, words[1], words[2]);
	if (!strcmp(words[0], "leave") && n > 1)
		return member(0x15 /* SubnAdmDelete */, words[1], words[2]);
	fputs("osr-sa: paths, join MGID [GID] or leave MGID [GID]\n", stderr);
	return 2;
}
