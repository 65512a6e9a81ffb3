/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A header, then one or two results, each a struct counts and its arrays in the order of
 * write_result(). Numbers are little-endian, arrays begin at multiples of 8 bytes, and what lies between is zero.
 */
#include "store/store.h"

#include <osmroutes/check.h>
#include "core/repair/repair.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#define VERSION 3
#define ALIGN 8

static const char magic[8] = OSR_STORE_MAGIC;

static bool is_little_endian(void)
{
	const uint16_t one = 1;

	return *(const uint8_t *)&one == 1;
}

static bool all_below(const uint8_t *list, uint64_t n, uint8_t limit)
{
	uint8_t most = 0;

	for (uint64_t i = 0; i < n; i++)
		most = list[i] > most ? list[i] : most;
	return n == 0 || most < limit;
}

struct header {
	char magic[8];
	uint32_t version, n_results; /* 1: last alone; 2: the baseline, then last */
	uint64_t size;               /* of all bytes */
	uint64_t key;
	uint64_t body;   /* XXH3 of everything behind the header */
	char engine[16]; /* ends with a zero byte */
	uint64_t hash;   /* XXH3 of the header up to here */
};

/* A result begins with this. */
struct counts {
	uint32_t n_switches, n_channels, n_terminals, n_dests;
	uint32_t names_size; /* a string for each switch, then for each terminal */
	uint32_t n_sl2vl;    /* rows of SL2VL tables */
	uint16_t has;
	uint8_t n_planes, n_vls_tried; /* 0: not known, or one LID a port; not known */
	uint32_t claims;
	uint32_t n_longer, drift;
	uint8_t n_vls, n_layers, n_layers_one_way, mcast_vl;
	uint8_t ca_sl2vl[16];
	uint32_t notes_size;
};

static_assert(sizeof(struct header) == OSR_STORE_HEAD && sizeof(struct counts) == 64, "no holes");

/* The arrays of a fabric or of a routing, in the order in which they are stored. */
enum {
	ALWAYS,
	HAS_SL = 1 << 0,
	HAS_GRANTED = 1 << 1,
	HAS_SL2VL = 1 << 3,
	HAS_RANK = 1 << 4,
	HAS_MCAST = 1 << 5,
	HAS_PLANES = 1 << 6,
	HAS_ALL = HAS_SL | HAS_GRANTED | HAS_SL2VL | HAS_RANK | HAS_MCAST | HAS_PLANES
};
enum { SWITCHES, CHANNELS, TERMINALS, DESTS, ENTRIES, SL2VL, RANKS, PLANES, NOTES, N_LENGTHS };

struct part {
	size_t at; /* of the pointer in its struct */
	size_t size;
	uint8_t length; /* which one */
	uint8_t has;    /* bit of counts.has if it may be missing */
};

static const struct part fabric_parts[] = {
#define PART(member, length)                                                                       \
	{                                                                                          \
		offsetof(struct osr_fabric, member), sizeof(*((struct osr_fabric *)0)->member),    \
			length, ALWAYS                                                             \
	}
	PART(sw_guid, SWITCHES),    PART(sw_n_ports, SWITCHES),   PART(sw_flags, SWITCHES),
	PART(chan_src, CHANNELS),   PART(chan_rev, CHANNELS),     PART(chan_rate, CHANNELS),
	PART(chan_port, CHANNELS),  PART(chan_vls, CHANNELS),     PART(chan_flags, CHANNELS),
	PART(term_guid, TERMINALS), PART(term_switch, TERMINALS), PART(term_lid, TERMINALS),
	PART(term_port, TERMINALS), PART(term_lmc, TERMINALS),    PART(term_role, TERMINALS),
	PART(term_group, TERMINALS)
#undef PART
};

static const struct part routing_parts[] = {
#define PART(member, length, has)                                                                  \
	{                                                                                          \
		offsetof(struct osr_routing, member), sizeof(*((struct osr_routing *)0)->member),  \
			length, has                                                                \
	}
	PART(lft, ENTRIES, ALWAYS),
	PART(sl, ENTRIES, HAS_SL),
	PART(granted, ENTRIES, HAS_GRANTED),
	PART(sl2vl, SL2VL, HAS_SL2VL),
	PART(rank, RANKS, HAS_RANK),
	PART(mcast_parent, SWITCHES, HAS_MCAST),
	PART(planes.kind, PLANES, HAS_PLANES),
	PART(planes.tree_of, DESTS, HAS_PLANES),
	{ offsetof(struct osr_routing, notes.data), 1, NOTES, ALWAYS }
#undef PART
};

