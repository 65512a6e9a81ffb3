/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "mad.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad.h>

#define WINDOW 128	/* requests under way; a switch's queue holds far more */
#define TRIES 4
#define TIMEOUT_MS 1000
#define SLACK 256	/* ibsim's library copies somewhat more than one datagram */

struct request {
	uint64_t cookie;
	uint16_t lid;		/* 0xffff: directed route */
	uint8_t tries;		/* 0: the slot is free */
	uint8_t generation;	/* an answer to an earlier user of the slot is dropped */
	uint8_t bytes[IB_MAD_SIZE];
};

struct osr_mad {
	int fd;
	int agent;
	int mgmt_class;
	int class_version;
	uint16_t sm_lid;
	uint8_t gid[16];
	osr_mad_fn fn;
	void *ctx;
	void *out, *in;		/* umad buffers */
	unsigned n_open;	/* slots in use */
	unsigned window;	/* as many at most */
	unsigned next;		/* where the search for a free slot starts */
	struct request slot[WINDOW];
};

static enum osr_status find_port(umad_port_t *port, struct osr_diag *diag)
{
	if (umad_init() < 0)
		return osr_fail(diag, OSR_INVAL, "no InfiniBand management device (libibumad): %s",
				strerror(errno));
	if (umad_get_port(NULL, 0, port) < 0)
		return osr_fail(diag, OSR_INVAL,
				"this machine has no InfiniBand port, or none that is up");
	return OSR_OK;
}

enum osr_status osr_mad_probe(struct osr_diag *diag)
{
	umad_port_t port;
	enum osr_status st = find_port(&port, diag);

	if (!st)
		umad_release_port(&port);
	return st;
}

static enum osr_status open_port(struct osr_mad *m, struct osr_diag *diag)
{
	umad_port_t port;
	enum osr_status st = find_port(&port, diag);

	if (st)
		return st;
	m->sm_lid = port.sm_lid;
	memcpy(m->gid, &port.gid_prefix, 8);
	memcpy(m->gid + 8, &port.port_guid, 8);
	umad_release_port(&port);

	m->fd = umad_open_port(NULL, 0);
	if (m->fd < 0)
		return osr_fail(diag, OSR_INVAL, "cannot open the InfiniBand port: %s",
				strerror(errno));
	m->agent = umad_register(m->fd, m->mgmt_class, m->class_version, 0, NULL);
	if (m->agent < 0)
		return osr_fail(diag, OSR_INVAL, "cannot register for management class 0x%x",
				m->mgmt_class);
	return OSR_OK;
}

enum osr_status osr_mad_open(struct osr_mad **mad, int mgmt_class, int class_version, osr_mad_fn fn,
			     void *ctx, struct osr_diag *diag)
{
	struct osr_mad *m = calloc(1, sizeof(*m));
	enum osr_status st;

	*mad = NULL;
	if (!m)
		return osr_fail(diag, OSR_NOMEM, "out of memory for management requests");
	m->fd = m->agent = -1;
	m->window = WINDOW;
	m->mgmt_class = mgmt_class;
	m->class_version = class_version;
	m->fn = fn;
	m->ctx = ctx;
	m->out = calloc(1, umad_size() + IB_MAD_SIZE + SLACK);
	m->in = calloc(1, umad_size() + IB_MAD_SIZE + SLACK);
	st = m->out && m->in ? open_port(m, diag)
			     : osr_fail(diag, OSR_NOMEM, "out of memory for management requests");
	if (st) {
		osr_mad_close(m);
		return st;
	}
	*mad = m;
	return OSR_OK;
}

void osr_mad_close(struct osr_mad *m)
{
	if (!m)
		return;
	if (m->agent >= 0)
		umad_unregister(m->fd, m->agent);
	if (m->fd >= 0)
		umad_close_port(m->fd);
	free(m->out);
	free(m->in);
	free(m);
}

void osr_mad_window(struct osr_mad *m, unsigned window)
{
	m->window = window < 1 ? 1 : window > WINDOW ? WINDOW : window;
}

uint16_t osr_mad_sm_lid(const struct osr_mad *m)
{
	return m->sm_lid;
}

void osr_mad_gid(const struct osr_mad *m, uint8_t gid[16])
{
	memcpy(gid, m->gid, 16);
}

