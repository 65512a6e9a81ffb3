/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The builder collects switches, links and terminals in any order and lays them out as the flat
 * arrays of fabric.h. Switches are sorted once, by GUID; everything else falls into order by
 * walking switch after switch and port after port, so no other sort is needed.
 */
#include <osmroutes/each.h>
#include <osmroutes/set.h>

#include "core/data/fabric_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A growing array of plain records. */
struct vec {
	void *data;
	size_t n, cap, size;
};

struct switch_rec {
	struct osr_switch_in in;
	uint32_t name;
	uint32_t handle;
	uint32_t row; /* of its ports, once it has been sorted */
};

struct terminal_rec {
	struct osr_terminal_in in;
	uint32_t name;
};

struct osr_builder {
	struct vec switches;  /* struct switch_rec, by handle */
	struct vec links;     /* struct osr_link_in */
	struct vec terminals; /* struct terminal_rec */
	struct vec names;     /* char */
	bool no_memory;
};

static void *vec_grow(struct osr_builder *builder, struct vec *vec, size_t n)
{
	if (vec->n + n > vec->cap) {
		size_t cap = vec->cap ? vec->cap * 2 : 256;
		void *data;

		while (cap < vec->n + n)
			cap *= 2;
		data = realloc(vec->data, cap * vec->size);
		if (!data) {
			builder->no_memory = true;
			return NULL;
		}
		vec->data = data;
		vec->cap = cap;
	}
	vec->n += n;
	osr_invariant(vec->n <= vec->cap);
	return (char *)vec->data + (vec->n - n) * vec->size;
}

/* Offset of a copy of name in the pool; 0, the empty string, for NULL and "". */
static uint32_t fabric_add_name(struct osr_builder *builder, const char *name)
{
	size_t len = name ? strlen(name) : 0;
	char *p;

	if (len == 0)
		return 0;
	p = vec_grow(builder, &builder->names, len + 1);
	if (!p)
		return 0;
	memcpy(p, name, len + 1);
	osr_name_clean(p);
	return p - (char *)builder->names.data;
}

struct osr_builder *osr_builder_new(void)
{
	struct osr_builder *builder = calloc(1, sizeof(*builder));
	char *empty;

	if (!builder)
		return NULL;
	builder->switches.size = sizeof(struct switch_rec);
	builder->links.size = sizeof(struct osr_link_in);
	builder->terminals.size = sizeof(struct terminal_rec);
	builder->names.size = 1;
	empty = vec_grow(builder, &builder->names, 1);
	if (!empty) {
		osr_builder_free(builder);
		return NULL;
	}
	*empty = 0;
	return builder;
}

void osr_builder_free(struct osr_builder *builder)
{
	if (!builder)
		return;
	free(builder->switches.data);
	free(builder->links.data);
	free(builder->terminals.data);
	free(builder->names.data);
	free(builder);
}

uint32_t osr_builder_switch(struct osr_builder *builder, const struct osr_switch_in *in)
{
	struct switch_rec *rec = vec_grow(builder, &builder->switches, 1);

	if (!rec)
		return OSR_NONE;
	rec->in = *in;
	rec->name = fabric_add_name(builder, in->name);
	rec->handle = builder->switches.n - 1;
	return rec->handle;
}

void osr_builder_link(struct osr_builder *builder, const struct osr_link_in *in)
{
	struct osr_link_in *link_in = vec_grow(builder, &builder->links, 1);

	if (link_in)
		*link_in = *in;
}

void osr_builder_terminal(struct osr_builder *builder, const struct osr_terminal_in *in)
{
	struct terminal_rec *rec = vec_grow(builder, &builder->terminals, 1);

	if (!rec)
		return;
	rec->in = *in;
	rec->name = fabric_add_name(builder, in->name);
}

/* ---- laying out ----------------------------------------------------------------------------- */

