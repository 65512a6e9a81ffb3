/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The builder collects switches, links and terminals in any order and lays them out as the flat
 * arrays of fabric.h. Switches are sorted once, by GUID; everything else falls into order by
 * walking switch after switch and port after port, so no other sort is needed.
 */
#include <osmroutes/names.h>
#include <osmroutes/set.h>

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

static void *vec_grow(struct osr_builder *builder, struct vec *v, size_t n)
{
	if (v->n + n > v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 256;
		void *data;

		while (cap < v->n + n)
			cap *= 2;
		data = realloc(v->data, cap * v->size);
		if (!data) {
			builder->no_memory = true;
			return NULL;
		}
		v->data = data;
		v->cap = cap;
	}
	v->n += n;
	return (char *)v->data + (v->n - n) * v->size;
}

/* How many bytes of UTF-8 begin here; 0: none, or a control character. */
static unsigned printable(const unsigned char *at)
{
	unsigned n = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : (*at & 0xf0) == 0xe0 ? 3 : 4;

	if (*at < ' ' || *at == 0x7f || (n == 4 && (*at < 0xf0 || *at > 0xf4)) ||
	    (*at == 0xc2 && at[1] < 0xa0))
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

void osr_name_clean(char *name)
{
	for (unsigned char *at = (unsigned char *)name; *at;) {
		unsigned n = printable(at);

		if (!n)
			*at = '?';
		at += n ? n : 1;
	}
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
	return (uint32_t)(p - (char *)builder->names.data);
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
	rec->handle = (uint32_t)(builder->switches.n - 1);
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

/* What hangs on a port while the fabric is laid out. */
struct port_use {
	uint32_t link;     /* or OSR_NONE */
	uint32_t terminal; /* or OSR_NONE */
	uint8_t side;      /* 0: sw_a's side of the link, 1: sw_b's */
};

/* The state of one osr_builder_build(); the arrays it fills become the fabric's. */
struct build {
	struct osr_builder *b;
	struct osr_arena *arena;
	struct osr_fabric *f;
	struct osr_diag *diag;
	struct switch_rec *sorted; /* [n_switches] by GUID */
	uint32_t *index;           /* handle -> switch */
	uint32_t *port_row;
	struct port_use *use;          /* [n_ports] */
	uint32_t *sw_name, *term_name; /* as the fabric's */
};

static int fabric_by_guid(const void *a, const void *b)
{
	const struct switch_rec *rec = a, *y = b;

	return rec->in.guid < y->in.guid ? -1 : rec->in.guid > y->in.guid;
}

static const char *builder_name(const struct osr_builder *builder, uint32_t name)
{
	return name ? (const char *)builder->names.data + name : "(no name)";
}

static enum osr_status lay_out_switches(struct build *w)
{
	const struct osr_builder *builder = w->b;
	uint32_t n = (uint32_t)builder->switches.n, at = 0;
	struct osr_fabric *fabric = w->f;
	uint8_t *n_ports, *flags;
	uint64_t *guid;

	fabric->sw_guid = guid = osr_alloc(w->arena, n, sizeof(*guid));
	fabric->sw_n_ports = n_ports = osr_alloc(w->arena, n, 1);
	fabric->sw_flags = flags = osr_alloc(w->arena, n, 1);
	fabric->sw_name = w->sw_name = osr_alloc(w->arena, n, sizeof(*w->sw_name));
	fabric->port_row = w->port_row = osr_alloc(w->arena, (size_t)n + 1, sizeof(*w->port_row));
	if (osr_arena_failed(w->arena, w->diag))
		return OSR_NOMEM;
	if (n == 0)
		return osr_fail(w->diag, OSR_INVAL, "the fabric has no switch: nothing to route");

	memcpy(w->sorted, builder->switches.data, n * sizeof(*w->sorted));
	qsort(w->sorted, n, sizeof(*w->sorted), fabric_by_guid);
	for (uint32_t s = 0; s < n; s++) {
		const struct switch_rec *rec = &w->sorted[s];

		if (s && rec->in.guid == guid[s - 1])
			return osr_fail(w->diag, OSR_INVAL,
					"two switches (\"%s\", \"%s\") have the GUID 0x%016" PRIx64,
					builder_name(builder, w->sorted[s - 1].name),
					builder_name(builder, rec->name), rec->in.guid);
		if (rec->in.n_ports == 255)
			return osr_fail(w->diag, OSR_INVAL,
					"switch 0x%016" PRIx64
					" has 255 ports, at most 254 are legal",
					rec->in.guid);
		guid[s] = rec->in.guid;
		n_ports[s] = rec->in.n_ports;
		flags[s] = rec->in.flags;
		w->sw_name[s] = rec->name;
		w->index[rec->handle] = s;
		w->port_row[s] = at;
		at += rec->in.n_ports + 1u;
	}
	w->port_row[n] = at;
	fabric->n_switches = n;
	fabric->n_ports = at;
	return OSR_OK;
}

/* Finds the free port (handle, port), or says why it cannot be used. */
static enum osr_status claim_port(struct build *w, uint32_t handle, uint32_t port, const char *what,
				  struct port_use **use)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t s;

	if (handle >= fabric->n_switches)
		return osr_fail(w->diag, OSR_INVAL, "a %s names switch number %u of %u", what,
				handle, fabric->n_switches);
	s = w->index[handle];
	if (port > fabric->sw_n_ports[s])
		return osr_fail(w->diag, OSR_INVAL,
				"a %s uses port %u of switch 0x%016" PRIx64 ", which has %u", what,
				port, fabric->sw_guid[s], fabric->sw_n_ports[s]);
	*use = &w->use[w->port_row[s] + port];
	if ((*use)->link != OSR_NONE || (*use)->terminal != OSR_NONE)
		return osr_fail(w->diag, OSR_INVAL,
				"port %u of switch 0x%016" PRIx64 " is connected twice", port,
				fabric->sw_guid[s]);
	return OSR_OK;
}

static enum osr_status claim_ports(struct build *w)
{
	const struct osr_link_in *link = w->b->links.data;
	const struct terminal_rec *term = w->b->terminals.data;
	struct port_use *use;
	enum osr_status st;

	for (uint32_t p = 0; p < w->f->n_ports; p++)
		w->use[p] = (struct port_use){ OSR_NONE, OSR_NONE, 0 };
	for (uint32_t l = 0; l < w->b->links.n; l++) {
		if (link[l].sw_a == link[l].sw_b)
			continue; /* a loop-back cable carries no route */
		st = claim_port(w, link[l].sw_a, link[l].port_a, "link", &use);
		if (st)
			return st;
		use->link = l;
		st = claim_port(w, link[l].sw_b, link[l].port_b, "link", &use);
		if (st)
			return st;
		use->link = l;
		use->side = 1;
	}
	for (uint32_t t = 0; t < w->b->terminals.n; t++) {
		st = claim_port(w, term[t].in.sw, term[t].in.port, "end port", &use);
		if (st)
			return st;
		use->terminal = t;
	}
	return OSR_OK;
}

static enum osr_status lay_out_channels(struct build *w)
{
	const struct osr_link_in *link = w->b->links.data;
	struct osr_fabric *fabric = w->f;
	uint32_t n = 0, c = 0;
	uint32_t *row, *port_chan, *src, *dst, *rev;
	uint8_t *port, *vls, *flags;
	uint16_t *rate;

	for (uint32_t p = 0; p < fabric->n_ports; p++)
		n += w->use[p].link != OSR_NONE;
	fabric->chan_row = row = osr_alloc(w->arena, (size_t)fabric->n_switches + 1, sizeof(*row));
	fabric->port_chan = port_chan = osr_alloc(w->arena, fabric->n_ports, sizeof(*port_chan));
	fabric->chan_src = src = osr_alloc(w->arena, n, sizeof(*src));
	fabric->chan_dst = dst = osr_alloc(w->arena, n, sizeof(*dst));
	fabric->chan_rev = rev = osr_alloc(w->arena, n, sizeof(*rev));
	fabric->chan_port = port = osr_alloc(w->arena, n, 1);
	fabric->chan_vls = vls = osr_alloc(w->arena, n, 1);
	fabric->chan_flags = flags = osr_alloc(w->arena, n, 1);
	fabric->chan_rate = rate = osr_alloc(w->arena, n, sizeof(*rate));
	if (osr_arena_failed(w->arena, w->diag))
		return OSR_NOMEM;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		row[s] = c;
		for (uint32_t p = w->port_row[s]; p < w->port_row[s + 1]; p++) {
			const struct port_use *use = &w->use[p];
			const struct osr_link_in *link_in;

			port_chan[p] = use->link == OSR_NONE ? OSR_NONE : c;
			if (use->link == OSR_NONE)
				continue;
			link_in = &link[use->link];
			src[c] = s;
			dst[c] = w->index[use->side ? link_in->sw_a : link_in->sw_b];
			port[c] = (uint8_t)(p - w->port_row[s]);
			rate[c] = link_in->rate;
			vls[c] = link_in->vls && link_in->vls < OSR_MAX_VLS ? link_in->vls
									    : OSR_MAX_VLS;
			flags[c] = use->side ? link_in->flags_b : link_in->flags_a;
			c++;
		}
	}
	row[fabric->n_switches] = c;
	for (c = 0; c < n; c++) {
		const struct port_use *use = &w->use[w->port_row[src[c]] + port[c]];
		const struct osr_link_in *link_in = &link[use->link];
		uint8_t far = use->side ? link_in->port_a : link_in->port_b;

		rev[c] = port_chan[w->port_row[dst[c]] + far];
	}
	fabric->n_channels = n;
	return OSR_OK;
}

