/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "upkeep.h"

#include "file.h"
#include "plugin.h"
#include "sweep.h"

#include <complib/cl_timer.h>

#include <inttypes.h>
#include <pthread.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/hosts.h>
#include <osmroutes/set.h>

#define MAX_OUT 2048
#define MAX_BOOK (1024 * 1024)

struct upkeep {
	struct osr_drains *drains;
	struct osr_hold_down hold;
	cl_timer_t timer;       /* until a link may return */
	pthread_mutex_t saving; /* of the file and the three below: two threads write it */
	uint64_t saved;         /* version of the file */
	bool loaded, told, save_failed;
	uint64_t asked; /* version that a sweep was asked for */
	struct {
		struct osr_part part;
		bool out;
	} wish[MAX_OUT]; /* what comes first stays out rather than what follows */
	uint32_t n_wishes, n_out;
	struct osr_part out[MAX_OUT]; /* ascending */
};

struct osr_drains *osr__upkeep_drains(const struct plugin *p)
{
	return p->upkeep ? p->upkeep->drains : NULL;
}

/* The list in a file --------------------------------------------------------------------------- */

static void upkeep_name(const struct plugin *p, char *name, size_t size)
{
	snprintf(name, size, "osmroutes-drained-%016" PRIx64 ".json",
		 cl_ntoh64(p->osm->subn.sm_port_guid));
}

/* In the thread of the control socket, or in the one that sweeps: the file is replaced as a whole. */
static void upkeep_replace(struct plugin *p)
{
	struct upkeep *u = p->upkeep;
	uint64_t version = osr_drains_version(u->drains);
	struct osr_diag diag = { "" };
	char name[64];
	bool failed;

	if (!u->loaded || version == u->saved)
		return;
	upkeep_name(p, name, sizeof(name));
	failed = !osr__file_keep(name, osr_drains_save(u->drains), &diag);
	if (failed && !u->save_failed)
		osr__log(p->osm, OSM_LOG_ERROR,
			 "ERR OR20: drained parts cannot be stored and would not survive a "
			 "restart: %s",
			 diag.text);
	u->save_failed = failed;
	u->saved = version;
}

static void upkeep_save(struct plugin *p)
{
	pthread_mutex_lock(&p->upkeep->saving);
	upkeep_replace(p);
	pthread_mutex_unlock(&p->upkeep->saving);
}

static void upkeep_load(struct plugin *p)
{
	struct upkeep *u = p->upkeep;
	char name[64], path[PATH_MAX], *text;
	struct osr_diag diag = { "" };
	size_t size = 0;

	u->loaded = true;
	upkeep_name(p, name, sizeof(name));
	osr__cache_path(name, path, sizeof(path));
	text = osr__file_read(path, MAX_BOOK, NULL, &size, &diag);
	if (diag.text[0])
		osr__log(p->osm, OSM_LOG_ERROR, "ERR OR20: stored drained parts, %s: %s", path,
			 diag.text);
	if (text)
		osr_drains_load(u->drains, text, size);
	free(text);
	u->saved = u->asked = osr_drains_version(u->drains);
}

/* What is there -------------------------------------------------------------------------------- */

/* Switches in the order of their GUIDs, and the links between them. */
struct field {
	uint32_t n, n_links;
	uint32_t n_at_stake; /* links that may be left out come first, after join_all() */
	struct field_switch {
		uint64_t guid;
		osm_switch_t *sw;
		uint32_t n_hosts, first;
	} * sw;
	struct osr_seen *link;
	struct osr_end *end; /* [n_ends] ports of CAs and routers */
	uint32_t n_ends;
	/* [n] union-find: all links; those that nobody wants out; those that are left */
	uint32_t *up, *up_kept, *up_left;
};

static int upkeep_by_guid(const void *a, const void *b)
{
	const struct field_switch *s = a, *t = b;

	return s->guid < t->guid ? -1 : s->guid > t->guid;
}

static int upkeep_by_part(const void *a, const void *b)
{
	const struct osr_part *s = a, *t = b;

	if (s->guid != t->guid)
		return s->guid < t->guid ? -1 : 1;
	return (int)s->port - (int)t->port;
}

static uint64_t guid_of(const osm_node_t *node)
{
	return cl_ntoh64(node->node_info.node_guid);
}