static void finish(struct osr_mad *m, struct request *r, const uint8_t *answer)
{
	uint64_t cookie = r->cookie;

	r->tries = 0;
	r->generation++;
	m->n_open--;
	m->fn(m->ctx, cookie, answer);
}

/* Sends the request of a slot; the transaction ID names slot and generation. */
static void transmit(struct osr_mad *m, struct request *r)
{
	bool directed = r->lid == 0xffff;

	while (r->tries++ < TRIES) {
		memset(m->out, 0, umad_size());
		memcpy(umad_get_mad(m->out), r->bytes, IB_MAD_SIZE);
		mad_set_field64(umad_get_mad(m->out), 0, IB_MAD_TRID_F,
				(uint64_t)(r - m->slot) << 8 | r->generation);
		umad_set_addr(m->out, r->lid, directed ? 0 : 1, 0, directed ? 0 : IB_DEFAULT_QP1_QKEY);
		if (umad_send(m->fd, m->agent, m->out, IB_MAD_SIZE, TIMEOUT_MS, 0) >= 0)
			return;
	}
	finish(m, r, NULL);
}

/* Gives up on everything under way: nothing at all has arrived for the longest time allowed. */
static void abandon(struct osr_mad *m)
{
	for (unsigned i = 0; i < WINDOW; i++)
		if (m->slot[i].tries)
			finish(m, &m->slot[i], NULL);
}

static void receive(struct osr_mad *m)
{
	int len = IB_MAD_SIZE;
	int agent = umad_recv(m->fd, m->in, &len, TIMEOUT_MS * (TRIES + 1));
	uint8_t *answer = umad_get_mad(m->in);
	struct request *r;
	uint32_t trid;

	if (agent < 0) {
		abandon(m);
		return;
	}
	trid = mad_get_field64(answer, 0, IB_MAD_TRID_F) & 0xffffffff;
	if (agent != m->agent || trid >> 8 >= WINDOW)
		return;
	r = &m->slot[trid >> 8];
	if (!r->tries || r->generation != (trid & 0xff))
		return;
	if (!umad_status(m->in))
		finish(m, r, answer);
	else
		transmit(m, r);
}

static struct request *free_slot(struct osr_mad *m)
{
	while (m->n_open >= m->window)
		receive(m);
	while (m->slot[m->next].tries)
		m->next = (m->next + 1) % WINDOW;
	m->n_open++;
	return &m->slot[m->next];
}

void osr_mad_smp(struct osr_mad *m, const ib_dr_path_t *path, unsigned attr, uint32_t mod,
		 uint64_t cookie)
{
	struct request *r = free_slot(m);

	r->cookie = cookie;
	r->lid = 0xffff;
	memset(r->bytes, 0, IB_MAD_SIZE);
	mad_set_field(r->bytes, 0, IB_MAD_METHOD_F, IB_MAD_METHOD_GET);
	mad_set_field(r->bytes, 0, IB_MAD_CLASSVER_F, 1);
	mad_set_field(r->bytes, 0, IB_MAD_MGMTCLASS_F, IB_SMI_DIRECT_CLASS);
	mad_set_field(r->bytes, 0, IB_MAD_BASEVER_F, 1);
	mad_set_field(r->bytes, 0, IB_DRSMP_HOPCNT_F, path->cnt);
	mad_set_field(r->bytes, 0, IB_DRSMP_DRDLID_F, 0xffff);
	mad_set_field(r->bytes, 0, IB_DRSMP_DRSLID_F, 0xffff);
	mad_set_array(r->bytes, 0, IB_DRSMP_PATH_F, (void *)path->p);
	mad_set_field(r->bytes, 0, IB_MAD_ATTRID_F, attr);
	mad_set_field(r->bytes, 0, IB_MAD_ATTRMOD_F, mod);
	transmit(m, r);
}

void osr_mad_gmp(struct osr_mad *m, const uint8_t *request, uint16_t lid, uint64_t cookie)
{
	struct request *r = free_slot(m);

	r->cookie = cookie;
	r->lid = lid;
	memcpy(r->bytes, request, IB_MAD_SIZE);
	transmit(m, r);
}

void osr_mad_drain(struct osr_mad *m)
{
	while (m->n_open)
		receive(m);
}
