/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "mad.h"

#include <osmroutes/invariant.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad.h>

#define WINDOW 128 /* requests under way; a switch's queue holds far more */
#define TRIES 4
#define TIMEOUT_MS 1000
#define SLACK 256 /* ibsim's library copies somewhat more than one datagram */

struct request {
	uint64_t cookie;
	uint16_t lid;       /* 0xffff: directed route */
	uint8_t tries;      /* 0: the slot is free */
	uint8_t generation; /* an answer to an earlier user of the slot is dropped */
	uint8_t bytes[IB_MAD_SIZE];
};

struct osr_mad {
	int fd;
	int agent;
	struct osr_mad_client client;
	void *out, *in;  /* umad buffers */
	unsigned n_open; /* slots in use */
	unsigned next;   /* where the search for a free slot starts */
	struct request slot[WINDOW];
};

static enum osr_status open_port(struct osr_mad *mad, struct osr_diag *diag)
{
	const struct osr_device *device = mad->client.device;
	int mgmt_class = mad->client.mgmt_class;
	bool smp = mgmt_class == IB_SMI_CLASS || mgmt_class == IB_SMI_DIRECT_CLASS;
	const char *name = smp ? device->smi : device->gsi;
	int port = smp ? device->smi_port : device->gsi_port;

	mad->fd = umad_open_port(name, port);
	if (mad->fd < 0)
		return osr_fail(diag, OSR_INVAL, "cannot open %s, port %d: %s", name, port,
				strerror(mad->fd == -EIO ? errno : -mad->fd));
	mad->agent = umad_register(mad->fd, mgmt_class, mad->client.class_version, 0, NULL);
	if (mad->agent < 0)
		return osr_fail(diag, OSR_INVAL,
				"%s, port %d, takes no packets of management class 0x%x", name,
				port, mgmt_class);
	return OSR_OK;
}

enum osr_status osr_mad_open(struct osr_mad **mad, const struct osr_mad_client *client,
			     struct osr_diag *diag)
{
	struct osr_mad *m = calloc(1, sizeof(*m));
	enum osr_status st;

	*mad = NULL;
	if (!m)
		return osr_fail(diag, OSR_NOMEM, "out of memory for management requests");
	m->fd = m->agent = -1;
	m->client = *client;
	if (!m->client.window || m->client.window > WINDOW)
		m->client.window = WINDOW;
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

void osr_mad_close(struct osr_mad *mad)
{
	if (!mad)
		return;
	if (mad->agent >= 0)
		umad_unregister(mad->fd, mad->agent);
	if (mad->fd >= 0)
		umad_close_port(mad->fd);
	free(mad->out);
	free(mad->in);
	free(mad);
}

static void mad_finish(struct osr_mad *mad, struct request *request, const uint8_t *answer)
{
	uint64_t cookie = request->cookie;

	osr_invariant(mad->n_open && request->tries);
	request->tries = 0;
	request->generation++;
	mad->n_open--;
	mad->client.fn(mad->client.ctx, cookie, answer);
}

/* Sends the request of a slot; the transaction ID names slot and generation. */
static void transmit(struct osr_mad *mad, struct request *request)
{
	bool directed = request->lid == 0xffff;

	osr_invariant(request >= mad->slot && request < mad->slot + WINDOW);
	while (request->tries++ < TRIES) {
		memset(mad->out, 0, umad_size());
		memcpy(umad_get_mad(mad->out), request->bytes, IB_MAD_SIZE);
		mad_set_field64(umad_get_mad(mad->out), 0, IB_MAD_TRID_F,
				(uint64_t)(request - mad->slot) << 8 | request->generation);
		if (directed) {
			umad_set_addr(mad->out, request->lid, 0, 0, 0);
		} else {
			umad_set_addr(mad->out, request->lid, 1, 0, IB_DEFAULT_QP1_QKEY);
			umad_set_pkey(mad->out, mad->client.device->pkey_index);
		}
		if (umad_send(mad->fd, mad->agent, mad->out, IB_MAD_SIZE, TIMEOUT_MS, 0) >= 0)
			return;
	}
	mad_finish(mad, request, NULL);
}

static void receive(struct osr_mad *mad)
{
	int len = IB_MAD_SIZE;
	int agent = umad_recv(mad->fd, mad->in, &len, TIMEOUT_MS * (TRIES + 1));
	uint8_t *answer = umad_get_mad(mad->in);
	struct request *request;
	uint32_t trid;

	/*
	 * Nothing at all has arrived for the longest time allowed, not even the kernel's reports of
	 * requests without an answer: all requests under way are lost, and sent again.
	 */
	if (agent < 0) {
		for (unsigned i = 0; i < WINDOW; i++)
			if (mad->slot[i].tries)
				transmit(mad, &mad->slot[i]);
		return;
	}
	trid = mad_get_field64(answer, 0, IB_MAD_TRID_F) & 0xffffffff;
	if (agent != mad->agent || trid >> 8 >= WINDOW)
		return;
	request = &mad->slot[trid >> 8];
	if (!request->tries || request->generation != (trid & 0xff))
		return;
	if (!umad_status(mad->in))
		mad_finish(mad, request, answer);
	else
		transmit(mad, request);
}

static struct request *mad_free_slot(struct osr_mad *mad)
{
	while (mad->n_open >= mad->client.window)
		receive(mad);
	while (mad->slot[mad->next].tries)
		mad->next = (mad->next + 1) % WINDOW;
	mad->n_open++;
	osr_invariant(mad->n_open <= mad->client.window && !mad->slot[mad->next].tries);
	return &mad->slot[mad->next];
}

void osr_mad_smp(struct osr_mad *mad, const ib_dr_path_t *path, unsigned attr, uint32_t mod,
		 uint64_t cookie)
{
	struct request *request = mad_free_slot(mad);

	request->cookie = cookie;
	request->lid = 0xffff;
	memset(request->bytes, 0, IB_MAD_SIZE);
	mad_set_field(request->bytes, 0, IB_MAD_METHOD_F, IB_MAD_METHOD_GET);
	mad_set_field(request->bytes, 0, IB_MAD_CLASSVER_F, 1);
	mad_set_field(request->bytes, 0, IB_MAD_MGMTCLASS_F, IB_SMI_DIRECT_CLASS);
	mad_set_field(request->bytes, 0, IB_MAD_BASEVER_F, 1);
	mad_set_field(request->bytes, 0, IB_DRSMP_HOPCNT_F, path->cnt);
	mad_set_field(request->bytes, 0, IB_DRSMP_DRDLID_F, 0xffff);
	mad_set_field(request->bytes, 0, IB_DRSMP_DRSLID_F, 0xffff);
	mad_set_array(request->bytes, 0, IB_DRSMP_PATH_F, (void *)path->p);
	mad_set_field(request->bytes, 0, IB_MAD_ATTRID_F, attr);
	mad_set_field(request->bytes, 0, IB_MAD_ATTRMOD_F, mod);
	transmit(mad, request);
}

void osr_mad_gmp(struct osr_mad *mad, const uint8_t *request, uint16_t lid, uint64_t cookie)
{
	struct request *r = mad_free_slot(mad);

	r->cookie = cookie;
	r->lid = lid;
	memcpy(r->bytes, request, IB_MAD_SIZE);
	transmit(mad, r);
}

void osr_mad_drain(struct osr_mad *mad)
{
	while (mad->n_open)
		receive(mad);
	for (unsigned i = 0; i < WINDOW; i++)
		osr_invariant(!mad->slot[i].tries);
}