static bool link_is_up(const osm_physp_t *a, const osm_physp_t *b)
{
	return b && b->p_remote_physp == a && osm_physp_is_valid(b) &&
	       ib_port_info_get_port_state(&a->port_info) != IB_LINK_DOWN &&
	       ib_port_info_get_port_state(&b->port_info) != IB_LINK_DOWN;
}

static void look_at_ports(struct field *x, struct field_switch *at)
{
	for (unsigned port = 1; port < at->sw->num_ports; port++) {
		const osm_physp_t *a = osm_node_get_physp_ptr(at->sw->p_node, (uint8_t)port);
		const osm_physp_t *b = a ? a->p_remote_physp : NULL;
		struct osr_part here = { at->guid, (uint8_t)port }, there;

		if (!a || !link_is_up(a, b))
			continue;
		if (!b->p_node->sw) {
			x->end[x->n_ends++] = (struct osr_end){ (uint32_t)(at - x->sw),
								port + 1 == at->sw->num_ports,
								b->p_node->print_desc };
			continue;
		}
		there = (struct osr_part){ guid_of(b->p_node), b->port_num };
		if (upkeep_by_part(&here, &there) >= 0 || here.guid == there.guid)
			continue;
		x->link[x->n_links++] = (struct osr_seen){ .part = here,
							   .name = a->p_node->print_desc,
							   .far_name = b->p_node->print_desc,
							   .far_port = b->port_num,
							   .far_guid = there.guid };
	}
}

static bool upkeep_look_around(struct field *x, const struct osm_opensm *osm,
			       struct osr_arena *arena)
{
	const cl_qmap_t *tbl = &osm->subn.sw_guid_tbl;
	size_t n = cl_qmap_count(tbl), n_ports = 0;

	x->sw = osr_calloc(arena, n, sizeof(*x->sw));
	x->up = osr_alloc(arena, n, sizeof(*x->up));
	x->up_kept = osr_alloc(arena, n, sizeof(*x->up_kept));
	x->up_left = osr_alloc(arena, n, sizeof(*x->up_left));
	if (!x->sw || !x->up || !x->up_kept || !x->up_left)
		return false;
	for (cl_map_item_t *item = cl_qmap_head(tbl); item != cl_qmap_end(tbl);
	     item = cl_qmap_next(item)) {
		osm_switch_t *sw = (osm_switch_t *)item;

		n_ports += sw->num_ports;
		x->sw[x->n++] = (struct field_switch){ .guid = guid_of(sw->p_node), .sw = sw };
	}
	qsort(x->sw, x->n, sizeof(*x->sw), upkeep_by_guid);
	x->link = osr_alloc(arena, n_ports, sizeof(*x->link));
	x->end = osr_alloc(arena, n_ports, sizeof(*x->end));
	if (!x->link || !x->end)
		return false;
	/* By switch and port, so in ascending order. */
	for (uint32_t s = 0; s < x->n; s++)
		look_at_ports(x, &x->sw[s]);
	osr_count_hosts(x->end, x->n_ends, x->up, x->n); /* `up` is of no use yet */
	for (uint32_t s = 0; s < x->n; s++)
		x->sw[s].n_hosts = x->up[s];
	return true;
}

/* What is left out ----------------------------------------------------------------------------- */

bool osr__upkeep_out(const struct plugin *p, uint64_t guid, uint8_t port)
{
	const struct osr_part part = { guid, port };
	const struct upkeep *u = p->upkeep;

	return u && u->n_out && bsearch(&part, u->out, u->n_out, sizeof(part), upkeep_by_part);
}

static bool link_is_out(const struct plugin *p, const struct osr_seen *link)
{
	return osr__upkeep_out(p, link->part.guid, link->part.port) ||
	       osr__upkeep_out(p, link->far_guid, link->far_port) ||
	       osr__upkeep_out(p, link->part.guid, 0) || osr__upkeep_out(p, link->far_guid, 0);
}

static uint32_t field_index(const struct field *x, uint64_t guid)
{
	const struct field_switch key = { .guid = guid };

	return (uint32_t)((struct field_switch *)bsearch(&key, x->sw, x->n, sizeof(key),
							 upkeep_by_guid) -
			  x->sw);
}

static void join_link(const struct field *x, uint32_t *up, const struct osr_seen *link)
{
	osr_set_join(up, field_index(x, link->part.guid), field_index(x, link->far_guid));
}

