/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A header, then one or two results, each a struct counts and its arrays in the order of
 * write_result(). Numbers are little-endian, arrays begin at multiples of 8 bytes, with zeros in
 * between.
 */
#include "store/store.h"

#include <osmroutes/invariant.h>
#include <osmroutes/check.h>
#include "core/repair/repair.h"

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

_Static_assert(sizeof(struct header) == OSR_STORE_HEAD && sizeof(struct counts) == 64, "no holes");

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

static uint64_t length_of(const struct counts *counts, unsigned length)
{
	const uint64_t n[N_LENGTHS] = { [SWITCHES] = counts->n_switches,
					[CHANNELS] = counts->n_channels,
					[TERMINALS] = counts->n_terminals,
					[DESTS] = counts->n_dests,
					[PLANES] = counts->n_planes,
					[ENTRIES] = (uint64_t)counts->n_dests * counts->n_switches,
					[SL2VL] = counts->n_sl2vl,
					[RANKS] = (uint64_t)counts->n_vls * counts->n_channels,
					[NOTES] = counts->notes_size };

	osr_invariant(length < N_LENGTHS);
	return n[length];
}

/* The array of this part; NULL: the struct has none. */
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

static void store_put(struct writer *writer, const void *data, size_t size)
{
	osr_invariant(data || !size);
	if (writer->buf && size)
		memcpy(writer->buf + writer->at, data, size);
	writer->at += size;
}

/* Every array begins at a multiple of 8. */
static void store_pad(struct writer *writer)
{
	static const uint8_t zero[ALIGN];

	store_put(writer, zero, (ALIGN - writer->at % ALIGN) % ALIGN);
}

static void put_parts(struct writer *writer, const struct counts *counts, const void *whole,
		      const struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (parts[i].has & ~counts->has)
			continue;
		osr_invariant(writer->at % ALIGN == 0);
		store_put(writer, part_of(whole, &parts[i]),
			  length_of(counts, parts[i].length) * parts[i].size);
		store_pad(writer);
	}
}

static size_t put_names(struct writer *writer, const struct osr_fabric *fabric)
{
	size_t start = writer->at;

	for (uint32_t i = 0; i < fabric->n_switches + fabric->n_terminals; i++) {
		const char *name =
			fabric->names + (i < fabric->n_switches
						 ? fabric->sw_name[i]
						 : fabric->term_name[i - fabric->n_switches]);

		store_put(writer, name, strlen(name) + 1);
	}
	return writer->at - start;
}

static void write_result(struct writer *writer, const struct osr_result *result)
{
	const struct osr_fabric *fabric = &result->fabric;
	const struct osr_routing *routing = &result->routing;
	struct writer names = { NULL, 0 };
	struct counts counts = { .n_switches = fabric->n_switches,
				 .n_channels = fabric->n_channels,
				 .n_terminals = fabric->n_terminals,
				 .n_dests = fabric->n_dests,
				 .names_size = put_names(&names, fabric),
				 .n_planes = routing->planes.n,
				 .n_vls_tried = routing->n_vls_tried,
				 .n_sl2vl = routing->sl2vl ? osr_n_sl2vl(fabric) : 0,
				 .claims = routing->claims,
				 .n_longer = routing->n_longer,
				 .drift = routing->stable.drift,
				 .n_vls = routing->n_vls,
				 .n_layers = routing->n_layers,
				 .n_layers_one_way = routing->n_layers_one_way,
				 .mcast_vl = routing->mcast_vl,
				 .notes_size = routing->notes.size };

	memcpy(counts.ca_sl2vl, routing->ca_sl2vl, sizeof(counts.ca_sl2vl));
	for (size_t i = 0; i < N_PARTS(routing_parts); i++)
		counts.has |= part_of(routing, &routing_parts[i]) ? routing_parts[i].has : ALWAYS;
	osr_invariant(!(counts.has & ~HAS_ALL));
	store_put(writer, &counts, sizeof(counts));
	put_parts(writer, &counts, fabric, fabric_parts, N_PARTS(fabric_parts));
	put_names(writer, fabric);
	store_pad(writer);
	put_parts(writer, &counts, routing, routing_parts, N_PARTS(routing_parts));
}

static void write_results(struct writer *writer, const struct osr_result *last)
{
	if (last->baseline)
		write_result(writer, last->baseline);
	write_result(writer, last);
}

size_t osr_store_size(const struct osr_result *last)
{
	struct writer writer = { NULL, sizeof(struct header) };

	if (!is_little_endian())
		return 0;
	write_results(&writer, last);
	return writer.at;
}

