/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "adopt.h"

#include "mcast_groups.h"
#include "sweep.h"

#include "core/paths/mcast.h"
#include "core/proved/gate.h"
#include "core/verify/union.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK IB_SMP_DATA_SIZE
#define UNREAD                                                                                     \
	0x12 /* in each byte of an SL2VL table that was asked for: not alike, and not SL = VL */
#define MAX_TREES 32 /* spanning orders of multicast that are tried */
#define MAX_EFI 1.25 /* what is worse than a full route by more is not worth keeping */

struct adopt {
	bool read;                  /* and not looked at yet */
	uint32_t n_blocks, n_pairs; /* asked for, */
	double ms;                  /* until all had answered */
};

bool osr__adopt_open(struct plugin *p)
{
	p->adopt = calloc(1, sizeof(*p->adopt));
	return p->adopt;
}

void osr__adopt_close(struct plugin *p)
{
	free(p->adopt);
	p->adopt = NULL;
}

/* Reading -------------------------------------------------------------------------------------- */

static bool adopt_up(osm_switch_t *sw, unsigned port)
{
	const osm_physp_t *osm_physp = osm_node_get_physp_ptr(sw->p_node, (uint8_t)port);

	return osm_physp &&
	       (!port || ib_port_info_get_port_state(&osm_physp->port_info) != IB_LINK_DOWN);
}

static void adopt_ask(struct plugin *p, osm_switch_t *sw, ib_net16_t attr, uint32_t mod)
{
	const osm_physp_t *p0 = osm_node_get_physp_ptr(sw->p_node, 0);
	osm_madw_context_t context = { 0 };

	if (attr == IB_MAD_ATTR_LIN_FWD_TBL) {
		context.lft_context.node_guid = sw->p_node->node_info.node_guid;
	} else {
		context.slvl_context.node_guid = sw->p_node->node_info.node_guid;
		context.slvl_context.port_guid = p0->port_guid;
	}
	osm_req_get(&p->osm->sm, &p0->dr_path, attr, cl_hton32(mod), FALSE,
		    ib_port_info_get_m_key(&p0->port_info), 0, CL_DISP_MSGID_NONE, &context);
}

static void adopt_ask_lft(struct plugin *p, osm_switch_t *sw)
{
	uint16_t top = cl_ntoh16(sw->switch_info.lin_top);

	if (!top || top > IB_LID_UCAST_END_HO || osm_switch_prepare_path_rebuild(sw, top))
		return;
	memset(sw->lft, OSM_NO_PATH, sw->lft_size);
	for (uint32_t block = 0; block <= top / BLOCK; block++)
		adopt_ask(p, sw, IB_MAD_ATTR_LIN_FWD_TBL, block);
	p->adopt->n_blocks += top / BLOCK + 1u;
}

static ib_slvl_table_t *adopt_table(osm_switch_t *sw, unsigned in, unsigned out)
{
	return osm_physp_get_slvl_tbl(osm_node_get_physp_ptr(sw->p_node, (uint8_t)out),
				      (uint8_t)in);
}

/* One table of a switch, or all of ports that are up. */
static void adopt_ask_slvl(struct plugin *p, osm_switch_t *sw, bool all)
{
	for (unsigned out = 1; out < sw->num_ports; out++)
		for (unsigned in = 0; in < sw->num_ports; in++) {
			if (!adopt_up(sw, in) || !adopt_up(sw, out))
				continue;
			memset(adopt_table(sw, in, out), UNREAD, sizeof(ib_slvl_table_t));
			adopt_ask(p, sw, IB_MAD_ATTR_SLVL_TABLE, in << 8 | out);
			p->adopt->n_pairs++;
			if (!all)
				return;
		}
}

/* The VL of all SLs; 15: they differ. */
static uint8_t adopt_vl(const ib_slvl_table_t *table)
{
	for (uint8_t sl = 1; sl < 16; sl++)
		if (ib_slvl_table_get(table, sl) != ib_slvl_table_get(table, 0))
			return 15;
	return ib_slvl_table_get(table, 0);
}