/* The sets of switches that all links join, and those that no part of u->out could ever part. */
static void join_all(struct plugin *p, struct field *x)
{
	osr_set_init(x->up, x->n);
	osr_set_init(x->up_kept, x->n);
	for (uint32_t i = 0; i < x->n_links; i++) {
		join_link(x, x->up, &x->link[i]);
		if (link_is_out(p, &x->link[i]))
			x->link[x->n_at_stake++] = x->link[i];
		else
			join_link(x, x->up_kept, &x->link[i]);
	}
}

/* A switch with hosts that does not reach the others any more which it reached; NULL: there is none. */
static const struct field_switch *cut_off(const struct plugin *p, struct field *x)
{
	uint32_t *left_of = x->up_left; /* afterwards, by root of all: root of what is left */

	memcpy(x->up_left, x->up_kept, x->n * sizeof(*x->up_left));
	for (uint32_t i = 0; i < x->n_at_stake; i++)
		if (!link_is_out(p, &x->link[i]))
			join_link(x, left_of, &x->link[i]);
	for (uint32_t s = 0; s < x->n; s++)
		x->sw[s].first = OSR_NONE;
	for (uint32_t s = 0; s < x->n; s++) {
		struct field_switch *all = &x->sw[osr_set_of(x->up, s)];
		uint32_t root = osr_set_of(x->up_left, s);

		if (!x->sw[s].n_hosts)
			continue;
		if (all->first == OSR_NONE)
			all->first = root;
		if (all->first != root || osr__upkeep_out(p, x->sw[s].guid, 0))
			return &x->sw[s];
	}
	return NULL;
}

/* u->out is what is wished for from first to end, and what was found to be possible before. */
static void wish_out(struct upkeep *u, uint32_t first, uint32_t end, bool out)
{
	u->n_out = 0;
	for (uint32_t i = first; i < end; i++)
		u->wish[i].out = out;
	for (uint32_t i = 0; i < u->n_wishes; i++)
		if (u->wish[i].out)
			u->out[u->n_out++] = u->wish[i].part;
	qsort(u->out, u->n_out, sizeof(*u->out), upkeep_by_part);
}

/*
 * Of the parts from first to end, each that cuts nothing off together with those before it. The more is out the more
 * is cut off, so halves are tried where all of them are too much.
 */
static void decide_some(struct plugin *p, struct field *x, uint32_t first, uint32_t end)
{
	struct upkeep *u = p->upkeep;
	const struct field_switch *cut;
	uint32_t middle = first + (end - first) / 2;
	char name[192], at[OSR__NODE_NAME];

	wish_out(u, first, end, true);
	cut = cut_off(p, x);
	if (!cut)
		return;
	wish_out(u, first, end, false);
	if (end - first > 1) {
		decide_some(p, x, first, middle);
		decide_some(p, x, middle, end);
	} else if (osr_drains_suspend(u->drains, &u->wish[first].part, name)) {
		osr__log(p->osm, OSM_LOG_ERROR,
			 "ERR OR20: %s is not left out: without it end ports of switch %s would be "
			 "cut off",
			 name, osr__node_name(p->osm, cut->sw->p_node, at, sizeof(at)));
	}
}

static void decide_out(struct plugin *p, struct field *x)
{
	struct osr_part part[MAX_OUT];
	struct upkeep *u = p->upkeep;

	u->n_wishes = osr_drains_parts(u->drains, part, MAX_OUT);
	for (uint32_t i = 0; i < u->n_wishes; i++)
		u->wish[i].part = part[i];
	wish_out(u, 0, u->n_wishes, true);
	join_all(p, x);
	if (u->n_wishes)
		decide_some(p, x, 0, u->n_wishes);
}

/* Parts of the last run: said when a sweep of ours leaves them out, not where another engine routes by them. */
static void say_still_out(struct plugin *p)
{
	uint32_t n_drained, n_held;

	osr_drains_count(p->upkeep->drains, &n_drained, &n_held);
	if (!p->upkeep->told && n_drained + n_held)
		osr__log(p->osm, OSM_LOG_INFO,
			 "still left out: %u drained part%s, %u link%s held down", n_drained,
			 n_drained == 1 ? "" : "s", n_held, n_held == 1 ? "" : "s");
	p->upkeep->told = true;
}