void osr_store_write(const struct osr_result *last, uint64_t key, void *buf, size_t size)
{
	struct header header = {
		.version = VERSION, .n_results = last->baseline ? 2 : 1, .size = size, .key = key
	};
	struct writer writer = { buf, sizeof(header) };

	write_results(&writer, last);
	osr_invariant(writer.at == size);
	memcpy(header.magic, magic, sizeof(magic));
	snprintf(header.engine, sizeof(header.engine), "%s", last->routing.engine);
	header.body = XXH3_64bits((uint8_t *)buf + sizeof(header), size - sizeof(header));
	header.hash = XXH3_64bits(&header, offsetof(struct header, hash));
	memcpy(buf, &header, sizeof(header));
}

uint64_t osr_store_digest(const void *buf)
{
	struct header header;

	memcpy(&header, buf, sizeof(header));
	osr_invariant(!memcmp(header.magic, magic, sizeof(magic)));
	return header.hash;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
	const char *label;
	const uint8_t *data;
	size_t size, at;
	bool unjudged; /* the caller checks the tables */
	struct osr_diag *diag;
};

static enum osr_status store_damaged(const struct reader *reader, const char *what)
{
	return osr_fail(reader->diag, OSR_INVAL, "%s: damaged: %s", reader->label, what);
}

size_t osr_store_wanted(const void *head)
{
	struct header header;

	memcpy(&header, head, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(magic)) ||
	    XXH3_64bits(&header, offsetof(struct header, hash)) != header.hash ||
	    header.size > SIZE_MAX)
		return 0;
	return (size_t)header.size;
}

static enum osr_status read_header(struct reader *reader, const char *engine, uint64_t key,
				   struct header *header)
{
	if (!is_little_endian())
		return osr_fail(reader->diag, OSR_INVAL, "%s: only for little-endian machines",
				reader->label);
	if (reader->size < sizeof(*header))
		return store_damaged(reader, "it is cut off");
	memcpy(header, reader->data, sizeof(*header));
	reader->at = sizeof(*header);
	if (memcmp(header->magic, magic, sizeof(magic)))
		return osr_fail(reader->diag, OSR_INVAL,
				"%s: not a file of stored tables of osmroutes", reader->label);
	if (header->version != VERSION)
		return osr_fail(reader->diag, OSR_INVAL,
				"%s: stored by another version of osmroutes (format %u, not %u)",
				reader->label, header->version, VERSION);
	if (XXH3_64bits(header, offsetof(struct header, hash)) != header->hash)
		return store_damaged(reader, "its header has a wrong checksum");
	if (header->size != reader->size)
		return store_damaged(reader, "it is truncated or has trailing data");
	if (header->n_results < 1 || header->n_results > 2)
		return store_damaged(reader, "its header is invalid");
	if (XXH3_64bits(reader->data + reader->at, reader->size - reader->at) != header->body)
		return store_damaged(reader, "it has a wrong checksum");
	if (!memchr(header->engine, 0, sizeof(header->engine)))
		return store_damaged(reader, "its engine has no name");
	if (!engine)
		return OSR_OK;
	if (strcmp(header->engine, engine))
		return osr_fail(reader->diag, OSR_INVAL, "%s: stored by an engine other than %s",
				reader->label, engine);
	if (header->key != key)
		return osr_fail(reader->diag, OSR_INVAL, "%s: stored under other options of %s",
				reader->label, engine);
	return OSR_OK;
}

/* The next array where it lies, aligned to 8 in a buffer that is; NULL: the bytes end before. */
static const void *store_take(struct reader *reader, uint64_t n, size_t size)
{
	const void *p = reader->data + reader->at;
	uint64_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > reader->size - reader->at)
		return NULL;
	bytes += (ALIGN - bytes % ALIGN) % ALIGN;
	if (bytes > reader->size - reader->at)
		return NULL;
	osr_invariant(reader->at % ALIGN == 0 && reader->at + bytes <= reader->size);
	reader->at += bytes;
	return p;
}

/* The arrays where they lie. False: the bytes end before. */
static bool take_parts(struct reader *reader, const struct counts *counts, void *whole,
		       const struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool has = !(parts[i].has & ~counts->has);
		uint64_t n_items = has ? length_of(counts, parts[i].length) : 0;
		const void *p = store_take(reader, n_items, parts[i].size);

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

	osr_invariant(is <= end);
	*name = zero ? zero + 1 : is;
	return zero ? is : NULL;
}

/*
 * The arrays of a fabric, and names, to the builder; each cable once, for both directions name each
 * other.
 */
