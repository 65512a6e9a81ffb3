/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A header, then one or two results, each a struct counts and its arrays in the order of
 * write_result(). Numbers are little-endian, arrays begin at multiples of 8 bytes, and what lies between is zero.
 */
#include "store/store.h"

#include <osmroutes/check.h>
#include "core/repair/repair.h"
#include "store/bytes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#define VERSION 2
#define ALIGN 8

static const char magic[8] = OSR_STORE_MAGIC;

struct header {
	char magic[8];
	uint32_t version, n_results; /* 1: last alone; 2: the baseline, then last */
	uint64_t size;               /* of all bytes */
	uint64_t key;
	uint64_t body;   /* XXH3 of everything behind the header */
	char engine[16]; /* ends with a zero byte */
	uint64_t hash;   /* XXH3 of the header up to here */
};

enum {
	HAS_SL = 1 << 0,
	HAS_GRANTED = 1 << 1,
	HAS_SL2VL = 1 << 3,
	HAS_RANK = 1 << 4,
	HAS_MCAST = 1 << 5,
	HAS_ALL = HAS_SL | HAS_GRANTED | HAS_SL2VL | HAS_RANK | HAS_MCAST,
};

/* A result begins with this. */
struct counts {
	uint32_t n_switches, n_channels, n_terminals, n_dests;
	uint32_t names_size; /* a string for each switch, then for each terminal */
	uint32_t n_sl2vl;    /* rows of SL2VL tables */
	uint32_t has, claims;
	uint32_t n_longer, n_rounds;
	uint8_t n_vls, n_layers, n_layers_one_way, mcast_vl;
	uint8_t ca_sl2vl[16];
	uint32_t notes_size;
};

static_assert(sizeof(struct header) == OSR_STORE_HEAD && sizeof(struct counts) == 64, "no holes");

/* ---- writing --------------------------------------------------------------------------------- */

/* buf NULL: counts only. */
struct writer {
	uint8_t *buf;
	size_t at;
};

/* Every array begins at a multiple of 8. */
static void pad(struct writer *w)
{
	size_t rest = (ALIGN - w->at % ALIGN) % ALIGN;

	if (w->buf)
		memset(w->buf + w->at, 0, rest);
	w->at += rest;
}

static void store_put(struct writer *w, const void *data, size_t n, size_t size)
{
	if (w->buf)
		memcpy(w->buf + w->at, data, n * size);
	w->at += n * size;
	pad(w);
}

static void put_name(struct writer *w, const char *name)
{
	size_t size = strlen(name) + 1;

	if (w->buf)
		memcpy(w->buf + w->at, name, size);
	w->at += size;
}

static size_t put_names(struct writer *w, const struct osr_fabric *fabric)
{
	size_t start = w->at;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		put_name(w, fabric->names + fabric->sw_name[s]);
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		put_name(w, fabric->names + fabric->term_name[t]);
	return w->at - start;
}

