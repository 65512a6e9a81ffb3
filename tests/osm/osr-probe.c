/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libosrprobe.so: a plugin beside osmroutes. It makes opensm wait: every discovery while the file
 * OSR_CLOCK_GATE is there; and while OSR_CLOCK_HOLD is, what follows on the tables that all
 * switches have answered for, and it says so; for that it has to be listed first. Before a
 * discovery that waits it says of how many active ports OpenSM knows no physical state.
 *
 * With OSR_WRAP_AT=start or done it wraps routing engines, as one that audits or times them would.
 * At the start or at the end of every discovery it exchanges context and callbacks of every engine
 * of the list for its own, once each, and calls what it found with the context that it found.
 *
 * A callback of another plugin that is called with the context of this one would read a stranger's
 * bytes; so the context here is a page that nobody can read, but for the address that leads back.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "osm/compat.h"

#define MAX_ENGINES 16

struct wrapped {
	struct osm_routing_engine *re;
	struct osm_routing_engine inner;
	void *page;          /* what the entry has for a context */
	atomic_uint n_calls; /* path queries come from several threads */
};

static struct {
	struct osm_opensm *osm;
	struct wrapped engine[MAX_ENGINES];
	unsigned n;
} wrap;

static struct wrapped *of(void *context)
{
	for (unsigned i = 0; i < wrap.n; i++)
		if (wrap.engine[i].page == context) {
			wrap.engine[i].n_calls++;
			return &wrap.engine[i];
		}
	fprintf(stderr, "osrprobe: called with the context of another plugin\n");
	abort();
}

#define INNER(member, ...)                                                                         \
	({                                                                                         \
		const struct osm_routing_engine *inner = &of(context)->inner;                      \
		inner->member(inner->context, ##__VA_ARGS__);                                      \
	})

static int matrices(void *context)
{
	return INNER(build_lid_matrices);
}

static int tables(void *context)
{
	return INNER(ucast_build_fwd_tables);
}

static void dump(void *context)
{
	INNER(ucast_dump_tables);
}

static void sl2vl(void *context, osm_physp_t *p, uint8_t in, uint8_t out, ib_slvl_table_t *t)
{
	INNER(update_sl2vl, p, in, out, t);
}

static void vlarb(void *context, osm_physp_t *p, uint8_t port, ib_vl_arb_table_t *block,
		  unsigned length, unsigned number)
{
	INNER(update_vlarb, p, port, block, length, number);
}

static uint8_t path_sl(void *context, uint8_t hint, const ib_net16_t from, const ib_net16_t to)
{
	return INNER(path_sl, hint, from, to);
}

static ib_api_status_t stree(void *context, osm_mgrp_box_t *box)
{
	return INNER(mcast_build_stree, box);
}

static void destroy(void *context)
{
	struct wrapped *wrapped = of(context);

	fprintf(stderr, "osrprobe: %s: %u calls\n", wrapped->inner.name,
		(unsigned)wrapped->n_calls);
	if (wrapped->inner.destroy)
		wrapped->inner.destroy(wrapped->inner.context);
}

static void wrap_engine(struct osm_routing_engine *re)
{
	struct wrapped *wrapped = &wrap.engine[wrap.n];

	for (unsigned i = 0; i < wrap.n; i++)
		if (wrap.engine[i].re == re)
			return;
	if (wrap.n == MAX_ENGINES)
		return;
	wrapped->page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (wrapped->page == MAP_FAILED)
		return;
	wrap.n++;
	wrapped->re = re;
	wrapped->inner = *re;
	re->context = wrapped->page;
	re->build_lid_matrices = re->build_lid_matrices ? matrices : NULL;
	re->ucast_build_fwd_tables = re->ucast_build_fwd_tables ? tables : NULL;
	re->ucast_dump_tables = re->ucast_dump_tables ? dump : NULL;
	re->update_sl2vl = re->update_sl2vl ? sl2vl : NULL;
	re->update_vlarb = re->update_vlarb ? vlarb : NULL;
	re->path_sl = re->path_sl ? path_sl : NULL;
	re->mcast_build_stree = re->mcast_build_stree ? stree : NULL;
	re->destroy = destroy;
}

static bool is_there(const char *path)
{
	return path && !access(path, F_OK);
}

static void wait_while(const char *path)
{
	while (is_there(path))
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

static void say_stateless(void)
{
	const cl_qmap_t *map = &wrap.osm->subn.sw_guid_tbl;
	unsigned n = 0;

	cl_plock_acquire(&wrap.osm->lock);
	for (cl_map_item_t *at = cl_qmap_head(map); at != cl_qmap_end(map); at = cl_qmap_next(at)) {
		osm_switch_t *sw = (osm_switch_t *)at;

		for (unsigned port = 1; port < sw->num_ports; port++) {
			const osm_physp_t *p = osm_node_get_physp_ptr(sw->p_node, port);

			n += p && ib_port_info_get_port_state(&p->port_info) == IB_LINK_ACTIVE &&
			     !ib_port_info_get_port_phys_state(&p->port_info);
		}
	}
	cl_plock_release(&wrap.osm->lock);
	fprintf(stderr, "osrprobe: active ports without a physical state: %u\n", n);
}

static void report(void *plugin_data, osm_epi_event_id_t event, void *event_data)
{
	const char *gate = getenv("OSR_CLOCK_GATE"), *hold = getenv("OSR_CLOCK_HOLD");
	const char *at = getenv("OSR_WRAP_AT");

	if (event == OSM_EVENT_ID_HEAVY_SWEEP_START && is_there(gate)) {
		say_stateless();
		wait_while(gate);
	}
	if (event == OSM_EVENT_ID_UCAST_ROUTING_DONE && is_there(hold)) {
		fprintf(stderr, "osrprobe: held\n");
		wait_while(hold);
	}
	if (!at || event != (strcmp(at, "done") ? OSM_EVENT_ID_HEAVY_SWEEP_START
						: OSM_EVENT_ID_HEAVY_SWEEP_DONE))
		return;
	cl_plock_excl_acquire(&wrap.osm->lock);
	for (struct osm_routing_engine *re = wrap.osm->routing_engine_list; re; re = re->next)
		wrap_engine(re);
	cl_plock_release(&wrap.osm->lock);
}

static void *create(struct osm_opensm *osm)
{
	wrap.osm = osm;
	return osm;
}

static void delete (void *plugin_data)
{
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
	.report = report,
};