static bool store_feed(struct osr_builder *builder, const struct osr_fabric *is, const char *name,
		       const char *end)
{
	for (uint32_t s = 0; s < is->n_switches; s++) {
		const struct osr_switch_in in = { .guid = is->sw_guid[s],
						  .n_ports = is->sw_n_ports[s],
						  .flags = is->sw_flags[s],
						  .name = next_name(&name, end) };

		/* The present builder gives the numbers of the tables only in this order. */
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

static enum osr_status read_fabric(struct reader *reader, const struct counts *counts,
				   struct osr_arena *arena, struct osr_fabric *fabric)
{
	struct osr_fabric is = { .n_switches = counts->n_switches,
				 .n_channels = counts->n_channels,
				 .n_terminals = counts->n_terminals,
				 .n_dests = counts->n_dests };
	struct osr_builder *builder;
	struct osr_diag why;
	const char *names;
	enum osr_status st;
	bool good;

	if (!take_parts(reader, counts, &is, fabric_parts, N_PARTS(fabric_parts)) ||
	    !(names = store_take(reader, counts->names_size, 1)))
		return store_damaged(reader, "it ends too early");
	builder = osr_builder_new();
	if (!builder)
		return osr_fail(reader->diag, OSR_NOMEM, "%s: out of memory", reader->label);
	good = store_feed(builder, &is, names, names + counts->names_size);
	st = good ? osr_builder_build(builder, arena, fabric, &why) : OSR_OK;
	osr_builder_free(builder);
	if (st)
		return osr_fail(reader->diag, st, "%s: %.*s", reader->label, 300, why.text);
	/* Did the builder number channels as the tables do? */
	good = good && fabric->n_switches == is.n_switches && fabric->n_channels == is.n_channels &&
	       fabric->n_dests == is.n_dests && fabric->n_terminals == is.n_terminals &&
	       !memcmp(fabric->chan_src, is.chan_src, is.n_channels * sizeof(*is.chan_src)) &&
	       !memcmp(fabric->chan_port, is.chan_port, is.n_channels);
	return good ? OSR_OK : store_damaged(reader, "its fabric is invalid");
}

/* Is each LID in the tree of a first LID at the same switch, or in one of its own? */
static bool store_planes_fit(const struct osr_fabric *fabric, const struct osr_planes *planes)
{
	const uint32_t *tree_of = planes->tree_of;

	if (!planes->n)
		return true;
	if (planes->n != osr_planes_count(fabric) ||
	    !all_below(planes->kind, planes->n, OSR_PLANE_WAYS + 1))
		return false;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		if (tree_of[d] >= fabric->n_dests ||
		    fabric->dest_switch[tree_of[d]] != fabric->dest_switch[d] ||
		    (tree_of[d] != d && osr_plane_of(fabric, tree_of[d])) ||
		    (tree_of[d] != d && !osr_plane_of(fabric, d)))
			return false;
	return true;
}

/* Of tables that no engine made some rows may be unknown. */
static bool are_vls(const struct reader *reader, const uint8_t *list, uint64_t n)
{
	if (!reader->unjudged)
		return all_below(list, n, 16);
	for (uint64_t i = 0; i < n; i++)
		if (list[i] >= 16 && list[i] != OSR_VL_UNSET)
			return false;
	return true;
}

/* Is each a channel or OSR_NONE? */
static bool are_parents(const struct osr_fabric *fabric, const uint32_t *parent)
{
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (parent[s] != OSR_NONE && parent[s] >= fabric->n_channels)
			return false;
	return true;
}

static enum osr_status store_read_tables(struct reader *reader, const struct counts *counts,
					 struct osr_arena *arena, struct osr_result *result)
{
	const struct osr_fabric *fabric = &result->fabric;
	struct osr_routing *routing = &result->routing;
	const osr_sl2vl_t *rows;

	if (!take_parts(reader, counts, routing, routing_parts, N_PARTS(routing_parts)))
		return store_damaged(reader, "it ends too early");
	if (routing->sl2vl && counts->n_sl2vl != osr_n_sl2vl(fabric))
		return store_damaged(reader, "its SL2VL tables do not fit the switches");
	for (size_t i = 0; i < N_PARTS(routing_parts); i++) {
		const void *from = part_of(routing, &routing_parts[i]);
		size_t n = length_of(counts, routing_parts[i].length);
		void *p = from ? osr_alloc(arena, n, routing_parts[i].size) : NULL;

		if (p)
			memcpy(p, from, n * routing_parts[i].size);
		memcpy((char *)routing + routing_parts[i].at, &p, sizeof(p));
	}
	rows = (const osr_sl2vl_t *)routing->sl2vl;
	if (rows && !osr_routing_alloc_sl2vl(routing, fabric, OSR_VL_UNSET, arena, reader->diag))
		memcpy(routing->sl2vl, rows, counts->n_sl2vl * sizeof(*rows));
	if (osr_arena_failed(arena, reader->diag))
		return OSR_NOMEM;
	routing->notes.size = counts->notes_size;
	routing->planes.n = counts->n_planes;
	/* Everything that is used as an index somewhere. */
	if (counts->n_vls < 1 || counts->n_vls > OSR_MAX_VLS || counts->mcast_vl >= OSR_MAX_VLS ||
	    counts->has & ~HAS_ALL || (counts->n_planes != 0) != ((counts->has & HAS_PLANES) != 0))
		return store_damaged(reader, "its counts are invalid");
	if (counts->has & HAS_GRANTED && (!(counts->has & HAS_SL) || routing->sl2vl))
		return store_damaged(reader, "it has SLs of earlier sweeps, but none of the last");
	if (routing->sl &&
	    !all_below(routing->sl, (size_t)fabric->n_dests * fabric->n_switches, 16))
		return store_damaged(reader, "an SL is above 15");
	if (!all_below(counts->ca_sl2vl, sizeof(counts->ca_sl2vl), 16) ||
	    (routing->sl2vl &&
	     !are_vls(reader, routing->sl2vl[0], counts->n_sl2vl * sizeof(*rows))))
		return store_damaged(reader, "a VL is above 15");
	if (routing->mcast_parent && !are_parents(fabric, routing->mcast_parent))
		return store_damaged(reader, "its multicast order is invalid");
	return store_planes_fit(fabric, &routing->planes)
		       ? OSR_OK
		       : store_damaged(reader, "its planes of LIDs are invalid");
}

static enum osr_status read_result(struct reader *reader, const char *engine,
				   struct osr_arena *arena, struct osr_arena *scratch,
				   struct osr_result *result)
{
	const void *p = store_take(reader, 1, sizeof(struct counts));
	struct osr_checked checked;
	struct osr_diag why;
	enum osr_status st;
	struct counts counts;

	if (!p)
		return store_damaged(reader, "it ends too early");
	memcpy(&counts, p, sizeof(counts));
	*result = (struct osr_result){ 0 };
	st = read_fabric(reader, &counts, arena, &result->fabric);
	if (st)
		return st;
	result->routing = (struct osr_routing){ .engine = engine,
						.claims = counts.claims,
						.n_switches = counts.n_switches,
						.n_dests = counts.n_dests,
						.n_channels = counts.n_channels,
						.n_vls = counts.n_vls,
						.n_vls_tried = counts.n_vls_tried,
						.n_layers = counts.n_layers,
						.n_layers_one_way = counts.n_layers_one_way,
						.mcast_vl = counts.mcast_vl,
						.n_longer = counts.n_longer,
						.stable.drift = counts.drift };
	memcpy(result->routing.ca_sl2vl, counts.ca_sl2vl, sizeof(counts.ca_sl2vl));
	st = store_read_tables(reader, &counts, arena, result);
	if (st || reader->unjudged)
		return st;
	st = osr_check_keep(&result->fabric, &result->routing, arena, scratch, &checked, &why);
	if (st)
		return osr_fail(reader->diag, st, "%s: %.*s", reader->label, 300, why.text);
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
	struct reader reader = {
		.label = label, .data = buf, .size = size, .unjudged = !engine, .diag = diag
	};
	struct header header;
	enum osr_status st = read_header(&reader, engine, key, &header);

	engine = engine ? engine : "stored";
	if (!st && header.n_results == 2)
		st = read_result(&reader, engine, baseline_arena, scratch, baseline);
	if (!st)
		st = read_result(&reader, engine, last_arena, scratch, last);
	if (!st && reader.at != reader.size)
		st = store_damaged(&reader, "it has trailing data");
	if (st)
		return st;
	last->baseline = header.n_results == 2 ? baseline : NULL;
	if (reader.unjudged)
		return OSR_OK;
	if (last->baseline)
		return osr_repair_prepare(baseline, scratch, baseline_arena, &baseline->routing,
					  diag);
	return osr_repair_prepare(last, scratch, last_arena, &last->routing, diag);
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
	osr_invariant(*n_known <= fabric->n_dests);
	return 2 * (uint64_t)*n_known >= fabric->n_dests;
}