static void write_result(struct writer *w, const struct osr_result *result)
{
	const struct osr_fabric *fabric = &result->fabric;
	const struct osr_routing *routing = &result->routing;
	size_t n = (size_t)fabric->n_dests * fabric->n_switches;
	struct writer names = { NULL, 0 };
	struct counts c = {
		.n_switches = fabric->n_switches,
		.n_channels = fabric->n_channels,
		.n_terminals = fabric->n_terminals,
		.n_dests = fabric->n_dests,
		.names_size = (uint32_t)put_names(&names, fabric),
		.n_sl2vl = routing->sl2vl ? (uint32_t)osr_n_sl2vl(fabric) : 0,
		.has = (routing->sl ? HAS_SL : 0) | (routing->granted ? HAS_GRANTED : 0) |
		       (routing->sl2vl ? HAS_SL2VL : 0) | (routing->rank ? HAS_RANK : 0) |
		       (routing->mcast_parent ? HAS_MCAST : 0),
		.claims = routing->claims,
		.n_longer = routing->n_longer,
		.n_rounds = routing->n_rounds,
		.n_vls = routing->n_vls,
		.n_layers = routing->n_layers,
		.n_layers_one_way = routing->n_layers_one_way,
		.mcast_vl = routing->mcast_vl,
		.notes_size = (uint32_t)routing->notes.size,
	};

	memcpy(c.ca_sl2vl, routing->ca_sl2vl, sizeof(c.ca_sl2vl));
	store_put(w, &c, 1, sizeof(c));
	store_put(w, fabric->sw_guid, fabric->n_switches, sizeof(*fabric->sw_guid));
	store_put(w, fabric->sw_n_ports, fabric->n_switches, 1);
	store_put(w, fabric->sw_flags, fabric->n_switches, 1);
	store_put(w, fabric->chan_src, fabric->n_channels, sizeof(*fabric->chan_src));
	store_put(w, fabric->chan_rev, fabric->n_channels, sizeof(*fabric->chan_rev));
	store_put(w, fabric->chan_rate, fabric->n_channels, sizeof(*fabric->chan_rate));
	store_put(w, fabric->chan_port, fabric->n_channels, 1);
	store_put(w, fabric->chan_vls, fabric->n_channels, 1);
	store_put(w, fabric->chan_flags, fabric->n_channels, 1);
	store_put(w, fabric->term_guid, fabric->n_terminals, sizeof(*fabric->term_guid));
	store_put(w, fabric->term_switch, fabric->n_terminals, sizeof(*fabric->term_switch));
	store_put(w, fabric->term_lid, fabric->n_terminals, sizeof(*fabric->term_lid));
	store_put(w, fabric->term_port, fabric->n_terminals, 1);
	store_put(w, fabric->term_lmc, fabric->n_terminals, 1);
	store_put(w, fabric->term_role, fabric->n_terminals, 1);
	store_put(w, fabric->term_group, fabric->n_terminals, 1);
	put_names(w, fabric);
	pad(w);
	store_put(w, routing->lft, n, 1);
	if (routing->sl)
		store_put(w, routing->sl, n, 1);
	if (routing->granted)
		store_put(w, routing->granted, n, sizeof(*routing->granted));
	if (routing->sl2vl)
		store_put(w, routing->sl2vl, osr_n_sl2vl(fabric), sizeof(*routing->sl2vl));
	if (routing->rank)
		store_put(w, routing->rank, (size_t)routing->n_vls * fabric->n_channels,
			  sizeof(*routing->rank));
	if (routing->mcast_parent)
		store_put(w, routing->mcast_parent, fabric->n_switches,
			  sizeof(*routing->mcast_parent));
	if (routing->notes.size)
		store_put(w, routing->notes.data, routing->notes.size, 1);
}

static void write_results(struct writer *w, const struct osr_result *last)
{
	if (last->baseline)
		write_result(w, last->baseline);
	write_result(w, last);
}

size_t osr_store_size(const struct osr_result *last)
{
	struct writer w = { NULL, sizeof(struct header) };

	if (!osr__little_endian())
		return 0;
	write_results(&w, last);
	return w.at;
}

void osr_store_write(const struct osr_result *last, uint64_t key, void *buf, size_t size)
{
	struct header h = {
		.version = VERSION, .n_results = last->baseline ? 2 : 1, .size = size, .key = key
	};
	struct writer w = { buf, sizeof(h) };

	write_results(&w, last);
	assert(w.at == size);
	memcpy(h.magic, magic, sizeof(magic));
	snprintf(h.engine, sizeof(h.engine), "%s", last->routing.engine);
	h.body = XXH3_64bits((uint8_t *)buf + sizeof(h), size - sizeof(h));
	h.hash = XXH3_64bits(&h, offsetof(struct header, hash));
	memcpy(buf, &h, sizeof(h));
}

uint64_t osr_store_digest(const void *buf)
{
	struct header h;

	memcpy(&h, buf, sizeof(h));
	return h.hash;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
	const char *label;
	const uint8_t *data;
	size_t size, at;
	bool unjudged; /* the caller checks the tables */
	struct osr_diag *diag;
};

static enum osr_status store_damaged(const struct reader *x, const char *what)
{
	return osr_fail(x->diag, OSR_INVAL, "%s: damaged: %s", x->label, what);
}

