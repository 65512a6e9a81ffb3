/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See slvl.h. A switch is a matrix of tables by (input port, output port). A row of it costs one
 * MAD for each pair that differs, or one wildcard and its exceptions; a new switch is first filled
 * with the most frequent table. Exceptions must not overtake their wildcards, so they go out in
 * phases; each is confirmed before the next begins.
 *
 * OpenSM stores the table that an answer brings. A table that is sent or asked for is first
 * replaced by one that is never sent; what is then not as wanted was refused, altered or not
 * answered.
 */
#include "slvl.h"

#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLVL_ALL, SLVL_ROWS, SLVL_PAIRS, SLVL_N_PHASES };

#define ALL_OUT 0x10000u
#define ALL_IN 0x20000u
#define NEVER UINT64_MAX /* no table that is sent */
#define UNKNOWN 0xde     /* nor is one of these bytes: VL 13 and 14 in turn */

struct slvl_mad {
	uint64_t table;
	uint32_t mod;
	uint8_t phase;
};

/* The SL2VL tables to send to one switch. */
struct slvl_plan {
	ib_net64_t guid;
	struct slvl_mad *mads;
	uint32_t n;
};

/* One switch. Index: in * width + out. */
struct slvl_matrix {
	const struct engine_ctx *ctx;
	osm_switch_t *sw;
	uint32_t width, widest; /* of this switch; of all that existed in the beginning */
	uint64_t *want, *held;
	bool *cared; /* both ports are there */
	uint32_t n_cared, n_differ;
	bool wildcards, phases; /* phases: some MAD is a wildcard */
	bool asks;              /* tables are read back */
	bool suspects;          /* switches that are sent tables did not hold theirs */
	struct slvl_mad *mads;  /* [width * width + width + 1] */
	uint32_t n_mads;
};

struct slvl {
	struct osr_arena arena; /* of the plans */
	struct slvl_plan *plans;
	uint32_t n_plans, n_mads; /* n_mads: of all plans */
	bool hidden;              /* their switches are without the bit */

	bool sent;               /* the MADs are on their way */
	uint32_t turn;           /* goes around the pairs that are read back */
	uint64_t n_sent, n_read; /* MADs of the last sweep */
	uint64_t n_refused;      /* pairs of ports with a wrong table */
	struct slvl_matrix matrix;
};

/* Reading OpenSM's subnet ---------------------------------------------------------------------- */

/*
 * The place of the mark for an output port that we have seen: the table behind those of all input
 * ports, which OpenSM allocates and leaves alone. NULL: OpenSM has no tables of the port.
 */
static ib_slvl_table_t *slvl_seen(const osm_switch_t *sw, osm_physp_t *osm_physp)
{
	unsigned n = sw->num_ports;

	return osm_physp && cl_ptr_vector_get_size(&osm_physp->slvl_by_port) > n
		       ? cl_ptr_vector_get(&osm_physp->slvl_by_port, n)
		       : NULL;
}

/* May the switch hold another table there than OpenSM thinks? */
static bool slvl_is_doubtful(const osm_physp_t *osm_physp, const ib_slvl_table_t *seen)
{
	return osm_physp->need_update || !osr_port_is_up(osm_physp) ||
	       seen->raw_vl_by_sl[0] != UNKNOWN;
}

const ib_slvl_table_t *osr_slvl_confirmed(const osm_switch_t *sw, unsigned in, unsigned out)
{
	osm_physp_t *osm_physp = osr_port(sw, out);
	const ib_slvl_table_t *seen = slvl_seen(sw, osm_physp), *table;

	if (!seen || slvl_is_doubtful(osm_physp, seen))
		return NULL;
	table = osm_physp_get_slvl_tbl(osm_physp, (uint8_t)in);
	return memcmp(table, seen, sizeof(*table)) ? table : NULL;
}

/*
 * OpenSM's copy of a table becomes one that no sweep asks for, where the switch may hold another
 * one:
 * - the object is new. OpenSM makes one when a switch that was out of reach comes back, and it says
 *   VL 0 whatever the switch holds;
 * - OpenSM marks the port as one that may have been reset;
 * - the output port is down, or, where tables are sent from here, the input port: nothing is sent
 *   there. So each of these tables differs from what is wanted, by OpenSM's comparison as well as
 *   by the one below.
 */