/* The arrays of a fabric are constant to everybody but the functions below, which write them. */
static uint8_t *to8(const uint8_t *array)
{
	return (uint8_t *)array;
}

static uint16_t *to16(const uint16_t *array)
{
	return (uint16_t *)array;
}

static uint32_t *to32(const uint32_t *array)
{
	return (uint32_t *)array;
}

static uint64_t *to64(const uint64_t *array)
{
	return (uint64_t *)array;
}

/* The cable or end port at a port of a switch, while the fabric is laid out. */
struct port_use {
	uint32_t link;     /* or OSR_NONE */
	uint32_t terminal; /* or OSR_NONE */
	uint8_t side;      /* 0: sw_a's side of the link, 1: sw_b's */
};

/* The state of one osr_builder_build(). */
struct build {
	struct osr_builder *builder;
	struct osr_arena *arena;
	struct osr_fabric *fabric;
	struct osr_diag *diag;
	struct osr_arena scratch;  /* has the arrays below */
	struct switch_rec *sorted; /* [n_switches] by GUID */
	uint32_t *index;           /* handle -> switch */
	struct port_use *use;      /* [n_ports] */
};

static int fabric_by_guid(const void *a, const void *b)
{
	const struct switch_rec *left = a, *right = b;

	return left->in.guid < right->in.guid ? -1 : left->in.guid > right->in.guid;
}

static const char *builder_name(const struct osr_builder *builder, uint32_t name)
{
	return name ? (const char *)builder->names.data + name : "(no name)";
}

static enum osr_status sort_switches(struct build *build)
{
	const struct osr_builder *builder = build->builder;
	uint32_t n = builder->switches.n, at = 0;
	struct switch_rec *rec = build->sorted;

	if (n == 0)
		return osr_fail(build->diag, OSR_INVAL,
				"the fabric has no switch: nothing to route");
	memcpy(rec, builder->switches.data, n * sizeof(*rec));
	qsort(rec, n, sizeof(*rec), fabric_by_guid);
	for (uint32_t s = 0; s < n; s++) {
		if (s && rec[s].in.guid == rec[s - 1].in.guid)
			return osr_fail(build->diag, OSR_INVAL,
					"two switches (\"%s\", \"%s\") have the GUID 0x%016" PRIx64,
					builder_name(builder, rec[s - 1].name),
					builder_name(builder, rec[s].name), rec[s].in.guid);
		if (rec[s].in.n_ports == 255)
			return osr_fail(build->diag, OSR_INVAL,
					"switch 0x%016" PRIx64
					" has 255 ports, at most 254 are legal",
					rec[s].in.guid);
		rec[s].row = at;
		build->index[rec[s].handle] = s;
		at += rec[s].in.n_ports + 1u;
	}
	for (uint32_t handle = 0; handle < n; handle++)
		osr_invariant(rec[build->index[handle]].handle == handle);
	build->fabric->n_switches = n;
	build->fabric->n_ports = at;
	return OSR_OK;
}

/* Finds the free port (handle, port), or says why it cannot be used. */
static enum osr_status claim_port(struct build *build, uint32_t handle, uint32_t port,
				  const char *what, struct port_use **use)
{
	const struct switch_rec *rec;

	if (handle >= build->fabric->n_switches)
		return osr_fail(build->diag, OSR_INVAL, "%s names switch number %u of %u", what,
				handle, build->fabric->n_switches);
	rec = &build->sorted[build->index[handle]];
	if (port > rec->in.n_ports)
		return osr_fail(build->diag, OSR_INVAL,
				"%s uses port %u of switch 0x%016" PRIx64 ", which has %u", what,
				port, rec->in.guid, rec->in.n_ports);
	*use = &build->use[rec->row + port];
	if ((*use)->link != OSR_NONE || (*use)->terminal != OSR_NONE)
		return osr_fail(build->diag, OSR_INVAL,
				"port %u of switch 0x%016" PRIx64 " is connected twice", port,
				rec->in.guid);
	return OSR_OK;
}