/* Does the first table of every switch ignore the SL? Then these may be lanes by turn. */
static bool adopt_by_turn(const osm_subn_t *subn)
{
	for (osm_switch_t *sw = osr__switches(subn); sw; sw = osr__after(subn, sw)) {
		unsigned out = 1;

		while (out < sw->num_ports && !adopt_up(sw, out))
			out++;
		if (out < sw->num_ports && adopt_vl(adopt_table(sw, 0, out)) == 15)
			return false;
	}
	return true;
}

static bool adopt_wanted(const struct plugin *p)
{
	for (const struct engine_ctx *ctx = p->contexts; ctx; ctx = ctx->next)
		if (!ctx->refuse && (ctx->engine->capabilities & OSR_ENGINE_REROUTE))
			return p->osm->subn.coming_out_of_standby;
	return false;
}

void osr__adopt_read(struct plugin *p)
{
	const osm_subn_t *subn = &p->osm->subn;
	bool by_turn = p->osm->subn.opt.qos;
	double start = osr__sweep_clock_ms();

	*p->adopt = (struct adopt){ .read = false };
	if (!adopt_wanted(p))
		return;
	for (int all = 0; all < 2; all++) {
		if (!osr__lock(p->osm, LOCK_ALONE))
			return;
		for (osm_switch_t *sw = osr__switches(subn); sw; sw = osr__after(subn, sw)) {

			if (!adopt_up(sw, 0))
				continue;
			if (!all)
				adopt_ask_lft(p, sw);
			if (by_turn)
				adopt_ask_slvl(p, sw, all);
		}
		cl_plock_release(&p->osm->lock);
		if (!osr__wait_for_answers(p->osm) || !osr__lock(p->osm, LOCK_SHARED))
			return;
		by_turn &= adopt_by_turn(subn);
		cl_plock_release(&p->osm->lock);
	}
	p->adopt->read = p->adopt->n_blocks > 0;
	p->adopt->ms = osr__sweep_clock_ms() - start;
}

/* Making tables of it -------------------------------------------------------------------------- */

struct adopted {
	struct sweep *w;
	struct sweep_slot *slot;
	const struct osr_routing *best; /* of the full route */
	struct osr_fabric *f;
	struct osr_routing *r;
	struct osr_diag diag;
};

static void adopt_copy_lfts(struct adopted *a)
{
	uint32_t n = a->f->n_switches;

	for (uint32_t s = 0; s < n; s++) {
		const osm_switch_t *sw = a->w->snap.sw[s];

		for (uint32_t d = 0; d < a->f->n_dests; d++)
			if (a->f->dest_lid[d] < sw->lft_size &&
			    a->f->sw_component[s] == a->f->sw_component[a->f->dest_switch[d]])
				a->r->lft[(size_t)d * n + s] = sw->lft[a->f->dest_lid[d]];
	}
}

/* Room for the tables, with those of the full route where no packet comes. */
static enum osr_status adopt_alloc_slvl(struct adopted *a)
{
	enum osr_status st = osr_routing_alloc_sl2vl(a->r, a->f, 0, &a->slot->arena, &a->diag);

	if (st)
		return st;
	memcpy(a->r->sl2vl, a->best->sl2vl, osr_n_sl2vl(a->f) * sizeof(*a->r->sl2vl));
	memcpy(a->r->ca_sl2vl, a->best->ca_sl2vl, sizeof(a->r->ca_sl2vl));
	return OSR_OK;
}

static bool adopt_copy_pair(struct adopted *a, uint32_t s, uint32_t in, uint32_t out)
{
	osm_switch_t *sw = a->w->snap.sw[s];
	size_t at = a->r->sl2vl_row[s] + in * (a->f->sw_n_ports[s] + (size_t)1) + out;
	uint8_t vl;

	if (!adopt_up(sw, in) || !adopt_up(sw, out))
		return true;
	vl = adopt_vl(adopt_table(sw, in, out));
	if (vl >= a->w->snap.limit.vls)
		return osr_port_channel(a->f, s, out) == OSR_NONE;
	memset(a->r->sl2vl[at], vl, sizeof(osr_sl2vl_t));
	if (vl >= a->r->n_vls)
		a->r->n_vls = vl + 1;
	return true;
}