#define N_PARTS(parts) (sizeof(parts) / sizeof((parts)[0]))

static uint64_t length_of(const struct counts *c, unsigned length)
{
	const uint64_t n[N_LENGTHS] = {
		[SWITCHES] = c->n_switches,   [CHANNELS] = c->n_channels,
		[TERMINALS] = c->n_terminals, [DESTS] = c->n_dests,
		[PLANES] = c->n_planes,       [ENTRIES] = (uint64_t)c->n_dests * c->n_switches,
		[SL2VL] = c->n_sl2vl,         [RANKS] = (uint64_t)c->n_vls * c->n_channels,
		[NOTES] = c->notes_size
	};

	return n[length];
}

/* The array of this part; NULL: there is none. */
static const void *part_of(const void *whole, const struct part *part)
{
	const void *p;

	memcpy(&p, (const char *)whole + part->at, sizeof(p));
	return p;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* buf NULL: counts only. */
struct writer {
	uint8_t *buf;
	size_t at;
};

static void store_put(struct writer *w, const void *data, size_t size)
{
	if (w->buf && size)
		memcpy(w->buf + w->at, data, size);
	w->at += size;
}

/* Every array begins at a multiple of 8. */
static void store_pad(struct writer *w)
{
	static const uint8_t zero[ALIGN];

	store_put(w, zero, (ALIGN - w->at % ALIGN) % ALIGN);
}

static void put_parts(struct writer *w, const struct counts *c, const void *whole,
		      const struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (parts[i].has & ~c->has)
			continue;
		store_put(w, part_of(whole, &parts[i]),
			  length_of(c, parts[i].length) * parts[i].size);
		store_pad(w);
	}
}

static size_t put_names(struct writer *w, const struct osr_fabric *fabric)
{
	size_t start = w->at;

	for (uint32_t i = 0; i < fabric->n_switches + fabric->n_terminals; i++) {
		const char *name =
			fabric->names + (i < fabric->n_switches
						 ? fabric->sw_name[i]
						 : fabric->term_name[i - fabric->n_switches]);

		store_put(w, name, strlen(name) + 1);
	}
	return w->at - start;
}

static void write_result(struct writer *w, const struct osr_result *result)
{
	const struct osr_fabric *fabric = &result->fabric;
	const struct osr_routing *routing = &result->routing;
	struct writer names = { NULL, 0 };
	struct counts c = { .n_switches = fabric->n_switches,
			    .n_channels = fabric->n_channels,
			    .n_terminals = fabric->n_terminals,
			    .n_dests = fabric->n_dests,
			    .names_size = (uint32_t)put_names(&names, fabric),
			    .n_planes = (uint8_t)routing->planes.n,
			    .n_vls_tried = routing->n_vls_tried,
			    .n_sl2vl = routing->sl2vl ? (uint32_t)osr_n_sl2vl(fabric) : 0,
			    .claims = routing->claims,
			    .n_longer = routing->n_longer,
			    .drift = routing->stable.drift,
			    .n_vls = routing->n_vls,
			    .n_layers = routing->n_layers,
			    .n_layers_one_way = routing->n_layers_one_way,
			    .mcast_vl = routing->mcast_vl,
			    .notes_size = (uint32_t)routing->notes.size };

	memcpy(c.ca_sl2vl, routing->ca_sl2vl, sizeof(c.ca_sl2vl));
	for (size_t i = 0; i < N_PARTS(routing_parts); i++)
		c.has |= part_of(routing, &routing_parts[i]) ? routing_parts[i].has : ALWAYS;
	store_put(w, &c, sizeof(c));
	put_parts(w, &c, fabric, fabric_parts, N_PARTS(fabric_parts));
	put_names(w, fabric);
	store_pad(w);
	put_parts(w, &c, routing, routing_parts, N_PARTS(routing_parts));
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

	if (!is_little_endian())
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
	if (!is_little_endian())
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

/* The arrays where they lie. False: the bytes end before. */
static bool take_parts(struct reader *x, const struct counts *c, void *whole,
		       const struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool has = !(parts[i].has & ~c->has);
		uint64_t n_items = has ? length_of(c, parts[i].length) : 0;
		const void *p = store_take(x, n_items, parts[i].size);

		if (!p)
			return false;
		p = has ? p : NULL;
		memcpy((char *)whole + parts[i].at, &p, sizeof(p));
	}
	return true;
}

