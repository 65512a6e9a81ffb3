/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The builder collects switches, links and terminals in any order and lays them out as the flat
 * arrays of fabric.h. Switches are sorted once, by GUID; everything else falls into order by
 * walking switch after switch and port after port, so no other sort is needed.
 */
#include <osmroutes/fabric.h>

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
	bool nomem;
};

static void *vec_grow(struct osr_builder *b, struct vec *v, size_t n)
{
	if (v->n + n > v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 256;
		void *data;

		while (cap < v->n + n)
			cap *= 2;
		data = realloc(v->data, cap * v->size);
		if (!data) {
			b->nomem = true;
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
static uint32_t add_name(struct osr_builder *b, const char *name)
{
	size_t len = name ? strlen(name) : 0;
	char *p;

	if (len == 0)
		return 0;
	p = vec_grow(b, &b->names, len + 1);
	if (!p)
		return 0;
	memcpy(p, name, len + 1);
	osr_name_clean(p);
	return (uint32_t)(p - (char *)b->names.data);
}

struct osr_builder *osr_builder_new(void)
{
	struct osr_builder *b = calloc(1, sizeof(*b));
	char *empty;

	if (!b)
		return NULL;
	b->switches.size = sizeof(struct switch_rec);
	b->links.size = sizeof(struct osr_link_in);
	b->terminals.size = sizeof(struct terminal_rec);
	b->names.size = 1;
	empty = vec_grow(b, &b->names, 1);
	if (!empty) {
		osr_builder_free(b);
		return NULL;
	}
	*empty = 0;
	return b;
}

void osr_builder_free(struct osr_builder *b)
{
	if (!b)
		return;
	free(b->switches.data);
	free(b->links.data);
	free(b->terminals.data);
	free(b->names.data);
	free(b);
}

uint32_t osr_builder_switch(struct osr_builder *b, const struct osr_switch_in *in)
{
	struct switch_rec *s = vec_grow(b, &b->switches, 1);

	if (!s)
		return OSR_NONE;
	s->in = *in;
	s->name = add_name(b, in->name);
	s->handle = (uint32_t)(b->switches.n - 1);
	return s->handle;
}

void osr_builder_link(struct osr_builder *b, const struct osr_link_in *in)
{
	struct osr_link_in *l = vec_grow(b, &b->links, 1);

	if (l)
		*l = *in;
}

void osr_builder_terminal(struct osr_builder *b, const struct osr_terminal_in *in)
{
	struct terminal_rec *t = vec_grow(b, &b->terminals, 1);

	if (!t)
		return;
	t->in = *in;
	t->name = add_name(b, in->name);
}

/* What hangs on a port while the fabric is laid out. */
struct port_use {
	uint32_t link;     /* or OSR_NONE */
	uint32_t terminal; /* or OSR_NONE */
	uint8_t side;      /* 0: sw_a's side of the link, 1: sw_b's */
};

/* The state of one osr_builder_build(); the arrays it fills become the fabric's. */
struct build {
	const struct osr_builder *b;
	struct osr_arena *arena;
	struct osr_fabric *f;
	struct osr_diag *diag;
	struct switch_rec *sorted; /* [n_switches] by GUID */
	uint32_t *index;           /* handle -> switch */
	uint32_t *port_row;
	struct port_use *use; /* [n_ports] */
};

static int by_guid(const void *a, const void *b)
{
	const struct switch_rec *x = a, *y = b;

	return x->in.guid < y->in.guid ? -1 : x->in.guid > y->in.guid;
}

static const char *builder_name(const struct osr_builder *b, uint32_t name)
{
	return name ? (const char *)b->names.data + name : "(no name)";
}

static enum osr_status nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory while laying out the fabric");
}

static enum osr_status lay_out_switches(struct build *w)
{
	const struct osr_builder *b = w->b;
	uint32_t n = (uint32_t)b->switches.n, at = 0;
	struct osr_fabric *f = w->f;
	uint64_t *guid = osr_alloc(w->arena, n, sizeof(*guid));
	uint8_t *n_ports = osr_alloc(w->arena, n, 1);
	uint8_t *flags = osr_alloc(w->arena, n, 1);
	uint32_t *name = osr_alloc(w->arena, n, sizeof(*name));

	w->port_row = osr_alloc(w->arena, (size_t)n + 1, sizeof(*w->port_row));
	if (!guid || !n_ports || !flags || !name || !w->port_row)
		return nomem(w->diag);
	if (n == 0)
		return osr_fail(w->diag, OSR_INVAL, "the fabric has no switch: nothing to route");

	memcpy(w->sorted, b->switches.data, n * sizeof(*w->sorted));
	qsort(w->sorted, n, sizeof(*w->sorted), by_guid);
	for (uint32_t s = 0; s < n; s++) {
		const struct switch_rec *rec = &w->sorted[s];

		if (s && rec->in.guid == guid[s - 1])
			return osr_fail(w->diag, OSR_INVAL,
					"two switches (\"%s\", \"%s\") have the GUID 0x%016" PRIx64,
					builder_name(b, w->sorted[s - 1].name),
					builder_name(b, rec->name), rec->in.guid);
		if (rec->in.n_ports == 255)
			return osr_fail(w->diag, OSR_INVAL,
					"switch 0x%016" PRIx64
					" has 255 ports, at most 254 are legal",
					rec->in.guid);
		guid[s] = rec->in.guid;
		n_ports[s] = rec->in.n_ports;
		flags[s] = rec->in.flags;
		name[s] = rec->name;
		w->index[rec->handle] = s;
		w->port_row[s] = at;
		at += rec->in.n_ports + 1u;
	}
	w->port_row[n] = at;
	f->n_switches = n;
	f->n_ports = at;
	f->sw_guid = guid;
	f->sw_n_ports = n_ports;
	f->sw_flags = flags;
	f->sw_name = name;
	f->port_row = w->port_row;
	return OSR_OK;
}

/* Finds the free port (handle, port), or says why it cannot be used. */
static enum osr_status claim_port(struct build *w, uint32_t handle, uint32_t port, const char *what,
				  struct port_use **use)
{
	const struct osr_fabric *f = w->f;
	uint32_t s;

	if (handle >= f->n_switches)
		return osr_fail(w->diag, OSR_INVAL, "a %s names switch number %u of %u", what,
				handle, f->n_switches);
	s = w->index[handle];
	if (port > f->sw_n_ports[s])
		return osr_fail(w->diag, OSR_INVAL,
				"a %s uses port %u of switch 0x%016" PRIx64 ", which has %u", what,
				port, f->sw_guid[s], f->sw_n_ports[s]);
	*use = &w->use[w->port_row[s] + port];
	if ((*use)->link != OSR_NONE || (*use)->terminal != OSR_NONE)
		return osr_fail(w->diag, OSR_INVAL,
				"port %u of switch 0x%016" PRIx64 " is connected twice", port,
				f->sw_guid[s]);
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
	struct osr_fabric *f = w->f;
	uint32_t n = 0, c = 0;
	uint32_t *row = osr_alloc(w->arena, (size_t)f->n_switches + 1, sizeof(*row));
	uint32_t *port_chan = osr_alloc(w->arena, f->n_ports, sizeof(*port_chan));
	uint32_t *src, *dst, *rev;
	uint8_t *port, *vls, *flags;
	uint16_t *rate;

	for (uint32_t p = 0; p < f->n_ports; p++)
		n += w->use[p].link != OSR_NONE;
	src = osr_alloc(w->arena, n, sizeof(*src));
	dst = osr_alloc(w->arena, n, sizeof(*dst));
	rev = osr_alloc(w->arena, n, sizeof(*rev));
	port = osr_alloc(w->arena, n, 1);
	vls = osr_alloc(w->arena, n, 1);
	flags = osr_alloc(w->arena, n, 1);
	rate = osr_alloc(w->arena, n, sizeof(*rate));
	if (!row || !port_chan || !src || !dst || !rev || !port || !vls || !flags || !rate)
		return nomem(w->diag);

	for (uint32_t s = 0; s < f->n_switches; s++) {
		row[s] = c;
		for (uint32_t p = w->port_row[s]; p < w->port_row[s + 1]; p++) {
			const struct port_use *use = &w->use[p];
			const struct osr_link_in *l;

			port_chan[p] = use->link == OSR_NONE ? OSR_NONE : c;
			if (use->link == OSR_NONE)
				continue;
			l = &link[use->link];
			src[c] = s;
			dst[c] = w->index[use->side ? l->sw_a : l->sw_b];
			port[c] = (uint8_t)(p - w->port_row[s]);
			rate[c] = l->rate;
			vls[c] = l->vls && l->vls < OSR_MAX_VLS ? l->vls : OSR_MAX_VLS;
			flags[c] = use->side ? l->flags_b : l->flags_a;
			c++;
		}
	}
	row[f->n_switches] = c;
	for (c = 0; c < n; c++) {
		const struct port_use *use = &w->use[w->port_row[src[c]] + port[c]];
		const struct osr_link_in *l = &link[use->link];
		uint8_t far = use->side ? l->port_a : l->port_b;

		rev[c] = port_chan[w->port_row[dst[c]] + far];
	}
	f->n_channels = n;
	f->chan_row = row;
	f->port_chan = port_chan;
	f->chan_src = src;
	f->chan_dst = dst;
	f->chan_rev = rev;
	f->chan_port = port;
	f->chan_rate = rate;
	f->chan_vls = vls;
	f->chan_flags = flags;
	return OSR_OK;
}

static enum osr_status check_lids(struct build *w, const struct terminal_rec *t)
{
	uint32_t n = t->in.lmc <= 7 ? 1u << t->in.lmc : 0;

	if (n == 0)
		return osr_fail(w->diag, OSR_INVAL,
				"end port 0x%016" PRIx64 " (%s) has LMC %u, at most 7 "
				"is legal",
				t->in.guid, builder_name(w->b, t->name), t->in.lmc);
	if (t->in.lid == 0 || (t->in.lid & (n - 1)) || t->in.lid + n - 1 > OSR_MAX_LID)
		return osr_fail(w->diag, OSR_INVAL,
				"end port 0x%016" PRIx64
				" (%s) has base LID %u with LMC %u: not a legal "
				"unicast range",
				t->in.guid, builder_name(w->b, t->name), t->in.lid, t->in.lmc);
	return OSR_OK;
}

static enum osr_status lay_out_terminals(struct build *w)
{
	const struct terminal_rec *rec = w->b->terminals.data;
	uint32_t n = (uint32_t)w->b->terminals.n, t = 0;
	struct osr_fabric *f = w->f;
	uint32_t *row = osr_alloc(w->arena, (size_t)f->n_switches + 1, sizeof(*row));
	uint32_t *sources = osr_calloc(w->arena, f->n_switches, sizeof(*sources));
	uint32_t *sw = osr_alloc(w->arena, n, sizeof(*sw));
	uint32_t *weight = osr_alloc(w->arena, n, sizeof(*weight));
	uint32_t *name = osr_alloc(w->arena, n, sizeof(*name));
	uint64_t *guid = osr_alloc(w->arena, n, sizeof(*guid));
	uint16_t *lid = osr_alloc(w->arena, n, sizeof(*lid));
	uint8_t *port = osr_alloc(w->arena, n, 1);
	uint8_t *lmc = osr_alloc(w->arena, n, 1);
	uint8_t *role = osr_alloc(w->arena, n, 1);
	uint8_t *group = osr_alloc(w->arena, n, 1);

	if (!row || !sources || !sw || !weight || !name || !guid || !lid || !port || !lmc ||
	    !role || !group)
		return nomem(w->diag);
	f->max_lid = 0;
	f->n_dests = 0;
	for (uint32_t s = 0; s < f->n_switches; s++) {
		row[s] = t;
		for (uint32_t p = w->port_row[s]; p < w->port_row[s + 1]; p++) {
			const struct terminal_rec *r;
			enum osr_status st;

			if (w->use[p].terminal == OSR_NONE)
				continue;
			r = &rec[w->use[p].terminal];
			st = check_lids(w, r);
			if (st)
				return st;
			sw[t] = s;
			port[t] = r->in.port;
			lmc[t] = r->in.lmc;
			role[t] = r->in.role;
			group[t] = r->in.group;
			weight[t] = r->in.role == OSR_ROLE_SP0 ? 0 : 1;
			lid[t] = r->in.lid;
			guid[t] = r->in.guid;
			name[t] = r->name;
			sources[s] += weight[t];
			f->n_dests += 1u << r->in.lmc;
			if (f->max_lid < r->in.lid + (1u << r->in.lmc) - 1)
				f->max_lid = r->in.lid + (1u << r->in.lmc) - 1;
			t++;
		}
	}
	row[f->n_switches] = t;
	f->n_terminals = t;
	f->sw_sources = sources;
	f->term_row = row;
	f->term_switch = sw;
	f->term_port = port;
	f->term_lmc = lmc;
	f->term_role = role;
	f->term_group = group;
	f->term_weight = weight;
	f->term_lid = lid;
	f->term_guid = guid;
	f->term_name = name;
	return OSR_OK;
}

static enum osr_status lay_out_dests(struct build *w)
{
	struct osr_fabric *f = w->f;
	uint32_t *lid_dest = osr_alloc(w->arena, (size_t)f->max_lid + 1, sizeof(*lid_dest));
	uint16_t *lid = osr_alloc(w->arena, f->n_dests, sizeof(*lid));
	uint32_t *term = osr_alloc(w->arena, f->n_dests, sizeof(*term));
	uint32_t *sw = osr_alloc(w->arena, f->n_dests, sizeof(*sw));
	uint32_t d = 0;

	if (!lid_dest || !lid || !term || !sw)
		return nomem(w->diag);
	memset(lid_dest, 0xff, ((size_t)f->max_lid + 1) * sizeof(*lid_dest));
	for (uint32_t t = 0; t < f->n_terminals; t++) {
		for (uint32_t i = 0; i < 1u << f->term_lmc[t]; i++) {
			uint32_t *owner = &lid_dest[f->term_lid[t] + i];

			if (*owner != OSR_NONE)
				return osr_fail(w->diag, OSR_INVAL,
						"LID %u belongs to two end ports, 0x%016" PRIx64
						" and 0x%016" PRIx64,
						f->term_lid[t] + i, f->term_guid[*owner],
						f->term_guid[t]);
			*owner = t;
		}
	}
	/* lid_dest holds terminals up to here; walking the LIDs upwards turns them into dests. */
	for (uint32_t l = 0; l <= f->max_lid; l++) {
		if (lid_dest[l] == OSR_NONE)
			continue;
		lid[d] = (uint16_t)l;
		term[d] = lid_dest[l];
		sw[d] = f->term_switch[lid_dest[l]];
		lid_dest[l] = d++;
	}
	f->lid_dest = lid_dest;
	f->dest_lid = lid;
	f->dest_term = term;
	f->dest_switch = sw;
	return OSR_OK;
}

static enum osr_status find_components(struct build *w)
{
	struct osr_fabric *f = w->f;
	uint32_t *component = osr_alloc(w->arena, f->n_switches, sizeof(*component));
	uint32_t *queue = w->index; /* handles are no longer needed */

	if (!component)
		return nomem(w->diag);
	memset(component, 0xff, f->n_switches * sizeof(*component));
	f->n_components = 0;
	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t head = 0, tail = 0;

		if (component[s] != OSR_NONE)
			continue;
		component[s] = f->n_components;
		queue[tail++] = s;
		while (head < tail) {
			uint32_t v = queue[head++];

			for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
				uint32_t u = f->chan_dst[c];

				if (component[u] != OSR_NONE)
					continue;
				component[u] = f->n_components;
				queue[tail++] = u;
			}
		}
		f->n_components++;
	}
	f->sw_component = component;
	return OSR_OK;
}