static enum osr_status check_lids(struct build *w, const struct terminal_rec *rec)
{
	uint32_t n = rec->in.lmc <= 7 ? 1u << rec->in.lmc : 0;

	if (n == 0)
		return osr_fail(w->diag, OSR_INVAL,
				"end port 0x%016" PRIx64 " (%s) has LMC %u, at most 7 is legal",
				rec->in.guid, builder_name(w->b, rec->name), rec->in.lmc);
	if (rec->in.lid == 0 || (rec->in.lid & (n - 1)) || rec->in.lid + n - 1 > OSR_MAX_LID)
		return osr_fail(w->diag, OSR_INVAL,
				"end port 0x%016" PRIx64
				" (%s) has base LID %u with LMC %u: not a legal unicast range",
				rec->in.guid, builder_name(w->b, rec->name), rec->in.lid,
				rec->in.lmc);
	return OSR_OK;
}

static enum osr_status lay_out_terminals(struct build *w)
{
	const struct terminal_rec *rec = w->b->terminals.data;
	uint32_t n = (uint32_t)w->b->terminals.n, t = 0;
	struct osr_fabric *fabric = w->f;
	uint32_t *row, *sources, *sw, *weight;
	uint8_t *port, *lmc, *role, *group;
	uint64_t *guid;
	uint16_t *lid;

