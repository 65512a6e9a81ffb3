/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A header, a directory of sections, the sections; see docs/tablefile.md. Little-endian, so that
 * arrays are used where they lie; other machines are refused.
 */
#include "io/tablefile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "core/store/bytes.h"

#define ALIGN 64
#define VERSION 1

static const char magic[8] = "OSRTABLE";

enum section {
	SEC_GUIDS,     /* u64 [n_switches] node GUIDs, ascending */
	SEC_LIDS,      /* u16 [n_dests] ascending */
	SEC_LFT,       /* u8 [n_dests * n_switches] */
	SEC_SL,        /* u8 [n_dests * n_switches] */
	SEC_SL2VL,     /* u8 [rows * 16] */
	SEC_SL2VL_ROW, /* u32 [n_switches] */
	SEC_RANK,      /* u32 [n_vls * n_channels] */
	SEC_MCAST,     /* u32 [n_switches] */
	N_SECTIONS
};

struct place {
	uint64_t offset; /* of the file, a multiple of 64; 0: the section is not there */
	uint64_t size;
	uint64_t hash; /* XXH3, 64 bits */
};

struct header {
	char magic[8];
	uint32_t version, header_size;
	uint64_t hash; /* XXH3 of the header with this field zero */
	uint64_t file_size;
	uint64_t cables; /* XXH3 of the channels, see cables_hash() */
	uint32_t n_switches, n_dests, n_channels, claims;
	uint8_t n_vls, n_layers, n_layers_one_way, mcast_vl;
	uint8_t reserved[4]; /* 0 */
	uint8_t ca_sl2vl[16];
	char engine[32]; /* ends with a zero byte */
	struct place section[N_SECTIONS];
};

static_assert(sizeof(struct header) == 112 + 24 * N_SECTIONS, "no holes in the header");

/* Numbers of channels mean the same where these agree. */
static uint64_t cables_hash(const struct osr_fabric *fabric)
{
	XXH64_hash_t h =
		XXH3_64bits(fabric->chan_src, fabric->n_channels * sizeof(*fabric->chan_src));

	h = XXH3_64bits_withSeed(fabric->chan_dst, fabric->n_channels * sizeof(*fabric->chan_dst),
				 h);
	return XXH3_64bits_withSeed(fabric->chan_port,
				    fabric->n_channels * sizeof(*fabric->chan_port), h);
}

static uint64_t header_hash(const struct header *h)
{
	struct header copy = *h;

	copy.hash = 0;
	return XXH3_64bits(&copy, sizeof(copy));
}

/* ---- writing -------------------------------------------------------------------------------- */

/* What a section holds; data NULL: it is not there. */
struct content {
	const void *data;
	uint64_t size;
};

static void fill_contents(const struct osr_fabric *fabric, const struct osr_routing *routing,
			  struct content *c)
{
	uint64_t n = (uint64_t)routing->n_dests * routing->n_switches;

	c[SEC_GUIDS] =
		(struct content){ fabric->sw_guid, fabric->n_switches * sizeof(*fabric->sw_guid) };
	c[SEC_LIDS] =
		(struct content){ fabric->dest_lid, fabric->n_dests * sizeof(*fabric->dest_lid) };
	c[SEC_LFT] = (struct content){ routing->lft, n };
	c[SEC_SL] = (struct content){ routing->sl, n };
	c[SEC_SL2VL] =
		(struct content){ routing->sl2vl, osr_n_sl2vl(fabric) * sizeof(*routing->sl2vl) };
	c[SEC_SL2VL_ROW] =
		(struct content){ routing->sl2vl_row, routing->n_switches * sizeof(uint32_t) };
	c[SEC_RANK] = (struct content){ routing->rank,
					(uint64_t)routing->n_vls * routing->n_channels * 4 };
	c[SEC_MCAST] =
		(struct content){ routing->mcast_parent, routing->n_switches * sizeof(uint32_t) };
}