static enum osr_status build(struct build *w)
{
	size_t names_size = w->b->names.n;
	enum osr_status st;
	char *names;

	if ((st = lay_out_switches(w)))
		return st;
	w->use = malloc(w->f->n_ports * sizeof(*w->use));
	if (!w->use)
		return nomem(w->diag);
	if ((st = claim_ports(w)) || (st = lay_out_channels(w)) || (st = lay_out_terminals(w)) ||
	    (st = lay_out_dests(w)) || (st = find_components(w)))
		return st;
	names = osr_alloc(w->arena, names_size, 1);
	if (!names)
		return nomem(w->diag);
	w->f->names = memcpy(names, w->b->names.data, names_size);
	return OSR_OK;
}

enum osr_status osr_builder_build(struct osr_builder *b, struct osr_arena *arena,
				  struct osr_fabric *fabric, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(arena);
	struct build w = { .b = b, .arena = arena, .f = fabric, .diag = diag };
	enum osr_status st;

	memset(fabric, 0, sizeof(*fabric));
	if (!b || b->nomem)
		return nomem(diag);
	w.sorted = malloc((b->switches.n + 1) * sizeof(*w.sorted));
	w.index = malloc((b->switches.n + 1) * sizeof(*w.index));
	st = w.sorted && w.index ? build(&w) : nomem(diag);
	free(w.sorted);
	free(w.index);
	free(w.use);
	if (st) {
		osr_arena_reset(arena, mark);
		memset(fabric, 0, sizeof(*fabric));
	}
	return st;
}

uint32_t osr_fabric_switch_by_guid(const struct osr_fabric *f, uint64_t guid)
{
	uint32_t lo = 0, hi = f->n_switches;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->sw_guid[mid] < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->n_switches && f->sw_guid[lo] == guid ? lo : OSR_NONE;
}

static const char *name_or_guid(const struct osr_fabric *f, uint32_t name, uint64_t guid,
				char buf[32])
{
	if (name)
		return f->names + name;
	snprintf(buf, 32, "0x%016" PRIx64, guid);
	return buf;
}

const char *osr_switch_name(const struct osr_fabric *f, uint32_t sw, char buf[32])
{
	return name_or_guid(f, f->sw_name[sw], f->sw_guid[sw], buf);
}

const char *osr_terminal_name(const struct osr_fabric *f, uint32_t term, char buf[32])
{
	return name_or_guid(f, f->term_name[term], f->term_guid[term], buf);
}