/* The string at *name, which then is behind it; NULL: none ends before `end`. */
static const char *next_name(const char **name, const char *end)
{
	const char *is = *name, *zero = memchr(is, 0, (size_t)(end - is));

	*name = zero ? zero + 1 : is;
	return zero ? is : NULL;
}

/* The arrays of a fabric, and names, to the builder; each cable once, for both directions name each other. */
static bool store_feed(struct osr_builder *builder, const struct osr_fabric *is, const char *name,
		       const char *end)
{
	for (uint32_t s = 0; s < is->n_switches; s++) {
		const struct osr_switch_in in = { .guid = is->sw_guid[s],
						  .n_ports = is->sw_n_ports[s],
						  .flags = is->sw_flags[s],
						  .name = next_name(&name, end) };

		/* Numbers of today's builder are those of the tables only in this order. */
		if (!in.name || (s && is->sw_guid[s - 1] >= in.guid))
			return false;
		osr_builder_switch(builder, &in);
	}
	for (uint32_t t = 0; t < is->n_terminals; t++) {
		const struct osr_terminal_in in = { .guid = is->term_guid[t],
						    .sw = is->term_switch[t],
						    .port = is->term_port[t],
						    .lmc = is->term_lmc[t],
						    .role = is->term_role[t],
						    .group = is->term_group[t],
						    .lid = is->term_lid[t],
						    .name = next_name(&name, end) };

		if (!in.name || in.role > OSR_ROLE_SP0 || in.lmc > 7)
			return false;
		osr_builder_terminal(builder, &in);
	}
	for (uint32_t c = 0; c < is->n_channels; c++) {
		uint32_t rev = is->chan_rev[c];

		if (rev >= is->n_channels || rev == c || is->chan_rev[rev] != c ||
		    is->chan_vls[c] < 1 || is->chan_vls[c] > OSR_MAX_VLS ||
		    is->chan_vls[rev] != is->chan_vls[c] || is->chan_rate[rev] != is->chan_rate[c])
			return false;
		if (c < rev)
			osr_builder_link(builder,
					 &(struct osr_link_in){ .sw_a = is->chan_src[c],
								.sw_b = is->chan_src[rev],
								.port_a = is->chan_port[c],
								.port_b = is->chan_port[rev],
								.vls = is->chan_vls[c],
								.flags_a = is->chan_flags[c],
								.flags_b = is->chan_flags[rev],
								.rate = is->chan_rate[c] });
	}
	return name == end;
}

static enum osr_status read_fabric(struct reader *x, const struct counts *c,
				   struct osr_arena *arena, struct osr_fabric *fabric)
{
	struct osr_fabric is = { .n_switches = c->n_switches,
				 .n_channels = c->n_channels,
				 .n_terminals = c->n_terminals,
				 .n_dests = c->n_dests };
	struct osr_builder *builder;
	struct osr_diag why;
	const char *names;
	enum osr_status st;
	bool good;

	if (!take_parts(x, c, &is, fabric_parts, N_PARTS(fabric_parts)) ||
	    !(names = store_take(x, c->names_size, 1)))
		return store_damaged(x, "it ends too early");
	builder = osr_builder_new();
	if (!builder)
		return osr_fail(x->diag, OSR_NOMEM, "%s: out of memory", x->label);
	good = store_feed(builder, &is, names, names + c->names_size);
	st = good ? osr_builder_build(builder, arena, fabric, &why) : OSR_OK;
	osr_builder_free(builder);
	if (st)
		return osr_fail(x->diag, st, "%s: %.*s", x->label, 300, why.text);
	/* Did the builder number channels as the tables do? */
	good = good && fabric->n_switches == is.n_switches && fabric->n_channels == is.n_channels &&
	       fabric->n_dests == is.n_dests && fabric->n_terminals == is.n_terminals &&
	       !memcmp(fabric->chan_src, is.chan_src, is.n_channels * sizeof(*is.chan_src)) &&
	       !memcmp(fabric->chan_port, is.chan_port, is.n_channels);
	return good ? OSR_OK : store_damaged(x, "its fabric is invalid");
}