/* Counts the LIDs of an end port, or says why they are no legal range. */
static enum osr_status claim_lids(struct build *build, const struct terminal_rec *rec)
{
	uint32_t n = rec->in.lmc <= 7 ? 1u << rec->in.lmc : 0, last = rec->in.lid + n - 1;

	if (n == 0)
		return osr_fail(build->diag, OSR_INVAL,
				"end port 0x%016" PRIx64 " (%s) has LMC %u, at most 7 is legal",
				rec->in.guid, builder_name(build->builder, rec->name), rec->in.lmc);
	if (rec->in.lid == 0 || (rec->in.lid & (n - 1)) || last > OSR_MAX_LID)
		return osr_fail(build->diag, OSR_INVAL,
				"end port 0x%016" PRIx64
				" (%s) has base LID %u with LMC %u: not a legal unicast range",
				rec->in.guid, builder_name(build->builder, rec->name), rec->in.lid,
				rec->in.lmc);
	build->fabric->n_dests += n;
	build->fabric->max_lid = last > build->fabric->max_lid ? last : build->fabric->max_lid;
	return OSR_OK;
}

/* Notes the cable or end port at each port; counts channels, terminals and destinations. */
static enum osr_status claim_ports(struct build *build)
{
	const struct osr_link_in *link = build->builder->links.data;
	const struct terminal_rec *term = build->builder->terminals.data;
	struct port_use *use;
	enum osr_status st;

	for (uint32_t p = 0; p < build->fabric->n_ports; p++)
		build->use[p] = (struct port_use){ OSR_NONE, OSR_NONE, 0 };
	for (uint32_t l = 0; l < build->builder->links.n; l++) {
		if (link[l].sw_a == link[l].sw_b)
			continue; /* a loop-back cable carries no route */
		st = claim_port(build, link[l].sw_a, link[l].port_a, "a link", &use);
		if (st)
			return st;
		use->link = l;
		st = claim_port(build, link[l].sw_b, link[l].port_b, "a link", &use);
		if (st)
			return st;
		use->link = l;
		use->side = 1;
		build->fabric->n_channels += 2;
	}
	for (uint32_t t = 0; t < build->builder->terminals.n; t++) {
		st = claim_port(build, term[t].in.sw, term[t].in.port, "an end port", &use);
		if (st || (st = claim_lids(build, &term[t])))
			return st;
		use->terminal = t;
		build->fabric->n_terminals++;
	}
	/* No port is used twice. */
	osr_invariant(build->fabric->n_channels + build->fabric->n_terminals <=
		      build->fabric->n_ports);
	return OSR_OK;
}

/* Channel c leaves switch s by this port. */
static void lay_out_channel(struct build *build, uint32_t c, uint32_t s, uint32_t port,
			    const struct port_use *use)
{
	const struct osr_link_in *link =
		(const struct osr_link_in *)build->builder->links.data + use->link;
	struct osr_fabric *fabric = build->fabric;
	uint8_t vls = link->vls;

	to32(fabric->chan_src)[c] = s;
	to32(fabric->chan_dst)[c] = build->index[use->side ? link->sw_a : link->sw_b];
	to8(fabric->chan_port)[c] = port;
	to16(fabric->chan_rate)[c] = link->rate;
	to8(fabric->chan_vls)[c] = vls && vls < OSR_MAX_VLS ? vls : OSR_MAX_VLS;
	to8(fabric->chan_flags)[c] = use->side ? link->flags_b : link->flags_a;
}