size_t osr_store_wanted(const void *head)
{
	struct header h;

	memcpy(&h, head, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)) ||
	    XXH3_64bits(&h, offsetof(struct header, hash)) != h.hash || h.size > SIZE_MAX)
		return 0;
	return (size_t)h.size;
}

static enum osr_status read_header(struct reader *x, const char *engine, uint64_t key,
				   struct header *h)
{
	if (!osr__little_endian())
		return osr_fail(x->diag, OSR_INVAL, "%s: only for little-endian machines",
				x->label);
	if (x->size < sizeof(*h))
		return store_damaged(x, "it is cut off");
	memcpy(h, x->data, sizeof(*h));
	x->at = sizeof(*h);
	if (memcmp(h->magic, magic, sizeof(magic)))
		return osr_fail(x->diag, OSR_INVAL, "%s: not a file of stored tables of osmroutes",
				x->label);
	if (h->version != VERSION)
		return osr_fail(x->diag, OSR_INVAL,
				"%s: stored by another version of osmroutes (format %u, not %u)",
				x->label, h->version, VERSION);
	if (XXH3_64bits(h, offsetof(struct header, hash)) != h->hash)
		return store_damaged(x, "its header has a wrong checksum");
	if (h->size != x->size)
		return store_damaged(x, "it is truncated or has trailing data");
	if (h->n_results < 1 || h->n_results > 2)
		return store_damaged(x, "its header is invalid");
	if (XXH3_64bits(x->data + x->at, x->size - x->at) != h->body)
		return store_damaged(x, "it has a wrong checksum");
	if (!memchr(h->engine, 0, sizeof(h->engine)))
		return store_damaged(x, "its engine has no name");
	if (!engine)
		return OSR_OK;
	if (strcmp(h->engine, engine))
		return osr_fail(x->diag, OSR_INVAL, "%s: stored by an engine other than %s",
				x->label, engine);
	if (h->key != key)
		return osr_fail(x->diag, OSR_INVAL, "%s: stored under other options of %s",
				x->label, engine);
	return OSR_OK;
}

/* The next array where it lies, aligned to 8 in a buffer that is; NULL: the bytes end before. */
static const void *store_take(struct reader *x, uint64_t n, size_t size)
{
	const void *p = x->data + x->at;
	uint64_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > x->size - x->at)
		return NULL;
	bytes += (ALIGN - bytes % ALIGN) % ALIGN;
	if (bytes > x->size - x->at)
		return NULL;
	x->at += bytes;
	return p;
}

static enum osr_status store_copy(struct reader *x, struct osr_arena *arena, uint64_t n,
				  size_t size, void *to)
{
	const void *from = store_take(x, n, size);
	void *p;

	if (!from)
		return store_damaged(x, "it ends too early");
	p = osr_alloc(arena, n, size);
	if (osr_arena_failed(arena, x->diag))
		return OSR_NOMEM;
	memcpy(p, from, n * size);
	memcpy(to, &p, sizeof(p));
	return OSR_OK;
}

/* The arrays of a fabric in the bytes. */
struct parts {
	const uint64_t *sw_guid, *term_guid;
	const uint32_t *chan_src, *chan_rev, *term_switch;
	const uint16_t *chan_rate, *term_lid;
	const uint8_t *sw_n_ports, *sw_flags, *chan_port, *chan_vls, *chan_flags;
	const uint8_t *term_port, *term_lmc, *term_role, *term_group;
	const char *names;
};

static bool take_parts(struct reader *x, const struct counts *c, struct parts *p)
{
	uint32_t sw = c->n_switches, chan = c->n_channels, term = c->n_terminals;

	return (p->sw_guid = store_take(x, sw, sizeof(*p->sw_guid))) &&
	       (p->sw_n_ports = store_take(x, sw, 1)) && (p->sw_flags = store_take(x, sw, 1)) &&
	       (p->chan_src = store_take(x, chan, sizeof(*p->chan_src))) &&
	       (p->chan_rev = store_take(x, chan, sizeof(*p->chan_rev))) &&
	       (p->chan_rate = store_take(x, chan, sizeof(*p->chan_rate))) &&
	       (p->chan_port = store_take(x, chan, 1)) && (p->chan_vls = store_take(x, chan, 1)) &&
	       (p->chan_flags = store_take(x, chan, 1)) &&
	       (p->term_guid = store_take(x, term, sizeof(*p->term_guid))) &&
	       (p->term_switch = store_take(x, term, sizeof(*p->term_switch))) &&
	       (p->term_lid = store_take(x, term, sizeof(*p->term_lid))) &&
	       (p->term_port = store_take(x, term, 1)) && (p->term_lmc = store_take(x, term, 1)) &&
	       (p->term_role = store_take(x, term, 1)) &&
	       (p->term_group = store_take(x, term, 1)) &&
	       (p->names = store_take(x, c->names_size, 1));
}