static void slvl_doubt(osm_switch_t *sw, bool all, bool sent_here)
{
	unsigned n = sw->num_ports;

	for (unsigned out = 0; out < n; out++) {
		osm_physp_t *osm_physp = osr_port(sw, out);
		ib_slvl_table_t *seen = slvl_seen(sw, osm_physp);
		bool unknown;

		if (!seen)
			continue;
		unknown = all || slvl_is_doubtful(osm_physp, seen);
		for (unsigned in = 0; in < n; in++)
			if (unknown || (sent_here && in && !osr_port_is_up(osr_port(sw, in))))
				memset(osm_physp_get_slvl_tbl(osm_physp, (uint8_t)in), UNKNOWN,
				       sizeof(*seen));
		memset(seen, UNKNOWN, sizeof(*seen));
	}
}

static bool slvl_alloc(struct slvl_matrix *matrix, struct plugin *plugin)
{
	struct osr_arena *arena = &plugin->slvl->arena;
	const osm_subn_t *subn = &plugin->osm->subn;
	size_t n;

	for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw))
		matrix->widest = sw->num_ports > matrix->widest ? sw->num_ports : matrix->widest;
	n = (size_t)matrix->widest * matrix->widest;
	matrix->mads = osr_alloc(arena, n + matrix->widest + 1, sizeof(*matrix->mads));
	matrix->want = osr_alloc(arena, n, sizeof(*matrix->want));
	matrix->held = osr_alloc(arena, n, sizeof(*matrix->held));
	matrix->cared = osr_alloc(arena, n, sizeof(*matrix->cared));
	return !osr_arena_failed(arena, NULL);
}

/*
 * The present and wanted tables of this switch; false: it has no SL2VL tables, or has come since.
 */
static bool slvl_read(struct slvl_matrix *matrix, osm_switch_t *sw)
{
	bool esp0 = ib_switch_info_is_enhanced_port0(&sw->switch_info);
	const osm_physp_t *p0 = osr_port(sw, 0);
	/* Of the answer to its own wildcard OpenSM stores nothing for port 0 as an input port. */
	bool port0_unknown = matrix->ctx->plugin->osm->subn.opt.use_optimized_slvl &&
			     !matrix->ctx->re->update_sl2vl && !esp0 &&
			     ib_switch_info_get_opt_sl2vlmapping(&sw->switch_info);

	if (!p0 || !(p0->port_info.capability_mask & IB_PORT_CAP_HAS_SL_MAP) ||
	    sw->num_ports > matrix->widest)
		return false;
	matrix->sw = sw;
	matrix->width = sw->num_ports;
	matrix->n_cared = matrix->n_differ = 0;
	memset(matrix->cared, 0, (size_t)matrix->width * matrix->width * sizeof(*matrix->cared));
	for (unsigned out = esp0 ? 0 : 1; out < matrix->width; out++) {
		osm_physp_t *osm_physp = osr_port(sw, out);

		for (unsigned in = 0; osr_port_is_up(osm_physp) && in < matrix->width; in++) {
			size_t at = (size_t)in * matrix->width + out;

			if (in ? !osr_port_is_up(osr_port(sw, in)) : port0_unknown)
				continue;
			matrix->cared[at] = true;
			matrix->want[at] = osr_qos_table(matrix->ctx, osm_physp, (uint8_t)in);
			memcpy(&matrix->held[at], osm_physp_get_slvl_tbl(osm_physp, (uint8_t)in),
			       sizeof(matrix->held[at]));
			matrix->n_cared++;
			matrix->n_differ += matrix->held[at] != matrix->want[at];
		}
	}
	return true;
}

/* How to send a matrix ------------------------------------------------------------------------- */