static void upkeep_say(struct plugin *p)
{
	const struct osr_hold_down *hold = &p->upkeep->hold;
	struct osr_drain_event event;

	while (osr_drains_event(p->upkeep->drains, &event))
		if (event.held)
			osr__log(
				p->osm, OSM_LOG_ERROR,
				"ERR OR21: link %s went down %u times within %u s: it is held down "
				"until nothing happens to it for %u s",
				event.name, hold->after, hold->within, hold->calm);
		else
			osr__log(p->osm, OSM_LOG_INFO,
				 "link %s has been calm for %u s: it is routed "
				 "again",
				 event.name, hold->calm);
}

void osr__upkeep_watch(struct plugin *p, struct osr_arena *scratch)
{
	struct upkeep *u = p->upkeep;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct field x = { 0 };
	double now = osr__sweep_clock_ms() * 1e-3, next;

	if (!u)
		return;
	say_still_out(p);
	if (!upkeep_look_around(&x, p->osm, scratch)) {
		osr_arena_reset(scratch, mark);
		return; /* the sweep is about to say it */
	}
	osr_drains_watch(u->drains, x.link, x.n_links, now);
	decide_out(p, &x);
	osr_arena_reset(scratch, mark);
	upkeep_say(p);
	next = osr_drains_next(u->drains, now);
	if (next >= 0)
		cl_timer_start(&u->timer, (uint32_t)(next * 1e3) + 100);
}

/* Asking for sweeps ---------------------------------------------------------------------------- */

/* With a discovery: only then OpenSM makes multicast tables anew. */
static void upkeep_ask(struct plugin *p)
{
	p->osm->subn.force_heavy_sweep = TRUE;
	osm_sm_signal(&p->osm->sm, OSM_SIGNAL_SWEEP);
}

static void timer_rings(void *context)
{
	struct plugin *p = context;

	if (p->osm->subn.sm_state == IB_SMINFO_STATE_MASTER)
		upkeep_ask(p);
}

void osr__upkeep_turn(struct plugin *p)
{
	struct upkeep *u = p->upkeep;
	uint64_t version;

	if (!u || !u->loaded)
		return;
	upkeep_save(p);
	version = osr_drains_version(u->drains);
	if (version == u->asked || version == osr_drains_taken(u->drains))
		return;
	u->asked = version;
	upkeep_ask(p);
}

void osr__upkeep_begins(struct plugin *p)
{
	if (p->upkeep && !p->upkeep->loaded)
		upkeep_load(p);
	if (p->upkeep)
		osr_drains_sm(p->upkeep->drains, cl_ntoh64(p->osm->subn.sm_port_guid));
}

void osr__upkeep_over(struct plugin *p, bool up)
{
	if (!p->upkeep)
		return;
	if (up && !p->osm->subn.subnet_initialization_error)
		osr_drains_done(p->upkeep->drains);
	upkeep_save(p);
}

void osr__upkeep_open(struct plugin *p)
{
	const struct osr_values *values = &p->options.own;
	struct upkeep *u = calloc(1, sizeof(*u));

	if (p->options.broken || !u) {
		free(u);
		return;
	}
	u->hold = (struct osr_hold_down){ .after = (uint32_t)values->num[OPT_HOLD_AFTER],
					  .within = (uint32_t)values->num[OPT_HOLD_WITHIN],
					  .calm = (uint32_t)values->num[OPT_HOLD_CALM] };
	u->drains = osr_drains_new(&u->hold);
	cl_timer_construct(&u->timer);
	if (!u->drains || cl_timer_init(&u->timer, timer_rings, p) != CL_SUCCESS) {
		osr__log(p->osm, OSM_LOG_ERROR,
			 "ERR OR20: out of memory: nothing can be drained, no link is held down");
		osr_drains_free(u->drains);
		free(u);
		return;
	}
	pthread_mutex_init(&u->saving, NULL);
	p->upkeep = u;
}

void osr__upkeep_close(struct plugin *p)
{
	if (!p->upkeep)
		return;
	cl_timer_destroy(&p->upkeep->timer);
	upkeep_save(p);
	osr_drains_free(p->upkeep->drains);
	pthread_mutex_destroy(&p->upkeep->saving);
	free(p->upkeep);
	p->upkeep = NULL;
}