/* Both directions of a cable name each other; each cable is given to the builder once. */
static bool feed_links(struct osr_builder *builder, const struct counts *n, const struct parts *p)
{
	for (uint32_t c = 0; c < n->n_channels; c++) {
		uint32_t rev = p->chan_rev[c];

		if (rev >= n->n_channels || rev == c || p->chan_rev[rev] != c ||
		    p->chan_vls[c] < 1 || p->chan_vls[c] > OSR_MAX_VLS ||
		    p->chan_vls[rev] != p->chan_vls[c] || p->chan_rate[rev] != p->chan_rate[c])
			return false;
		if (c < rev)
			osr_builder_link(builder,
					 &(struct osr_link_in){ .sw_a = p->chan_src[c],
								.sw_b = p->chan_src[rev],
								.port_a = p->chan_port[c],
								.port_b = p->chan_port[rev],
								.vls = p->chan_vls[c],
								.flags_a = p->chan_flags[c],
								.flags_b = p->chan_flags[rev],
								.rate = p->chan_rate[c] });
	}
	return true;
}

/* The string at *at, which then is behind it; NULL: none ends there. */
static const char *next_name(const struct counts *n, const struct parts *p, uint32_t *at)
{
	const char *name = p->names + *at, *end = memchr(name, 0, n->names_size - *at);

	if (end)
		*at = (uint32_t)(end + 1 - p->names);
	return end ? name : NULL;
}

static bool store_feed(struct osr_builder *builder, const struct counts *n, const struct parts *p)
{
	uint32_t at = 0;

	for (uint32_t s = 0; s < n->n_switches; s++) {
		const char *name = next_name(n, p, &at);

		/* Numbers of today's builder are those of the tables only in this order. */
		if (!name || (s && p->sw_guid[s - 1] >= p->sw_guid[s]))
			return false;
		osr_builder_switch(builder, &(struct osr_switch_in){ .guid = p->sw_guid[s],
								     .n_ports = p->sw_n_ports[s],
								     .flags = p->sw_flags[s],
								     .name = name });
	}
	for (uint32_t t = 0; t < n->n_terminals; t++) {
		const char *name = next_name(n, p, &at);

		if (!name || p->term_role[t] > OSR_ROLE_SP0 || p->term_lmc[t] > 7)
			return false;
		osr_builder_terminal(builder, &(struct osr_terminal_in){ .guid = p->term_guid[t],
									 .sw = p->term_switch[t],
									 .port = p->term_port[t],
									 .lmc = p->term_lmc[t],
									 .role = p->term_role[t],
									 .group = p->term_group[t],
									 .lid = p->term_lid[t],
									 .name = name });
	}
	return at == n->names_size && feed_links(builder, n, p);
}

/* Did the builder number channels as the tables do? */
static bool store_same_numbers(const struct osr_fabric *fabric, const struct counts *n,
			       const struct parts *p)
{
	return fabric->n_switches == n->n_switches && fabric->n_channels == n->n_channels &&
	       fabric->n_dests == n->n_dests && fabric->n_terminals == n->n_terminals &&
	       !memcmp(fabric->chan_src, p->chan_src, n->n_channels * sizeof(*p->chan_src)) &&
	       !memcmp(fabric->chan_port, p->chan_port, n->n_channels);
}

static enum osr_status read_fabric(struct reader *x, const struct counts *n,
				   struct osr_arena *arena, struct osr_fabric *fabric)
{
	struct osr_builder *builder;
	struct osr_diag why;
	struct parts p;
	enum osr_status st;
	bool good;