/* Terminal t is attached to switch s. */
static void lay_out_terminal(struct osr_fabric *fabric, uint32_t t, uint32_t s,
			     const struct terminal_rec *rec)
{
	to32(fabric->term_switch)[t] = s;
	to8(fabric->term_port)[t] = rec->in.port;
	to8(fabric->term_lmc)[t] = rec->in.lmc;
	to8(fabric->term_role)[t] = rec->in.role;
	to8(fabric->term_group)[t] = rec->in.group;
	to32(fabric->term_weight)[t] = rec->in.role == OSR_ROLE_SP0 ? 0 : 1;
	to16(fabric->term_lid)[t] = rec->in.lid;
	to64(fabric->term_guid)[t] = rec->in.guid;
	to32(fabric->term_name)[t] = rec->in.role == OSR_ROLE_SP0 ? fabric->sw_name[s] : rec->name;
	to32(fabric->sw_sources)[s] += fabric->term_weight[t];
}

/* Switch after switch, port after port. */
static void lay_out_ports(struct build *build)
{
	const struct osr_link_in *link = build->builder->links.data;
	const struct terminal_rec *term = build->builder->terminals.data;
	struct osr_fabric *fabric = build->fabric;
	uint32_t c = 0, t = 0;

	OSR_EACH_SWITCH(s, fabric) {
		const struct switch_rec *rec = &build->sorted[s];

		to64(fabric->sw_guid)[s] = rec->in.guid;
		to8(fabric->sw_n_ports)[s] = rec->in.n_ports;
		to8(fabric->sw_flags)[s] = rec->in.flags;
		to32(fabric->sw_name)[s] = rec->name;
		to32(fabric->port_row)[s] = rec->row;
		to32(fabric->chan_row)[s] = c;
		to32(fabric->term_row)[s] = t;
		for (uint32_t port = 0; port <= rec->in.n_ports; port++) {
			const struct port_use *use = &build->use[rec->row + port];
			bool cable = use->link != OSR_NONE;

			to32(fabric->port_chan)[rec->row + port] = cable ? c : OSR_NONE;
			if (cable)
				lay_out_channel(build, c++, s, port, use);
			else if (use->terminal != OSR_NONE)
				lay_out_terminal(fabric, t++, s, &term[use->terminal]);
		}
	}
	to32(fabric->port_row)[fabric->n_switches] = fabric->n_ports;
	to32(fabric->chan_row)[fabric->n_switches] = c;
	to32(fabric->term_row)[fabric->n_switches] = t;
	osr_invariant(c == fabric->n_channels && t == fabric->n_terminals);
	/* The reverse of a channel is known once all channels are. */
	while (c-- > 0) {
		const struct port_use *use =
			&build->use[fabric->port_row[fabric->chan_src[c]] + fabric->chan_port[c]];
		uint8_t far = use->side ? link[use->link].port_a : link[use->link].port_b;

		to32(fabric->chan_rev)[c] = osr_port_channel(fabric, fabric->chan_dst[c], far);
	}
}

static enum osr_status lay_out_turns(struct build *build)
{
	struct osr_fabric *fabric = build->fabric;
	uint64_t n = 0;

	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t via = fabric->chan_dst[c];

		to32(fabric->turn_row)[c] = n;
		n += fabric->chan_row[via + 1] - fabric->chan_row[via];
	}
	to32(fabric->turn_row)[fabric->n_channels] = n;
	if (n > UINT32_MAX)
		return osr_fail(build->diag, OSR_INVAL,
				"the fabric has more than 2^32 pairs of channels");
	return OSR_OK;
}

static enum osr_status lay_out_dests(struct build *build)
{
	struct osr_fabric *fabric = build->fabric;
	uint32_t *lid_dest = to32(fabric->lid_dest), d = 0;