	fabric->term_row = row = osr_alloc(w->arena, (size_t)fabric->n_switches + 1, sizeof(*row));
	fabric->sw_sources = sources = osr_calloc(w->arena, fabric->n_switches, sizeof(*sources));
	fabric->term_switch = sw = osr_alloc(w->arena, n, sizeof(*sw));
	fabric->term_port = port = osr_alloc(w->arena, n, 1);
	fabric->term_lmc = lmc = osr_alloc(w->arena, n, 1);
	fabric->term_role = role = osr_alloc(w->arena, n, 1);
	fabric->term_group = group = osr_alloc(w->arena, n, 1);
	fabric->term_weight = weight = osr_alloc(w->arena, n, sizeof(*weight));
	fabric->term_lid = lid = osr_alloc(w->arena, n, sizeof(*lid));
	fabric->term_guid = guid = osr_alloc(w->arena, n, sizeof(*guid));
	fabric->term_name = w->term_name = osr_alloc(w->arena, n, sizeof(*w->term_name));
	if (osr_arena_failed(w->arena, w->diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		row[s] = t;
		for (uint32_t p = w->port_row[s]; p < w->port_row[s + 1]; p++) {
			const struct terminal_rec *terminal;
			enum osr_status st;

			if (w->use[p].terminal == OSR_NONE)
				continue;
			terminal = &rec[w->use[p].terminal];
			st = check_lids(w, terminal);
			if (st)
				return st;
			sw[t] = s;
			port[t] = terminal->in.port;
			lmc[t] = terminal->in.lmc;
			role[t] = terminal->in.role;
			group[t] = terminal->in.group;
			weight[t] = terminal->in.role == OSR_ROLE_SP0 ? 0 : 1;
			lid[t] = terminal->in.lid;
			guid[t] = terminal->in.guid;
			w->term_name[t] = terminal->name;
			sources[s] += weight[t];
			fabric->n_dests += 1u << terminal->in.lmc;
			if (fabric->max_lid < terminal->in.lid + (1u << terminal->in.lmc) - 1)
				fabric->max_lid = terminal->in.lid + (1u << terminal->in.lmc) - 1;
			t++;
		}
	}
	row[fabric->n_switches] = t;
	fabric->n_terminals = t;
	return OSR_OK;
}

static enum osr_status lay_out_dests(struct build *w)
{
	struct osr_fabric *fabric = w->f;
	uint32_t *lid_dest, *term, *sw, d = 0;
	uint16_t *lid;