	if (!take_parts(x, n, &p))
		return store_damaged(x, "it ends too early");
	builder = osr_builder_new();
	if (!builder)
		return osr_fail(x->diag, OSR_NOMEM, "%s: out of memory", x->label);
	good = store_feed(builder, n, &p);
	st = good ? osr_builder_build(builder, arena, fabric, &why) : OSR_OK;
	osr_builder_free(builder);
	if (st)
		return osr_fail(x->diag, st, "%s: %.*s", x->label, 300, why.text);
	return good && store_same_numbers(fabric, n, &p)
		       ? OSR_OK
		       : store_damaged(x, "its fabric is invalid");
}

static enum osr_status read_sl2vl(struct reader *x, const struct counts *c,
				  const struct osr_fabric *fabric, struct osr_arena *arena,
				  struct osr_routing *routing)
{
	const void *from;

	if (c->n_sl2vl != osr_n_sl2vl(fabric))
		return store_damaged(x, "its SL2VL tables do not fit the switches");
	from = store_take(x, c->n_sl2vl, sizeof(*routing->sl2vl));
	if (!from)
		return store_damaged(x, "it ends too early");
	if (osr_routing_alloc_sl2vl(routing, fabric, OSR_VL_UNSET, arena, x->diag) ||
	    !routing->sl2vl)
		return OSR_NOMEM;
	memcpy(routing->sl2vl, from, c->n_sl2vl * sizeof(*routing->sl2vl));
	return OSR_OK;
}

/* Everything that is used as an index somewhere. */
static enum osr_status store_check_ranges(const struct reader *x, const struct osr_fabric *fabric,
					  const struct counts *c, const struct osr_routing *routing)
{
	size_t n = (size_t)fabric->n_dests * fabric->n_switches;

	if (c->n_vls < 1 || c->n_vls > OSR_MAX_VLS || c->mcast_vl >= OSR_MAX_VLS ||
	    c->has & ~(uint32_t)HAS_ALL)
		return store_damaged(x, "its counts are invalid");
	if (c->has & HAS_GRANTED && (!(c->has & HAS_SL) || routing->sl2vl))
		return store_damaged(x, "it has SLs of earlier sweeps, but none of the last");
	if (routing->sl && !osr__all_below(routing->sl, n, 16))
		return store_damaged(x, "an SL is above 15");
	if (!osr__all_below(c->ca_sl2vl, sizeof(c->ca_sl2vl), 16) ||
	    (routing->sl2vl &&
	     !osr__all_below(routing->sl2vl[0], c->n_sl2vl * sizeof(*routing->sl2vl), 16)))
		return store_damaged(x, "a VL is above 15");
	for (uint32_t s = 0; routing->mcast_parent && s < fabric->n_switches; s++)
		if (routing->mcast_parent[s] != OSR_NONE &&
		    routing->mcast_parent[s] >= fabric->n_channels)
			return store_damaged(x, "its multicast order is invalid");
	return OSR_OK;
}

static enum osr_status store_read_tables(struct reader *x, const struct counts *c,
					 struct osr_arena *arena, struct osr_result *result)
{
	const struct osr_fabric *fabric = &result->fabric;
	struct osr_routing *routing = &result->routing;
	uint64_t n = (uint64_t)fabric->n_dests * fabric->n_switches;
	enum osr_status st = store_copy(x, arena, n, 1, &routing->lft);

	if (!st && c->has & HAS_SL)
		st = store_copy(x, arena, n, 1, &routing->sl);
	if (!st && c->has & HAS_GRANTED)
		st = store_copy(x, arena, n, sizeof(*routing->granted), &routing->granted);
	if (!st && c->has & HAS_SL2VL)
		st = read_sl2vl(x, c, fabric, arena, routing);
	if (!st && c->has & HAS_RANK)
		st = store_copy(x, arena, (uint64_t)c->n_vls * fabric->n_channels,
				sizeof(*routing->rank), &routing->rank);
	if (!st && c->has & HAS_MCAST)
		st = store_copy(x, arena, fabric->n_switches, sizeof(*routing->mcast_parent),
				&routing->mcast_parent);
	if (!st && c->notes_size) {
		routing->notes.size = c->notes_size;
		st = store_copy(x, arena, c->notes_size, 1, &routing->notes.data);
	}
	return st ? st : store_check_ranges(x, fabric, c, routing);
}