	memset(lid_dest, 0xff, ((size_t)fabric->max_lid + 1) * sizeof(*lid_dest));
	OSR_EVERY_TERMINAL(t, fabric) {
		for (uint32_t i = 0; i < 1u << fabric->term_lmc[t]; i++) {
			uint32_t *owner = &lid_dest[fabric->term_lid[t] + i];

			if (*owner != OSR_NONE)
				return osr_fail(build->diag, OSR_INVAL,
						"LID %u belongs to two end ports, 0x%016" PRIx64
						" and 0x%016" PRIx64,
						fabric->term_lid[t] + i, fabric->term_guid[*owner],
						fabric->term_guid[t]);
			*owner = t;
		}
	}
	/* lid_dest holds terminals up to here; a pass over all LIDs turns them into dests. */
	for (uint32_t l = 0; l <= fabric->max_lid; l++) {
		if (lid_dest[l] == OSR_NONE)
			continue;
		to16(fabric->dest_lid)[d] = l;
		to32(fabric->dest_term)[d] = lid_dest[l];
		to32(fabric->dest_switch)[d] = fabric->term_switch[lid_dest[l]];
		lid_dest[l] = d++;
	}
	osr_invariant(d == fabric->n_dests);
	return OSR_OK;
}

/* The name of a set is its lowest switch, so components are numbered by their lowest switches. */
static void find_components(struct build *build)
{
	struct osr_fabric *fabric = build->fabric;
	uint32_t *component = to32(fabric->sw_component),
		 *set = build->index; /* handles are no longer needed */

	osr_set_init(set, fabric->n_switches);
	OSR_EVERY_CHANNEL(c, fabric)
		osr_set_join(set, fabric->chan_src[c], fabric->chan_dst[c]);
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t lowest = osr_set_of(set, s);

		osr_invariant(lowest <= s);
		component[s] = lowest == s ? fabric->n_components++ : component[lowest];
	}
}

/* The offset of a name with the GUID behind it. */
static uint32_t add_with_guid(struct osr_builder *builder, uint32_t name, uint64_t guid)
{
	size_t size = strlen(builder_name(builder, name)) + 20;
	char *text = vec_grow(builder, &builder->names, size);

	if (!text)
		return name;
	snprintf(text, size, OSR_NAME_WITH_GUID, builder_name(builder, name), guid);
	return text - (char *)builder->names.data;
}

/*
 * Vendors give all their nodes one name. If several switches and end ports have the same name, the
 * GUID follows the name of each. Port 0 has the name of its switch.
 */
static enum osr_status tell_names_apart(struct build *build)
{
	struct terminal_rec *term = build->builder->terminals.data;
	struct osr_builder *builder = build->builder;
	uint32_t n_sw = build->fabric->n_switches, n = n_sw + build->fabric->n_terminals;
	uint32_t *name = osr_alloc(&build->scratch, n, sizeof(*name));
	bool *repeated = osr_alloc(&build->scratch, n, 1);