static void fill_header(const struct osr_fabric *fabric, const struct osr_routing *routing,
			const struct content *c, struct header *h)
{
	uint64_t at = (sizeof(*h) + ALIGN - 1) / ALIGN * ALIGN;

	memset(h, 0, sizeof(*h));
	memcpy(h->magic, magic, sizeof(magic));
	h->version = VERSION;
	h->header_size = sizeof(*h);
	h->cables = cables_hash(fabric);
	h->n_switches = routing->n_switches;
	h->n_dests = routing->n_dests;
	h->n_channels = routing->n_channels;
	h->claims = routing->claims;
	h->n_vls = routing->n_vls;
	h->n_layers = routing->n_layers;
	h->n_layers_one_way = routing->n_layers_one_way;
	h->mcast_vl = routing->mcast_vl;
	memcpy(h->ca_sl2vl, routing->ca_sl2vl, sizeof(h->ca_sl2vl));
	snprintf(h->engine, sizeof(h->engine), "%s", routing->engine ? routing->engine : "");
	for (uint32_t i = 0; i < N_SECTIONS; i++) {
		if (!c[i].data)
			continue;
		h->section[i] = (struct place){ at, c[i].size, XXH3_64bits(c[i].data, c[i].size) };
		at += (c[i].size + ALIGN - 1) / ALIGN * ALIGN;
	}
	h->file_size = at;
	h->hash = header_hash(h);
}

static bool write_padded(FILE *out, const void *data, uint64_t size)
{
	static const char zero[ALIGN];
	size_t rest = (ALIGN - size % ALIGN) % ALIGN;

	return fwrite(data, 1, size, out) == size && fwrite(zero, 1, rest, out) == rest;
}