static enum osr_status adopt_copy_slvl(struct adopted *a)
{
	const struct osr_fabric *fabric = a->f;
	enum osr_status st = adopt_alloc_slvl(a);

	if (st)
		return st;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t out = 1; out <= fabric->sw_n_ports[s]; out++)
			for (uint32_t in = 0; in <= fabric->sw_n_ports[s]; in++)
				if (!adopt_copy_pair(a, s, in, out))
					return osr_fail(&a->diag, OSR_CHECK_FAILED,
							"their SL2VL tables depend on the SL, or "
							"were not read");
	return OSR_OK;
}

/* The certificate, with the spanning order of the full route or another one. */
static enum osr_status adopt_prove(struct adopted *a, struct osr_loop *loop)
{
	const struct osr_fabric *fabric = a->f;
	struct osr_generation gen = { .routing = a->r };
	struct osr_arena *arena = &a->slot->arena, *scratch = &a->w->scratch;
	size_t n = fabric->n_switches;
	uint32_t *tree = osr_alloc(scratch, n, sizeof(*tree)),
		 *queue = osr_alloc(scratch, n, sizeof(*queue));
	uint8_t *seen = osr_alloc(scratch, n, sizeof(*seen));
	uint32_t modes = OSR_CLAIM_ANY_SL | OSR_CLAIM_REVERSIBLE;
	enum osr_status st = OSR_OK;

	a->r->rank =
		osr_alloc(arena, OSR_MAX_VLS * (size_t)fabric->n_channels, sizeof(*a->r->rank));
	if (a->best->mcast_parent)
		a->r->mcast_parent = osr_alloc(arena, n, sizeof(*a->r->mcast_parent));
	if (!tree || !queue || !seen || !a->r->rank ||
	    (a->best->mcast_parent && !a->r->mcast_parent))
		return osr_fail(&a->diag, OSR_NOMEM, "out of memory");
	if (a->best->mcast_parent) {
		modes |= OSR_CLAIM_MULTICAST;
		memcpy(a->r->mcast_parent, a->best->mcast_parent, n * sizeof(*a->r->mcast_parent));
	}
	st = osr_union_loop(fabric, &gen, 1, modes, scratch, arena, loop, a->r->rank, &a->diag);
	for (uint32_t i = 0; !st && loop->n && a->r->mcast_parent && i < MAX_TREES && i < n; i++) {
		osr__mcast_span(fabric, NULL, (uint32_t)(i * n / (n < MAX_TREES ? n : MAX_TREES)),
				tree, queue, seen);
		st = osr_mcast_take(fabric, tree, scratch, a->r->mcast_parent, &a->diag);
		if (!st)
			st = osr_union_loop(fabric, &gen, 1, modes, scratch, arena, loop,
					    a->r->rank, &a->diag);
	}
	if (!st && loop->n) {
		osr_loop_say(fabric, loop, &a->diag);
		return OSR_CHECK_FAILED;
	}
	return st;
}

static enum osr_status adopt_judge(struct adopted *a)
{
	const struct osr_verdict *best = &a->w->slot->verdict;
	struct osr_verdict *verdict = &a->slot->verdict;
	uint64_t *load = osr_alloc(&a->slot->arena, a->f->n_channels, sizeof(*load));
	enum osr_status st;