	if (osr_arena_failed(&build->scratch, build->diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < n_sw; s++)
		name[s] = build->sorted[s].name;
	OSR_EVERY_TERMINAL(t, build->fabric)
		name[n_sw + t] = term[t].in.role == OSR_ROLE_SP0 ? 0 : term[t].name;
	if (!osr_names_repeated(builder->names.data, name, n, repeated))
		builder->no_memory = true;
	for (uint32_t i = 0; i < n; i++) {
		if (builder->no_memory)
			return osr_fail(build->diag, OSR_NOMEM,
					"out of memory for the names of %u nodes", n);
		if (!repeated[i])
			continue;
		if (i < n_sw)
			build->sorted[i].name =
				add_with_guid(builder, name[i], build->sorted[i].in.guid);
		else
			term[i - n_sw].name =
				add_with_guid(builder, name[i], term[i - n_sw].in.guid);
	}
	if (builder->no_memory)
		return osr_fail(build->diag, OSR_NOMEM, "out of memory for the names of %u nodes",
				n);
	return OSR_OK;
}

/* The promises of fabric.h. */
static void fabric_check(const struct osr_fabric *fabric)
{
	OSR_EACH_SWITCH(s, fabric) {
		osr_invariant(!s || fabric->sw_guid[s - 1] < fabric->sw_guid[s]);
		osr_invariant(fabric->sw_component[s] < fabric->n_components);
		osr_invariant(fabric->port_row[s] + fabric->sw_n_ports[s] + 1u ==
			      fabric->port_row[s + 1]);
		OSR_EACH_CHANNEL(c, fabric, s)
			osr_invariant(fabric->chan_src[c] == s);
		OSR_EACH_TERMINAL(t, fabric, s)
			osr_invariant(fabric->term_switch[t] == s);
	}
	osr_invariant(fabric->chan_row[fabric->n_switches] == fabric->n_channels);
	osr_invariant(fabric->term_row[fabric->n_switches] == fabric->n_terminals);
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t back = fabric->chan_rev[c], s = fabric->chan_src[c];

		osr_invariant(fabric->chan_dst[c] != s && fabric->chan_dst[c] < fabric->n_switches);
		osr_invariant(back < fabric->n_channels && fabric->chan_rev[back] == c);
		osr_invariant(fabric->chan_src[back] == fabric->chan_dst[c]);
		osr_invariant(fabric->chan_dst[back] == s);
		osr_invariant(osr_port_channel(fabric, s, fabric->chan_port[c]) == c);
		osr_invariant(fabric->chan_vls[c] >= 1 && fabric->chan_vls[c] <= OSR_MAX_VLS);
		osr_invariant(fabric->sw_component[s] == fabric->sw_component[fabric->chan_dst[c]]);
	}
	OSR_EACH_DEST(d, fabric) {
		uint32_t t = fabric->dest_term[d], lid = fabric->dest_lid[d];

		osr_invariant(!d || fabric->dest_lid[d - 1] < lid);
		osr_invariant(osr_lid_dest(fabric, lid) == d);
		osr_invariant(fabric->dest_switch[d] == fabric->term_switch[t]);
		osr_invariant(lid - fabric->term_lid[t] < 1u << fabric->term_lmc[t]);
	}
}

static enum osr_status fabric_build(struct build *build)
{
	size_t n = build->builder->switches.n;
	enum osr_status st;
	char *names;

	build->sorted = osr_alloc(&build->scratch, n, sizeof(*build->sorted));
	build->index = osr_alloc(&build->scratch, n, sizeof(*build->index));
	if (osr_arena_failed(&build->scratch, build->diag))
		return OSR_NOMEM;
	st = sort_switches(build);
	build->use = osr_alloc(&build->scratch, build->fabric->n_ports, sizeof(*build->use));
	if (st || osr_arena_failed(&build->scratch, build->diag))
		return st ? st : OSR_NOMEM;
	if ((st = claim_ports(build)) || (st = tell_names_apart(build)) ||
	    (st = osr_fabric_alloc(build->fabric, build->arena, build->diag)))
		return st;
	lay_out_ports(build);
	st = lay_out_turns(build);
	if (st)
		return st;
	find_components(build);
	build->fabric->names = names = osr_alloc(build->arena, build->builder->names.n, 1);
	if (osr_arena_failed(build->arena, build->diag))
		return OSR_NOMEM;
	memcpy(names, build->builder->names.data, build->builder->names.n);
	return lay_out_dests(build);
}

enum osr_status osr_builder_build(struct osr_builder *builder, struct osr_arena *arena,
				  struct osr_fabric *fabric, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(arena);
	struct build build = { .builder = builder, .arena = arena, .fabric = fabric, .diag = diag };
	enum osr_status st;

	memset(fabric, 0, sizeof(*fabric));
	if (!builder || builder->no_memory)
		return osr_fail(diag, OSR_NOMEM, "out of memory while reading the fabric");
	st = fabric_build(&build);
	osr_arena_free(&build.scratch);
	if (st) {
		osr_arena_reset(arena, mark);
		memset(fabric, 0, sizeof(*fabric));
		return st;
	}
	fabric_check(fabric);
	return OSR_OK;
}