/* The most frequent table that is wanted of n from `first` on; few tables differ in one row. */
static uint64_t slvl_usual(const struct slvl_matrix *matrix, size_t first, size_t n)
{
	uint64_t table[16], best = 0;
	uint32_t count[16] = { 0 }, n_tables = 0, most = 0;

	for (size_t at = first; at < first + n; at++) {
		uint32_t k = 0;

		if (!matrix->cared[at])
			continue;
		while (k < n_tables && table[k] != matrix->want[at])
			k++;
		if (k == 16)
			continue;
		if (k == n_tables)
			table[n_tables++] = matrix->want[at];
		if (++count[k] > most) {
			most = count[k];
			best = table[k];
		}
	}
	return best;
}

static void slvl_add(struct slvl_matrix *matrix, uint8_t phase, uint32_t mod, uint64_t table)
{
	matrix->mads[matrix->n_mads++] = (struct slvl_mad){ table, mod, phase };
	matrix->phases |= phase != SLVL_PAIRS;
}

/* Does this pair hold something else than it is to hold? */
static bool slvl_differs(const struct slvl_matrix *matrix, size_t at)
{
	return matrix->cared[at] && matrix->held[at] != matrix->want[at];
}

/*
 * A switch that holds no wanted table is first filled with its usual table. Switches differ in
 * whether a wildcard for all inputs includes port 0, so that row is sent as if it did not. Then the
 * row of each input port: its usual table by a wildcard and the others by themselves, or the tables
 * that differ.
 */
static void slvl_plan(struct slvl_matrix *matrix)
{
	size_t n = (size_t)matrix->width * matrix->width;
	uint64_t usual = matrix->wildcards ? slvl_usual(matrix, 0, n) : 0;

	if (matrix->n_differ && matrix->wildcards && matrix->n_differ == matrix->n_cared) {
		slvl_add(matrix, SLVL_ALL, ALL_IN | ALL_OUT, usual);
		for (size_t at = matrix->width; at < n; at++)
			matrix->held[at] = usual;
	}
	for (uint32_t in = 0; matrix->n_differ && in < matrix->width; in++) {
		size_t first = (size_t)in * matrix->width, end = first + matrix->width;
		uint32_t n_differ = 0, n_others = 0;
		bool fill;

		usual = matrix->wildcards ? slvl_usual(matrix, first, matrix->width) : 0;
		for (size_t at = first; at < end; at++) {
			n_differ += slvl_differs(matrix, at);
			n_others += matrix->cared[at] && matrix->want[at] != usual;
		}
		fill = matrix->wildcards && n_differ > n_others + 1;
		if (fill)
			slvl_add(matrix, SLVL_ROWS, in << 8 | ALL_OUT, usual);
		for (size_t at = first; at < end; at++)
			if (fill ? matrix->cared[at] && matrix->want[at] != usual
				 : slvl_differs(matrix, at))
				slvl_add(matrix, SLVL_PAIRS, in << 8 | (uint32_t)(at - first),
					 matrix->want[at]);
	}
}

/* Sending -------------------------------------------------------------------------------------- */

/*
 * A table that no sweep ever asks for, so the next one sends its own. It drops no packets, as path
 * queries read it.
 */
static void slvl_forget(osm_switch_t *sw, uint32_t mod)
{
	unsigned n = sw->num_ports, esp0 = ib_switch_info_is_enhanced_port0(&sw->switch_info);
	unsigned out = mod & ALL_OUT ? !esp0 : mod & 0xff, end = mod & ALL_OUT ? n : out + 1;
	unsigned first = mod & ALL_IN ? 0 : mod >> 8 & 0xff, last = mod & ALL_IN ? n : first + 1;

	for (; out < end; out++) {
		osm_physp_t *osm_physp = osr_port(sw, out);

		for (unsigned in = first; osm_physp && in < last; in++)
			memset(osm_physp_get_slvl_tbl(osm_physp, (uint8_t)in), UNKNOWN,
			       sizeof(ib_slvl_table_t));
	}
}

static osm_madw_context_t slvl_context(const osm_physp_t *p0, bool set)
{
	osm_madw_context_t context = { 0 };

	context.slvl_context.node_guid = p0->p_node->node_info.node_guid;
	context.slvl_context.port_guid = p0->port_guid;
	context.slvl_context.set_method = set;
	return context;
}