/* Is each LID in the tree of a first LID at the same switch, or in one of its own? */
static bool store_planes_fit(const struct osr_fabric *fabric, const struct osr_planes *planes)
{
	const uint32_t *tree_of = planes->tree_of;

	if (!planes->n)
		return true;
	if (planes->n != osr_planes_count(fabric) ||
	    !all_below(planes->kind, planes->n, OSR_PLANE_REVERSE + 1))
		return false;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		if (tree_of[d] >= fabric->n_dests ||
		    fabric->dest_switch[tree_of[d]] != fabric->dest_switch[d] ||
		    (tree_of[d] != d && osr_plane_of(fabric, tree_of[d])) ||
		    (tree_of[d] != d && !osr_plane_of(fabric, d)))
			return false;
	return true;
}

static enum osr_status store_read_tables(struct reader *x, const struct counts *c,
					 struct osr_arena *arena, struct osr_result *result)
{
	const struct osr_fabric *fabric = &result->fabric;
	struct osr_routing *routing = &result->routing;
	const osr_sl2vl_t *rows;

	if (!take_parts(x, c, routing, routing_parts, N_PARTS(routing_parts)))
		return store_damaged(x, "it ends too early");
	if (routing->sl2vl && c->n_sl2vl != osr_n_sl2vl(fabric))
		return store_damaged(x, "its SL2VL tables do not fit the switches");
	for (size_t i = 0; i < N_PARTS(routing_parts); i++) {
		const void *from = part_of(routing, &routing_parts[i]);
		size_t n = length_of(c, routing_parts[i].length);
		void *p = from ? osr_alloc(arena, n, routing_parts[i].size) : NULL;

		if (p)
			memcpy(p, from, n * routing_parts[i].size);
		memcpy((char *)routing + routing_parts[i].at, &p, sizeof(p));
	}
	rows = (const osr_sl2vl_t *)routing->sl2vl;
	if (rows && !osr_routing_alloc_sl2vl(routing, fabric, OSR_VL_UNSET, arena, x->diag))
		memcpy(routing->sl2vl, rows, c->n_sl2vl * sizeof(*rows));
	if (osr_arena_failed(arena, x->diag))
		return OSR_NOMEM;
	routing->notes.size = c->notes_size;
	routing->planes.n = c->n_planes;
	/* Everything that is used as an index somewhere. */
	if (c->n_vls < 1 || c->n_vls > OSR_MAX_VLS || c->mcast_vl >= OSR_MAX_VLS ||
	    c->has & ~HAS_ALL || (c->n_planes != 0) != ((c->has & HAS_PLANES) != 0))
		return store_damaged(x, "its counts are invalid");
	if (c->has & HAS_GRANTED && (!(c->has & HAS_SL) || routing->sl2vl))
		return store_damaged(x, "it has SLs of earlier sweeps, but none of the last");
	if (routing->sl &&
	    !all_below(routing->sl, (size_t)fabric->n_dests * fabric->n_switches, 16))
		return store_damaged(x, "an SL is above 15");
	if (!all_below(c->ca_sl2vl, sizeof(c->ca_sl2vl), 16) ||
	    (routing->sl2vl &&
	     !all_below(routing->sl2vl[0], c->n_sl2vl * sizeof(*routing->sl2vl), 16)))
		return store_damaged(x, "a VL is above 15");
	for (uint32_t s = 0; routing->mcast_parent && s < fabric->n_switches; s++)
		if (routing->mcast_parent[s] != OSR_NONE &&
		    routing->mcast_parent[s] >= fabric->n_channels)
			return store_damaged(x, "its multicast order is invalid");
	return store_planes_fit(fabric, &routing->planes)
		       ? OSR_OK
		       : store_damaged(x, "its planes of LIDs are invalid");
}

static enum osr_status read_result(struct reader *x, const char *engine, struct osr_arena *arena,
				   struct osr_arena *scratch, struct osr_result *result)
{
	const void *p = store_take(x, 1, sizeof(struct counts));
	struct osr_checked checked;
	struct osr_diag why;
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
						.n_vls_tried = c.n_vls_tried,
						.n_layers = c.n_layers,
						.n_layers_one_way = c.n_layers_one_way,
						.mcast_vl = c.mcast_vl,
						.n_longer = c.n_longer,
						.stable.drift = c.drift };
	memcpy(result->routing.ca_sl2vl, c.ca_sl2vl, sizeof(c.ca_sl2vl));
	st = store_read_tables(x, &c, arena, result);
	if (st || x->unjudged)
		return st;
	st = osr_check_keep(&result->fabric, &result->routing, arena, scratch, &checked, &why);
	if (st)
		return osr_fail(x->diag, st, "%s: %.*s", x->label, 300, why.text);
	result->load = checked.load;
	result->confirmed = false;
	result->digest = checked.digest;
	return OSR_OK;
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