	fabric->lid_dest = lid_dest =
		osr_alloc(w->arena, (size_t)fabric->max_lid + 1, sizeof(*lid_dest));
	fabric->dest_lid = lid = osr_alloc(w->arena, fabric->n_dests, sizeof(*lid));
	fabric->dest_term = term = osr_alloc(w->arena, fabric->n_dests, sizeof(*term));
	fabric->dest_switch = sw = osr_alloc(w->arena, fabric->n_dests, sizeof(*sw));
	if (osr_arena_failed(w->arena, w->diag))
		return OSR_NOMEM;
	memset(lid_dest, 0xff, ((size_t)fabric->max_lid + 1) * sizeof(*lid_dest));
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		for (uint32_t i = 0; i < 1u << fabric->term_lmc[t]; i++) {
			uint32_t *owner = &lid_dest[fabric->term_lid[t] + i];

			if (*owner != OSR_NONE)
				return osr_fail(w->diag, OSR_INVAL,
						"LID %u belongs to two end ports, 0x%016" PRIx64
						" and 0x%016" PRIx64,
						fabric->term_lid[t] + i, fabric->term_guid[*owner],
						fabric->term_guid[t]);
			*owner = t;
		}
	}
	/* lid_dest holds terminals up to here; walking the LIDs upwards turns them into dests. */
	for (uint32_t l = 0; l <= fabric->max_lid; l++) {
		if (lid_dest[l] == OSR_NONE)
			continue;
		lid[d] = (uint16_t)l;
		term[d] = lid_dest[l];
		sw[d] = fabric->term_switch[lid_dest[l]];
		lid_dest[l] = d++;
	}
	return OSR_OK;
}

/* Sets are called by their lowest switch, so components are numbered in that order. */
static enum osr_status find_components(struct build *w)
{
	struct osr_fabric *fabric = w->f;
	uint32_t *component, *set = w->index; /* handles are no longer needed */

	fabric->sw_component = component =
		osr_alloc(w->arena, fabric->n_switches, sizeof(*component));
	if (osr_arena_failed(w->arena, w->diag))
		return OSR_NOMEM;
	osr_set_init(set, fabric->n_switches);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		osr_set_join(set, fabric->chan_src[c], fabric->chan_dst[c]);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t lowest = osr_set_of(set, s);

		component[s] = lowest == s ? fabric->n_components++ : component[lowest];
	}
	return OSR_OK;
}

/* The offset of a name with the GUID behind it. */
static uint32_t add_with_guid(struct osr_builder *builder, uint32_t name, uint64_t guid)
{
	size_t size = strlen(builder_name(builder, name)) + 20;
	char *text = vec_grow(builder, &builder->names, size);

	if (!text)
		return name;
	snprintf(text, size, OSR_NAME_WITH_GUID, builder_name(builder, name), guid);
	return (uint32_t)(text - (char *)builder->names.data);
}

/*
 * Vendors give all their nodes one name. Where several switches and end ports are called alike, the GUID follows
 * the name, for every reader. Port 0 is called as its switch.
 */
static enum osr_status tell_names_apart(struct build *w)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t n_sw = fabric->n_switches, n = n_sw + fabric->n_terminals;
	uint32_t *name = malloc((n + 1) * sizeof(*name));
	bool *repeated = malloc(n + 1), done = false;

	for (uint32_t s = 0; name && s < n_sw; s++)
		name[s] = w->sw_name[s];
	for (uint32_t t = 0; name && t < fabric->n_terminals; t++)
		name[n_sw + t] = fabric->term_role[t] == OSR_ROLE_SP0 ? 0 : w->term_name[t];
	if (name && repeated)
		done = osr_names_repeated(w->b->names.data, name, n, repeated);
	for (uint32_t s = 0; done && s < n_sw; s++)
		if (repeated[s])
			w->sw_name[s] = add_with_guid(w->b, name[s], fabric->sw_guid[s]);
	for (uint32_t t = 0; done && t < fabric->n_terminals; t++)
		if (fabric->term_role[t] == OSR_ROLE_SP0)
			w->term_name[t] = w->sw_name[fabric->term_switch[t]];
		else if (repeated[n_sw + t])
			w->term_name[t] = add_with_guid(w->b, name[n_sw + t], fabric->term_guid[t]);
	free(name);
	free(repeated);
	return done && !w->b->no_memory
		       ? OSR_OK
		       : osr_fail(w->diag, OSR_NOMEM, "out of memory for the names of %u nodes", n);
}