static enum osr_status store_judge(const struct reader *x, struct osr_result *result,
				   struct osr_arena *arena, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint64_t *load = osr_alloc(arena, result->fabric.n_channels, sizeof(*load));
	struct osr_verdict verdict;
	struct osr_diag why;
	enum osr_status st;

	if (osr_arena_failed(arena, x->diag))
		return OSR_NOMEM;
	st = osr_check_loads(&result->fabric, &result->routing, scratch, &verdict, load, &why);
	if (st)
		st = osr_fail(x->diag, st, "%s: %.*s", x->label, 300, why.text);
	osr_arena_reset(scratch, mark);
	result->load = load;
	result->confirmed = false;
	result->digest = osr_routing_digest(&result->fabric, &result->routing);
	return st;
}

static enum osr_status read_result(struct reader *x, const char *engine, struct osr_arena *arena,
				   struct osr_arena *scratch, struct osr_result *result)
{
	const void *p = store_take(x, 1, sizeof(struct counts));
	enum osr_status st;
	struct counts c;

	if (!p)
		return store_damaged(x, "it ends too early");
	memcpy(&c, p, sizeof(c));
	*result = (struct osr_result){ 0 };
	st = read_fabric(x, &c, arena, &result->fabric);
	if (st)
		return st;
	result->routing = (struct osr_routing){ .engine = engine,
						.claims = c.claims,
						.n_switches = c.n_switches,
						.n_dests = c.n_dests,
						.n_channels = c.n_channels,
						.n_vls = c.n_vls,
						.n_layers = c.n_layers,
						.n_layers_one_way = c.n_layers_one_way,
						.mcast_vl = c.mcast_vl,
						.n_longer = c.n_longer,
						.n_rounds = c.n_rounds };
	memcpy(result->routing.ca_sl2vl, c.ca_sl2vl, sizeof(c.ca_sl2vl));
	st = store_read_tables(x, &c, arena, result);
	return st || x->unjudged ? st : store_judge(x, result, arena, scratch);
}

enum osr_status osr_store_read(const void *buf, size_t size, const char *label, const char *engine,
			       uint64_t key, struct osr_arena *last_arena,
			       struct osr_arena *baseline_arena, struct osr_arena *scratch,
			       struct osr_result *last, struct osr_result *baseline,
			       struct osr_diag *diag)
{
	struct reader x = {
		.label = label, .data = buf, .size = size, .unjudged = !engine, .diag = diag
	};
	struct header h;
	enum osr_status st = read_header(&x, engine, key, &h);

	engine = engine ? engine : "stored";
	if (!st && h.n_results == 2)
		st = read_result(&x, engine, baseline_arena, scratch, baseline);
	if (!st)
		st = read_result(&x, engine, last_arena, scratch, last);
	if (!st && x.at != x.size)
		st = store_damaged(&x, "it has trailing data");
	if (st)
		return st;
	last->baseline = h.n_results == 2 ? baseline : NULL;
	if (x.unjudged)
		return OSR_OK;
	return osr_repair_prepare(last->baseline ? baseline : last, scratch,
				  last->baseline ? baseline_arena : last_arena,
				  last->baseline ? &baseline->routing : &last->routing, diag);
}

bool osr_store_fits(const struct osr_result *stored, const struct osr_fabric *fabric,
		    uint32_t *n_known)
{
	const struct osr_fabric *before = &stored->fabric;

	*n_known = 0;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint16_t lid = fabric->dest_lid[d];
		uint32_t old = lid <= before->max_lid ? before->lid_dest[lid] : OSR_NONE;

		*n_known += old != OSR_NONE && before->term_guid[before->dest_term[old]] ==
						       fabric->term_guid[fabric->dest_term[d]];
	}
	return 2 * (uint64_t)*n_known >= fabric->n_dests;
}