	if (!load)
		return osr_fail(&a->diag, OSR_NOMEM, "out of memory");
	st = osr_check_loads(a->f, a->r, &a->w->scratch, verdict, load, &a->diag);
	if (!st && !verdict->n_longer) {
		a->r->claims |= OSR_CLAIM_MINIMAL;
		st = osr_check_loads(a->f, a->r, &a->w->scratch, verdict, load, &a->diag);
	}
	if (!st)
		st = osr_gate(a->f, a->r, &a->w->scratch, &a->diag);
	if (st)
		return st;
	if (verdict->n_longer && (a->w->ctx->engine->capabilities & OSR_ENGINE_MINIMAL))
		return osr_fail(&a->diag, OSR_CHECK_FAILED,
				"%" PRIu64 " routes are longer than minimal",
				(uint64_t)verdict->n_longer);
	if ((double)verdict->efi > MAX_EFI * (double)best->efi)
		return osr_fail(&a->diag, OSR_CHECK_FAILED,
				"%" PRIu64
				" routes on their busiest channel, a full route has %" PRIu64,
				verdict->efi, best->efi);
	a->r->n_longer = (uint32_t)verdict->n_longer;
	a->slot->result.load = load;
	a->slot->result.confirmed = false;
	a->slot->result.digest = osr_routing_digest(a->f, a->r);
	return osr_repair_prepare(&a->slot->result, &a->w->scratch, &a->slot->arena, a->r,
				  &a->diag);
}

static enum osr_status adopt_build(struct adopted *a)
{
	struct osr_arena_mark mark = osr_arena_mark(&a->w->scratch);
	struct osr_loop loop = { 0 };
	enum osr_status st =
		osr_fabric_copy(&a->w->slot->result.fabric, &a->slot->arena, a->f, &a->diag);

	if (!st)
		st = osr_routing_init(a->r, a->f, &a->slot->arena, &a->diag);
	if (st)
		return st;
	a->r->engine = a->best->engine;
	a->r->strategy = a->best->strategy;
	a->r->claims = a->best->claims & ~(uint32_t)OSR_CLAIM_MINIMAL;
	a->r->claims |= OSR_CLAIM_ANY_SL | OSR_CLAIM_REVERSIBLE;
	a->r->n_vls = 1;
	a->r->n_layers = a->r->n_layers_one_way = a->best->n_layers;
	a->r->mcast_vl = a->best->mcast_vl;
	adopt_copy_lfts(a);
	if (a->best->sl2vl)
		st = adopt_copy_slvl(a);
	/* One lane needs no tables of ours, and those of OpenSM stay. */
	if (!st && a->r->n_vls == 1)
		a->r->sl2vl = NULL;
	if (!st)
		st = adopt_prove(a, &loop);
	if (!st)
		st = adopt_judge(a);
	osr_arena_reset(&a->w->scratch, mark);
	return st;
}

bool osr__adopt(struct sweep *w)
{
	struct engine_ctx *ctx = w->ctx;
	struct adopt *state = ctx->plugin->adopt;
	struct adopted a = { .w = w, .best = &w->slot->result.routing };
	enum osr_status st;

	if (!state->read)
		return false;
	state->read = false;
	if (!osr__any_sl(a.best, w->slot->verdict.proven)) {
		osr__log(w->osm, OSM_LOG_INFO,
			 "%s: a handover may change the SLs of path records, which cannot be read "
			 "from the switches; with any_sl = on there are none to change",
			 ctx->engine->name);
		return false;
	}
	a.slot = osr__sweep_other_slot(ctx, w->slot);
	osr__slot_clear(a.slot);
	a.f = &a.slot->result.fabric;
	a.r = &a.slot->result.routing;
	st = adopt_build(&a);
	osr__log(w->osm, OSM_LOG_INFO,
		 "%s: handover: %u LFT blocks and %u SL2VL tables read from the switches in %.1f "
		 "ms%s%s",
		 ctx->engine->name, state->n_blocks, state->n_pairs, state->ms,
		 st ? " are not used, this sweep is a full route: "
		    : " and verified: this sweep starts from them",
		 st ? a.diag.text : "");
	if (st) {
		osr__slot_clear(a.slot);
		return false;
	}
	ctx->current = NULL;
	ctx->stored = a.slot;
	return true;
}