static uint32_t slvl_post_phase(struct plugin *plugin, uint8_t phase)
{
	struct osm_opensm *osm = plugin->osm;
	uint32_t n = 0;

	for (uint32_t i = 0; i < plugin->slvl->n_plans; i++) {
		const struct slvl_plan *plan = &plugin->slvl->plans[i];
		osm_switch_t *sw = osm_get_switch_by_guid(&osm->subn, plan->guid);
		const osm_physp_t *p0 = sw ? osr_port(sw, 0) : NULL;
		osm_madw_context_t context;

		for (uint32_t k = 0; p0 && k < plan->n; k++) {
			const struct slvl_mad *mad = &plan->mads[k];
			uint64_t table = mad->table;

			if (mad->phase != phase)
				continue;
			n++;
			context = slvl_context(p0, true);
			slvl_forget(sw, mad->mod);
			osm_req_set(&osm->sm, &p0->dr_path, (uint8_t *)&table, sizeof(table),
				    IB_MAD_ATTR_SLVL_TABLE, cl_hton32(mad->mod), FALSE,
				    ib_port_info_get_m_key(&p0->port_info),
				    mad->mod & (ALL_IN | ALL_OUT)
					    ? osm->subn.opt.long_transaction_timeout
					    : 0,
				    CL_DISP_MSGID_NONE, &context);
		}
	}
	plugin->slvl->n_sent += n;
	return n;
}

/*
 * All MADs of this sweep, in plugin->slvl; false: out of memory. OpenSM's receiver stores the
 * answer to a wildcard for every port, known or not, so switches with ports that it does not know
 * get none.
 */
static bool slvl_plan_all(struct slvl_matrix *matrix, struct plugin *plugin, bool wildcards)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	struct slvl *slvl = plugin->slvl;
	uint32_t n_plans = 0;

	slvl->n_plans = slvl->n_mads = 0;
	slvl->plans =
		osr_alloc(&slvl->arena, cl_qmap_count(&subn->sw_guid_tbl), sizeof(*slvl->plans));
	for (osm_switch_t *sw = osr_switches(subn); slvl->plans && sw; sw = osr_after(subn, sw)) {
		struct slvl_plan *plan = &slvl->plans[n_plans];

		if (!slvl_read(matrix, sw))
			continue;
		matrix->wildcards =
			wildcards && ib_switch_info_get_opt_sl2vlmapping(&sw->switch_info);
		for (unsigned port = 0; port < sw->num_ports; port++)
			matrix->wildcards &= osr_port(sw, port) != NULL;
		matrix->n_mads = 0;
		slvl_plan(matrix);
		plan->guid = sw->p_node->node_info.node_guid;
		plan->n = matrix->n_mads;
		plan->mads = osr_alloc(&slvl->arena, plan->n, sizeof(*plan->mads));
		if (plan->mads)
			memcpy(plan->mads, matrix->mads, plan->n * sizeof(*plan->mads));
		slvl->n_mads += plan->n;
		n_plans++;
	}
	if (osr_arena_failed(&slvl->arena, NULL))
		return false;
	slvl->n_plans = n_plans;
	slvl->sent = false;
	return true;
}

/* Do switches that have plans show OpenSM that they have SL2VL tables? */
static void slvl_show(struct plugin *plugin, bool show)
{
	for (uint32_t i = 0; i < plugin->slvl->n_plans && plugin->slvl->hidden == show; i++) {
		osm_switch_t *sw =
			osm_get_switch_by_guid(&plugin->osm->subn, plugin->slvl->plans[i].guid);
		osm_physp_t *p0 = sw ? osr_port(sw, 0) : NULL;
		ib_net32_t *mask = p0 ? &p0->port_info.capability_mask : NULL;

		if (mask)
			*mask = (*mask & ~IB_PORT_CAP_HAS_SL_MAP) |
				(show ? IB_PORT_CAP_HAS_SL_MAP : 0);
	}
	plugin->slvl->hidden = !show;
}

void osr_slvl_drop(struct plugin *plugin)
{
	struct slvl *slvl = plugin->slvl;

	slvl_show(plugin, true);
	osr_arena_empty(&slvl->arena);
	slvl->n_plans = slvl->n_mads = 0;
	slvl->n_refused = 0;
	slvl->sent = false;
}