enum osr_status osr_tablefile_write(const char *path, const struct osr_fabric *fabric,
				    const struct osr_routing *routing, struct osr_diag *diag)
{
	struct content c[N_SECTIONS];
	struct header h;
	bool good;
	FILE *out;

	if (!osr__little_endian())
		return osr_fail(diag, OSR_INVAL, "%s: only for little-endian machines", path);
	out = fopen(path, "wb");
	if (!out)
		return osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
	fill_contents(fabric, routing, c);
	fill_header(fabric, routing, c, &h);
	good = write_padded(out, &h, sizeof(h));
	for (uint32_t i = 0; i < N_SECTIONS && good; i++)
		good = !c[i].data || write_padded(out, c[i].data, c[i].size);
	if (fclose(out) || !good)
		return osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
	return OSR_OK;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reader {
	const char *label;
	const struct osr_fabric *f;
	uint8_t *data;
	size_t size;
	const struct header *h;
	struct osr_diag *diag;
};

static enum osr_status tablefile_damaged(const struct reader *x, const char *what)
{
	return osr_fail(x->diag, OSR_INVAL, "%s: damaged table file: %s", x->label, what);
}

static enum osr_status check_header(const struct reader *x)
{
	const struct header *h = x->h;

	if (x->size < sizeof(magic) || memcmp(x->data, magic, sizeof(magic)))
		return osr_fail(x->diag, OSR_INVAL, "%s: not a table file of osmroutes", x->label);
	if (x->size < 16)
		return tablefile_damaged(x, "it is cut off");
	if (h->version != VERSION)
		return osr_fail(x->diag, OSR_INVAL,
				"%s: table file of version %u, and this program knows version %u",
				x->label, h->version, VERSION);
	if (x->size < sizeof(*h) || h->header_size != sizeof(*h))
		return tablefile_damaged(x, "it is cut off");
	if (header_hash(h) != h->hash)
		return tablefile_damaged(x, "its header has a wrong checksum");
	if (h->file_size != x->size)
		return tablefile_damaged(x, "it is truncated or has trailing data");
	return OSR_OK;
}

/* Sizes that the counts of the header call for. */
static uint64_t wanted_size(const struct reader *x, enum section i)
{
	const struct header *h = x->h;
	uint64_t n = (uint64_t)h->n_dests * h->n_switches;

	switch (i) {
	case SEC_GUIDS:
		return h->n_switches * 8ull;
	case SEC_LIDS:
		return h->n_dests * 2ull;
	case SEC_LFT:
	case SEC_SL:
		return n;
	case SEC_SL2VL:
		return osr_n_sl2vl(x->f) * sizeof(osr_sl2vl_t);
	case SEC_RANK:
		return (uint64_t)h->n_vls * h->n_channels * 4;
	default:
		return h->n_switches * 4ull;
	}
}

static enum osr_status check_section(const struct reader *x, enum section i)
{
	const struct place *p = &x->h->section[i];

	if (!p->offset)
		return i <= SEC_LFT ? tablefile_damaged(x, "a section is missing") : OSR_OK;
	if (p->offset % ALIGN || p->offset < sizeof(struct header) || p->offset > x->size ||
	    p->size > x->size - p->offset)
		return tablefile_damaged(x, "a section lies outside of it");
	if (p->size != wanted_size(x, i))
		return tablefile_damaged(x, "a section has a wrong size");
	if (XXH3_64bits(x->data + p->offset, p->size) != p->hash)
		return tablefile_damaged(x, "a section has a wrong checksum");
	return OSR_OK;
}

/* NULL if the section is not there. */
static void *section(const struct reader *x, enum section i)
{
	return x->h->section[i].offset ? x->data + x->h->section[i].offset : NULL;
}

static enum osr_status check_fabric(const struct reader *x)
{
	const struct osr_fabric *fabric = x->f;
	const struct header *h = x->h;

	if (h->n_switches != fabric->n_switches || h->n_dests != fabric->n_dests)
		return osr_fail(
			x->diag, OSR_INVAL,
			"%s: tables of %u switches and %u LIDs, and the fabric has %u and %u",
			x->label, h->n_switches, h->n_dests, fabric->n_switches, fabric->n_dests);
	return OSR_OK;
}

static enum osr_status tablefile_check_names(const struct reader *x)
{
	const struct osr_fabric *fabric = x->f;

	if (memcmp(section(x, SEC_GUIDS), fabric->sw_guid,
		   fabric->n_switches * sizeof(*fabric->sw_guid)) ||
	    memcmp(section(x, SEC_LIDS), fabric->dest_lid,
		   fabric->n_dests * sizeof(*fabric->dest_lid)))
		return osr_fail(x->diag, OSR_INVAL,
				"%s: tables of another fabric: its switches have other GUIDs or "
				"its end ports other LIDs",
				x->label);
	return OSR_OK;
}

/* Everything that is used as an index somewhere. */
static enum osr_status tablefile_check_ranges(const struct reader *x)
{
	const uint32_t *row = section(x, SEC_SL2VL_ROW), *parent = section(x, SEC_MCAST);
	const uint8_t *sl = section(x, SEC_SL), *sl2vl = section(x, SEC_SL2VL);
	const struct header *h = x->h;
	uint32_t at = 0;

	if (h->n_vls > OSR_MAX_VLS || h->mcast_vl >= OSR_MAX_VLS ||
	    !memchr(h->engine, 0, sizeof(h->engine)))
		return tablefile_damaged(x, "its header is invalid");
	if (sl && !osr__all_below(sl, h->section[SEC_SL].size, 16))
		return tablefile_damaged(x, "an SL is above 15");
	if (!sl2vl != !row)
		return tablefile_damaged(x, "its SL2VL tables are incomplete");
	if (sl2vl && (!osr__all_below(sl2vl, h->section[SEC_SL2VL].size, 16) ||
		      !osr__all_below(h->ca_sl2vl, sizeof(h->ca_sl2vl), 16)))
		return tablefile_damaged(x, "a VL is above 15");
	for (uint32_t s = 0; row && s < h->n_switches; s++) {
		if (row[s] != at)
			return tablefile_damaged(x, "its SL2VL tables do not fit the switches");
		at += (x->f->sw_n_ports[s] + 1u) * (x->f->sw_n_ports[s] + 1u);
	}
	for (uint32_t s = 0; parent && s < h->n_switches; s++)
		if (parent[s] != OSR_NONE && parent[s] >= h->n_channels)
			return tablefile_damaged(x, "its multicast order is invalid");
	return OSR_OK;
}

static void fill_routing(const struct reader *x, const char *engine, struct osr_routing *routing)
{
	const struct header *h = x->h;

	*routing = (struct osr_routing){ .engine = engine,
					 .n_switches = h->n_switches,
					 .n_dests = h->n_dests,
					 .n_channels = x->f->n_channels,
					 .lft = section(x, SEC_LFT),
					 .sl = section(x, SEC_SL),
					 .sl2vl = section(x, SEC_SL2VL),
					 .sl2vl_row = section(x, SEC_SL2VL_ROW),
					 .n_vls = h->n_vls,
					 .n_layers = h->n_layers,
					 .n_layers_one_way = h->n_layers_one_way };
	memcpy(routing->ca_sl2vl, h->ca_sl2vl, sizeof(routing->ca_sl2vl));
	if (h->n_channels != x->f->n_channels || h->cables != cables_hash(x->f))
		return;
	routing->claims = h->claims;
	routing->rank = section(x, SEC_RANK);
	routing->mcast_parent = section(x, SEC_MCAST);
	routing->mcast_vl = h->mcast_vl;
}

enum osr_status osr_tablefile_parse(void *data, size_t size, const char *label,
				    const struct osr_fabric *fabric, struct osr_tablefile *file,
				    struct osr_routing *routing, struct osr_diag *diag)
{
	struct reader x = {
		.label = label, .f = fabric, .data = data, .size = size, .h = data, .diag = diag
	};
	enum osr_status st;

	if (!osr__little_endian())
		return osr_fail(diag, OSR_INVAL, "%s: only for little-endian machines", label);
	st = check_header(&x);
	if (!st)
		st = check_fabric(&x);
	for (enum section i = 0; i < N_SECTIONS && !st; i++)
		st = check_section(&x, i);
	if (!st)
		st = tablefile_check_names(&x);
	if (!st)
		st = tablefile_check_ranges(&x);
	if (st)
		return st;
	memcpy(file->engine, x.h->engine, sizeof(file->engine));
	fill_routing(&x, file->engine, routing);
	return OSR_OK;
}

bool osr_tablefile_probe(const char *path)
{
	char head[sizeof(magic)] = "";
	struct stat st;
	bool is;
	FILE *in;

	/* What comes through a pipe cannot be read twice. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	in = fopen(path, "rb");
	is = in && fread(head, 1, sizeof(head), in) == sizeof(head) &&
	     !memcmp(head, magic, sizeof(magic));
	if (in)
		fclose(in);
	return is;
}

/* Private and writable: nothing that a caller does reaches the file. */
static enum osr_status map(const char *path, struct osr_tablefile *file, struct osr_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	*file = (struct osr_tablefile){ 0 };
	if (fd < 0)
		return osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		close(fd);
		return osr_fail(diag, OSR_INVAL, "%s: not a table file of osmroutes", path);
	}
	file->size = (size_t)st.st_size;
	file->map = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file->map != MAP_FAILED)
		return OSR_OK;
	file->map = NULL;
	return osr_fail(diag, OSR_NOMEM, "%s: cannot map %zu bytes: %s", path, file->size,
			strerror(errno));
}

enum osr_status osr_tablefile_open(const char *path, const struct osr_fabric *fabric,
				   struct osr_tablefile *file, struct osr_routing *routing,
				   struct osr_diag *diag)
{
	enum osr_status st = map(path, file, diag);

	if (!st)
		st = osr_tablefile_parse(file->map, file->size, path, fabric, file, routing, diag);
	if (st)
		osr_tablefile_close(file);
	return st;
}

void osr_tablefile_close(struct osr_tablefile *file)
{
	if (file->map)
		munmap(file->map, file->size);
	*file = (struct osr_tablefile){ 0 };
}