static enum osr_status fabric_build(struct build *w)
{
	enum osr_status st = lay_out_switches(w);
	char *names;

	w->use = st ? NULL : malloc(w->f->n_ports * sizeof(*w->use));
	if (!st && !w->use)
		st = osr_fail(w->diag, OSR_NOMEM, "out of memory for %u ports", w->f->n_ports);
	if (st || (st = claim_ports(w)) || (st = lay_out_channels(w)) ||
	    (st = lay_out_terminals(w)) || (st = lay_out_dests(w)) || (st = find_components(w)) ||
	    (st = tell_names_apart(w)))
		return st;
	w->f->names = names = osr_alloc(w->arena, w->b->names.n, 1);
	if (osr_arena_failed(w->arena, w->diag))
		return OSR_NOMEM;
	memcpy(names, w->b->names.data, w->b->names.n);
	return OSR_OK;
}

enum osr_status osr_builder_build(struct osr_builder *builder, struct osr_arena *arena,
				  struct osr_fabric *fabric, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(arena);
	struct build w = { .b = builder, .arena = arena, .f = fabric, .diag = diag };
	enum osr_status st;

	memset(fabric, 0, sizeof(*fabric));
	if (!builder || builder->no_memory)
		return osr_fail(diag, OSR_NOMEM, "out of memory while reading the fabric");
	w.sorted = malloc((builder->switches.n + 1) * sizeof(*w.sorted));
	w.index = malloc((builder->switches.n + 1) * sizeof(*w.index));
	st = w.sorted && w.index ? fabric_build(&w)
				 : osr_fail(diag, OSR_NOMEM, "out of memory for the switches");
	free(w.sorted);
	free(w.index);
	free(w.use);
	if (st) {
		osr_arena_reset(arena, mark);
		memset(fabric, 0, sizeof(*fabric));
	}
	return st;
}

uint32_t osr_fabric_switch_by_guid(const struct osr_fabric *fabric, uint64_t guid)
{
	uint32_t lo = 0, hi = fabric->n_switches;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (fabric->sw_guid[mid] < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < fabric->n_switches && fabric->sw_guid[lo] == guid ? lo : OSR_NONE;
}

static const char *name_or_guid(const struct osr_fabric *fabric, uint32_t name, uint64_t guid,
				char buf[32])
{
	if (name)
		return fabric->names + name;
	snprintf(buf, 32, "0x%016" PRIx64, guid);
	return buf;
}

const char *osr_switch_name(const struct osr_fabric *fabric, uint32_t sw, char buf[32])
{
	return name_or_guid(fabric, fabric->sw_name[sw], fabric->sw_guid[sw], buf);
}

const char *osr_terminal_name(const struct osr_fabric *fabric, uint32_t term, char buf[32])
{
	return name_or_guid(fabric, fabric->term_name[term], fabric->term_guid[term], buf);
}

void osr_count_hosts(const struct osr_end *end, uint32_t n, uint32_t *n_hosts, uint32_t n_switches)
{
	uint32_t n_last = 0, n_only = 0, n_bare = 0;
	bool own_port;

	memset(n_hosts, 0, n_switches * sizeof(*n_hosts));
	for (uint32_t i = 0; i < n; i++)
		n_hosts[end[i].sw]++;
	/* Do most switches, and most of those with no other end, have one on their last port? */
	for (uint32_t i = 0; i < n; i++) {
		n_last += end[i].last;
		n_only += end[i].last && n_hosts[end[i].sw] == 1;
	}
	for (uint32_t s = 0; s < n_switches; s++)
		n_bare += !n_hosts[s];
	own_port = 2 * n_last > n_switches && n_only > n_bare && n_switches > 2;
	for (uint32_t i = 0; i < n; i++)
		n_hosts[end[i].sw] -=
			(own_port && end[i].last) || strstr(end[i].name, "Aggregation Node");
}