/* OpenSM's subnet may be gone: no bit is given back. */
static void slvl_close(struct plugin *plugin)
{
	osr_arena_free(&plugin->slvl->arena);
}

void osr_slvl_routed(struct engine_ctx *ctx)
{
	struct plugin *plugin = ctx->plugin;
	const osm_subn_t *subn = &plugin->osm->subn;
	struct slvl_matrix matrix = { .ctx = ctx };
	/* Without its optimised MADs OpenSM would send one for each pair of ports. */
	bool sends = ctx->current && (ctx->current->result.routing.sl2vl ||
				      (subn->opt.use_optimized_slvl && ctx->re->update_sl2vl));

	plugin->slvl->n_sent = plugin->slvl->n_read = 0;
	for (osm_switch_t *sw = osr_switches(subn); subn->opt.qos && sw; sw = osr_after(subn, sw))
		slvl_doubt(sw, subn->need_update, sends);
	if (subn->opt.qos && sends && slvl_alloc(&matrix, plugin) &&
	    slvl_plan_all(&matrix, plugin, subn->opt.use_optimized_slvl)) {
		slvl_show(plugin, false);
		plugin->slvl->sent = !matrix.phases;
		if (!matrix.phases)
			slvl_post_phase(plugin, SLVL_PAIRS);
	}
}

/* Reading back --------------------------------------------------------------------------------- */

static void slvl_ask(struct slvl_matrix *matrix, size_t at)
{
	const struct osm_opensm *osm = matrix->ctx->plugin->osm;
	const osm_physp_t *p0 = osr_port(matrix->sw, 0);
	uint32_t mod = (uint32_t)(at / matrix->width << 8 | at % matrix->width);
	osm_madw_context_t context;

	if (!p0 || !matrix->cared[at] || matrix->held[at] != matrix->want[at])
		return;
	context = slvl_context(p0, false);
	matrix->held[at] = NEVER;
	slvl_forget(matrix->sw, mod);
	osm_req_get((osm_sm_t *)&osm->sm, &p0->dr_path, IB_MAD_ATTR_SLVL_TABLE, cl_hton32(mod),
		    FALSE, ib_port_info_get_m_key(&p0->port_info), 0, CL_DISP_MSGID_NONE, &context);
	matrix->ctx->plugin->slvl->n_read++;
}

/*
 * Of each switch the tables that were sent to it, a pair of each wildcard; if that is more than its
 * ports, a pair for each output port; and one more. Others in every sweep, so that all have their
 * turn. All tables of a switch that did not hold one.
 */
static void slvl_ask_all(struct slvl_matrix *matrix, struct plugin *plugin)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	const struct slvl_plan *plan = plugin->slvl->plans, *end = plan + plugin->slvl->n_plans;
	uint32_t turn = plugin->slvl->turn++;

	for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw)) {
		uint32_t n, n_mads = 0;
		const struct slvl_mad *first;
		size_t at;
		bool all;

		if (!slvl_read(matrix, sw))
			continue;
		/* Both in OpenSM's order; a switch may be gone since. */
		while (plan < end && plan->guid < sw->p_node->node_info.node_guid)
			plan++;
		first = plan < end ? plan->mads : NULL;
		if (plan < end && plan->guid == sw->p_node->node_info.node_guid)
			n_mads = plan->n;
		n = matrix->width;
		all = n_mads >= n || subn->need_update;
		if (!n || !matrix->n_cared)
			continue;
		for (size_t i = 0; matrix->suspects && n_mads && i < (size_t)n * n; i++)
			slvl_ask(matrix, i);
		for (uint32_t i = 0; i < n && all; i++)
			slvl_ask(matrix, (size_t)((i + turn) % n) * n + i);
		for (uint32_t i = 0; i < n_mads && !all; i++) {
			uint32_t mod = first[i].mod, in = mod >> 8 & 0xff, out = mod & 0xff;

			slvl_ask(matrix, (size_t)(mod & ALL_IN ? turn % n : in) * n +
						 (mod & ALL_OUT ? turn % n : out));
		}
		at = turn % ((size_t)n * n);
		while (!matrix->cared[at])
			at = (at + 1) % ((size_t)n * n);
		slvl_ask(matrix, at);
	}
}

