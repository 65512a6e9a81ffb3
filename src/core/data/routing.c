/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/each.h>
#include <osmroutes/routing.h>

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include <xxhash.h>

enum osr_status osr_routing_init(struct osr_routing *routing, const struct osr_fabric *fabric,
				 struct osr_arena *arena, struct osr_diag *diag)
{
	*routing = (struct osr_routing){ .n_switches = fabric->n_switches,
					 .n_dests = fabric->n_dests,
					 .n_channels = fabric->n_channels };
	routing->lft = osr_alloc(arena, fabric->n_dests, fabric->n_switches);
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memset(routing->lft, OSR_NO_PATH, (size_t)fabric->n_dests * fabric->n_switches);
	return OSR_OK;
}

uint64_t osr_n_sl2vl(const struct osr_fabric *fabric)
{
	uint64_t n = 0;

	OSR_EACH_SWITCH(s, fabric)
		n += (fabric->sw_n_ports[s] + 1ull) * (fabric->sw_n_ports[s] + 1ull);
	return n;
}

enum osr_status osr_routing_alloc_sl2vl(struct osr_routing *routing,
					const struct osr_fabric *fabric, uint8_t vl,
					struct osr_arena *arena, struct osr_diag *diag)
{
	uint64_t n = osr_n_sl2vl(fabric);
	uint32_t at = 0;

	if (n > UINT32_MAX)
		return osr_fail(diag, OSR_NOMEM, "too many SL2VL tables: %" PRIu64, n);
	routing->sl2vl_row = osr_alloc(arena, fabric->n_switches, sizeof(*routing->sl2vl_row));
	routing->sl2vl = osr_alloc(arena, n, sizeof(*routing->sl2vl));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	OSR_EACH_SWITCH(s, fabric) {
		routing->sl2vl_row[s] = at;
		at += (fabric->sw_n_ports[s] + 1u) * (fabric->sw_n_ports[s] + 1u);
	}
	osr_invariant(at == n);
	memset(routing->sl2vl, vl, n * sizeof(*routing->sl2vl));
	return OSR_OK;
}

/*
 * Every array is hashed with the hash of all arrays before it as the seed. Numbers wider than a
 * byte go through a small little-endian buffer, so that every machine has the same digest.
 */
static uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
	return XXH3_64bits_withSeed(p, n, h);
}

static uint64_t hash_numbers(uint64_t h, const uint64_t *n64, const uint16_t *n16, size_t n)
{
	unsigned char buf[64 * 8];
	size_t used = 0;

	assert(n64 || n16);
	for (size_t i = 0; i < n; i++) {
		uint64_t x = n64 ? n64[i] : n16[i];

		for (unsigned byte = 0; byte < 8; byte++)
			buf[used++] = (unsigned char)(x >> (8 * byte));
		if (used == sizeof(buf)) {
			h = hash_bytes(h, buf, used);
			used = 0;
		}
	}
	return hash_bytes(h, buf, used);
}

/* The SL of a pair without a path has no meaning and must not change the digest. */
static uint64_t hash_sl_holes(uint64_t h, const uint8_t *sl, const uint8_t *lft, size_t n)
{
	unsigned char buf[4096];

	while (n) {
		size_t piece = n < sizeof(buf) ? n : sizeof(buf);

		for (size_t i = 0; i < piece; i++)
			buf[i] = lft[i] == OSR_NO_PATH ? 0 : sl[i];
		h = hash_bytes(h, buf, piece);
		sl += piece;
		lft += piece;
		n -= piece;
	}
	return h;
}

static uint64_t hash_sl2vl(uint64_t h, const struct osr_fabric *fabric,
			   const struct osr_routing *routing)
{
	OSR_EACH_SWITCH(s, fabric) {
		size_t ports = (size_t)fabric->sw_n_ports[s] + 1;

		h = hash_bytes(h, routing->sl2vl[routing->sl2vl_row[s]],
			       ports * ports * sizeof(osr_sl2vl_t));
	}
	return hash_bytes(h, routing->ca_sl2vl, sizeof(routing->ca_sl2vl));
}

uint64_t osr_routing_digest(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	size_t n = (size_t)routing->n_dests * routing->n_switches;
	uint64_t shape[] = { fabric->n_switches, fabric->n_dests, routing->sl != NULL,
			     routing->sl2vl != NULL };
	uint64_t h = hash_numbers(0, shape, NULL, sizeof(shape) / sizeof(shape[0]));

	osr_invariant(routing->n_switches == fabric->n_switches);
	osr_invariant(routing->n_dests == fabric->n_dests);
	h = hash_numbers(h, fabric->sw_guid, NULL, fabric->n_switches);
	h = hash_numbers(h, NULL, fabric->dest_lid, fabric->n_dests);
	h = hash_bytes(h, routing->lft, n);
	if (routing->sl && fabric->n_components == 1)
		h = hash_bytes(h, routing->sl, n);
	else if (routing->sl)
		h = hash_sl_holes(h, routing->sl, routing->lft, n);
	return routing->sl2vl ? hash_sl2vl(h, fabric, routing) : h;
}

/*
 * Entries of row[] and of was[] (NULL: no such row) that differ. A switch of `fabric` that `old`
 * lacks had no path. Both fabrics have their switches in the order of their GUIDs.
 */
static uint64_t changed_in_row(const struct osr_fabric *fabric, const uint8_t *row,
			       const struct osr_fabric *old, const uint8_t *was)
{
	uint64_t changed = 0;

	for (uint32_t s = 0, o = 0; s < fabric->n_switches; s++) {
		uint8_t entry = OSR_NO_PATH;

		while (o < old->n_switches && old->sw_guid[o] < fabric->sw_guid[s])
			o++;
		if (was && o < old->n_switches && old->sw_guid[o] == fabric->sw_guid[s])
			entry = was[o];
		changed += row[s] != entry;
	}
	osr_invariant(changed <= fabric->n_switches);
	return changed;
}

uint64_t osr_routing_changed(const struct osr_result *before, const struct osr_fabric *fabric,
			     const struct osr_routing *now, uint64_t *n_entries)
{
	static const struct osr_result nothing;
	const struct osr_result *then = before && before->routing.lft ? before : &nothing;
	const struct osr_fabric *old = &then->fabric;
	uint32_t n = fabric->n_switches, n_old = old->n_switches;
	bool same = n == n_old && !memcmp(fabric->sw_guid, old->sw_guid, n * sizeof(*old->sw_guid));
	uint64_t changed = 0;

	OSR_EACH_DEST(d, fabric) {
		uint32_t od = osr_lid_dest(old, fabric->dest_lid[d]);
		const uint8_t *row = now->lft + (size_t)d * n, *was = NULL;

		if (od != OSR_NONE)
			was = then->routing.lft + (size_t)od * n_old;
		if (was && same && !memcmp(row, was, n))
			continue;
		changed += changed_in_row(fabric, row, old, was);
	}
	if (n_entries)
		*n_entries = (uint64_t)fabric->n_dests * n;
	return changed;
}