/* How much is not as wanted, in all switches. */
static uint64_t slvl_compare(struct slvl_matrix *matrix, const struct plugin *plugin)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	uint64_t n = 0;

	for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw))
		n += slvl_read(matrix, sw) ? matrix->n_differ : 0;
	return n;
}

uint32_t osr_slvl_lacks(struct plugin *plugin, osm_switch_t *sw, char *where, size_t size)
{
	struct slvl_matrix *matrix = &plugin->slvl->matrix;
	size_t at = 0;

	if (!plugin->slvl->n_refused || !slvl_read(matrix, sw) || !matrix->n_differ)
		return 0;
	while (!slvl_differs(matrix, at))
		at++;
	snprintf(where, size, "%u SL2VL tables, first input port %zu output port %zu",
		 matrix->n_differ, at / matrix->width, at % matrix->width);
	return matrix->n_differ;
}

/*
 * Sends what is planned, phase by phase, and may ask for a part of all tables; false: opensm ends.
 */
static bool slvl_send(struct slvl_matrix *matrix, struct plugin *plugin)
{
	for (uint8_t phase = 0; phase < SLVL_N_PHASES && !plugin->slvl->sent; phase++) {
		uint32_t n;

		if (!osr_lock(plugin->osm, LOCK_ALONE))
			return false;
		n = slvl_post_phase(plugin, phase);
		cl_plock_release(&plugin->osm->lock);
		if (n && !osr_wait_for_answers(plugin->osm))
			return false;
	}
	plugin->slvl->sent = true;
	if (!matrix->asks)
		return true;
	if (!osr_lock(plugin->osm, LOCK_ALONE))
		return false;
	slvl_ask_all(matrix, plugin);
	cl_plock_release(&plugin->osm->lock);
	return osr_wait_for_answers(plugin->osm);
}

void osr_slvl_settle(struct plugin *plugin)
{
	struct slvl *slvl = plugin->slvl;
	struct slvl_matrix *matrix = &slvl->matrix;
	bool again = false;

	if (!osr_lock(plugin->osm, LOCK_ALONE))
		return;
	slvl_show(plugin, true);
	*matrix =
		(struct slvl_matrix){ .ctx = osr_ctx_of(plugin, plugin->osm->routing_engine_used) };
	if (matrix->ctx && matrix->ctx->current && plugin->osm->subn.opt.qos) {
		matrix->asks = matrix->ctx->current->used_vls || slvl->n_mads;
		again = slvl_alloc(matrix, plugin);
	}
	cl_plock_release(&plugin->osm->lock);
	for (; again; matrix->suspects = true) {
		if (!slvl_send(matrix, plugin) || !osr_lock(plugin->osm, LOCK_SHARED))
			return;
		slvl->n_refused = slvl_compare(matrix, plugin);
		/* Once more: a MAD was lost, or a switch does not know wildcards. */
		again = slvl->n_refused && !matrix->suspects &&
			slvl_plan_all(matrix, plugin, false);
		cl_plock_release(&plugin->osm->lock);
	}
	if (!matrix->ctx || !slvl->n_sent)
		return;
	osr_metrics_set(plugin, "sl2vl", "sent", (double)slvl->n_sent);
	osr_log(plugin->osm, osr_log_details(plugin),
		"%s: SL2VL tables by port pair: %" PRIu64 " MADs sent, %" PRIu64 " read back",
		matrix->ctx->engine->name, slvl->n_sent, slvl->n_read);
	slvl->n_sent = slvl->n_read = 0;
}

/* At the end of routing. */
static void slvl_sent(struct plugin *plugin)
{
	osr_slvl_settle(plugin);
}

const struct feature osr_slvl = {
	.size = sizeof(struct slvl),
	.state = offsetof(struct plugin, slvl),
	.on = { [ON_ROUTED] = slvl_sent, [ON_CLOSE] = slvl_close },
};
