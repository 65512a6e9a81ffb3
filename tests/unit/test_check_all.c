/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The core of the checker, proven for small sizes by trying everything: every connected fabric of
 * up to four switches, every table and every certificate of a bounded kind. What is tried is said
 * before each test. The judge sends every packet hop by hop; whatever it and the checker do not
 * agree about fails.
 */
#include "test.h"

#include <osmroutes/check.h>

#include "fabrics.h"

enum { MOST = 4, MOST_CHANNELS = 12, MOST_COLUMNS = 64 };

static struct osr_arena scratch, arena;
static struct test_fabric t;
static struct osr_routing r;
static uint32_t dist[MOST][MOST];
static uint64_t n_right, n_wrong;

/* ---- the judge ------------------------------------------------------------------------------ */

static bool packet_arrives(uint32_t d, uint32_t from)
{
	const struct osr_fabric *fabric = &t.fabric;
	uint32_t root = fabric->dest_switch[d], n = fabric->n_switches, hops = 0, before = OSR_NONE;
	unsigned vl = r.sl ? r.sl[d * n + from] : 0;

	for (uint32_t at = from; at != root; hops++) {
		unsigned out = r.lft[d * n + at];
		uint32_t c = out <= fabric->sw_n_ports[at] ? osr_port_channel(fabric, at, out)
							   : OSR_NONE;

		if (c == OSR_NONE || hops == n)
			return false;
		if ((r.claims & OSR_CLAIM_DEADLOCK_FREE) && before != OSR_NONE &&
		    r.rank[vl * fabric->n_channels + before] >= r.rank[vl * fabric->n_channels + c])
			return false;
		before = c;
		at = fabric->chan_dst[c];
	}
	return !(r.claims & OSR_CLAIM_MINIMAL) || hops == dist[from][root];
}

static bool judge_all(void)
{
	for (uint32_t d = 0; d < t.fabric.n_dests; d++) {
		uint32_t root = t.fabric.dest_switch[d];

		if (r.lft[d * t.fabric.n_switches + root] !=
		    t.fabric.term_port[t.fabric.dest_term[d]])
			return false;
		for (uint32_t s = 0; s < t.fabric.n_switches; s++)
			if (!packet_arrives(d, s))
				return false;
	}
	return true;
}

static void agree(void)
{
	struct osr_verdict verdict;
	struct osr_diag diag = { "" };
	enum osr_status st = osr_check(&t.fabric, &r, &scratch, &verdict, &diag);
	bool right = judge_all();

	if (st != (right ? OSR_OK : OSR_CHECK_FAILED) || (diag.text[0] == '\0') != right)
		fail_msg("%s: the judge says %s, the checker %s (%s)", t.name,
			 right ? "right" : "wrong", osr_status_str(st), diag.text);
	n_right += right;
	n_wrong += !right;
}

/* ---- fabrics -------------------------------------------------------------------------------- */

/* Links between switches a < b: two bits of mask each. */
static unsigned links_between(unsigned mask, unsigned a, unsigned b)
{
	return mask >> 2 * (b * (b - 1) / 2 + a) & 3;
}

static bool draw(unsigned n, unsigned mask)
{
	struct draft draft;

	draft_new(&draft);
	draft.no_sp0_lid = true;
	for (unsigned s = 0; s < n; s++)
		draft_switch(&draft);
	for (unsigned b = 1; b < n; b++)
		for (unsigned a = 0; a < b; a++)
			for (unsigned i = 0; i < links_between(mask, a, b); i++)
				draft_link(&draft, a, b);
	for (unsigned s = 0; s < n; s++)
		draft_host(&draft, s);
	draft_build(&draft, &t, "fabric");
	snprintf(t.name, sizeof(t.name), "%u switches, links 0x%x", n, mask);
	for (uint32_t a = 0; a < n; a++)
		test_distances(&t.fabric, a, dist[a]);
	if (t.fabric.n_components > 1) {
		test_fabric_free(&t);
		return false;
	}
	assert_int_equal(osr_routing_init(&r, &t.fabric, &arena, NULL), OSR_OK);
	r.n_vls = 1;
	return true;
}

static void erase(void)
{
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* Every mask of which no pair of switches has more than `most` links. */
static bool within(unsigned mask, unsigned most)
{
	for (; mask; mask >>= 2)
		if ((mask & 3) > most)
			return false;
	return true;
}

/* Is this the least of the masks that differ by the names of switches alone? */
static bool least_of_its_kind(unsigned n, unsigned mask)
{
	for (unsigned code = 0; code < 256; code++) {
		unsigned name[MOST], used = 0, other = 0;

		for (unsigned s = 0; s < n; s++) {
			name[s] = code >> 2 * s & 3;
			used |= 1u << name[s];
		}
		if (used != (1u << n) - 1)
			continue;
		for (unsigned b = 1; b < n; b++)
			for (unsigned a = 0; a < b; a++) {
				unsigned x = name[a] < name[b] ? name[a] : name[b];
				unsigned y = name[a] < name[b] ? name[b] : name[a];

				other |= links_between(mask, a, b) << 2 * (y * (y - 1) / 2 + x);
			}
		if (other < mask)
			return false;
	}
	return true;
}

/* ---- tables --------------------------------------------------------------------------------- */

/* Port 0, those with a cable, one without, one beyond the last, none. */
static uint8_t port_of(uint32_t s, unsigned choice)
{
	unsigned used = t.fabric.chan_row[s + 1] - t.fabric.chan_row[s] + 1;

	if (choice <= used + 1)
		return (uint8_t)choice;
	return choice == used + 2 ? t.fabric.sw_n_ports[s] + 1u : OSR_NO_PATH;
}

/*
 * Columns of dest d: the entry of every switch. With `all` whatever a byte can say, else what
 * arrives.
 */
static unsigned columns(uint32_t d, bool all, uint8_t column[][MOST], unsigned most)
{
	uint32_t n = t.fabric.n_switches, n_columns = 0;
	unsigned choice[MOST] = { 0 };

	for (;;) {
		uint8_t *now = &r.lft[d * n];
		bool arrives = true;
		uint32_t s;

		for (s = 0; s < n; s++)
			now[s] = port_of(s, choice[s]);
		if (all)
			agree();
		for (s = 0; s < n && arrives && !all; s++)
			arrives = packet_arrives(d, s);
		if (!all && arrives &&
		    now[t.fabric.dest_switch[d]] == t.fabric.term_port[t.fabric.dest_term[d]]) {
			assert_true(n_columns < most);
			memcpy(column[n_columns++], now, n);
		}
		for (s = 0; s < n && port_of(s, choice[s]) == OSR_NO_PATH; s++)
			choice[s] = 0;
		if (s == n)
			return n_columns;
		choice[s]++;
	}
}

/*
 * Reach, loops, dead ends, lengths: connected fabrics of 2 and 3 switches with up to two cables
 * between any two and of 4 switches with one, up to the names of switches, a host on each. The
 * column of each LID takes every value, each entry being port 0, any with a cable or the host, one
 * without, one beyond the last, or none, while the columns of the other LIDs are right; with and
 * without the claim of shortest routes.
 */
static void test_every_column(void **state)
{
	static uint8_t column[MOST_COLUMNS][MOST];

	/* Its block stays, for all checks. */
	assert_non_null(osr_alloc(&scratch, 1, 1));
	for (unsigned n = 2; n <= MOST; n++)
		for (unsigned mask = 0; mask < 1u << n * (n - 1); mask++) {
			if (!within(mask, n < 4 ? 2 : 1) || !least_of_its_kind(n, mask) ||
			    !draw(n, mask))
				continue;
			for (uint32_t d = 0; d < n; d++) {
				columns(d, false, column, MOST_COLUMNS);
				r.claims = OSR_CLAIM_MINIMAL;
				assert_true(columns(d, false, column, MOST_COLUMNS) > 0);
				memcpy(&r.lft[d * n], column[0], n);
				r.claims = 0;
			}
			for (uint32_t d = 0; d < n; d++)
				for (unsigned minimal = 0; minimal < 2; minimal++) {
					uint8_t before[MOST];

					memcpy(before, &r.lft[d * n], n);
					r.claims = minimal ? OSR_CLAIM_MINIMAL : 0;
					columns(d, true, NULL, 0);
					memcpy(&r.lft[d * n], before, n);
				}
			erase();
		}
	assert_true(n_right > 100 && n_wrong > 10000);
	print_message("%lu right, %lu wrong\n", (unsigned long)n_right, (unsigned long)n_wrong);
}

/* Every certificate of `n_vls` lanes with ranks below `limit`. */
static void every_rank(unsigned n_vls, uint32_t limit)
{
	uint32_t n = n_vls * t.fabric.n_channels, i;

	memset(r.rank, 0, n * sizeof(*r.rank));
	do {
		agree();
		for (i = 0; i < n && r.rank[i] == limit - 1; i++)
			r.rank[i] = 0;
		if (i < n)
			r.rank[i]++;
	} while (i < n);
}

/* Every combination of columns that arrive, and with `sls` of SLs, for every certificate. */
static void every_table(unsigned n_vls, uint32_t limit, bool sls)
{
	static uint8_t column[MOST][MOST_COLUMNS][MOST];
	uint32_t n = t.fabric.n_switches, n_columns[MOST], at[MOST] = { 0 }, d;

	r.rank = osr_calloc(&arena, (size_t)n_vls * t.fabric.n_channels, sizeof(*r.rank));
	r.n_vls = (uint8_t)n_vls;
	for (d = 0; d < n; d++)
		n_columns[d] = columns(d, false, column[d], MOST_COLUMNS);
	r.claims = OSR_CLAIM_DEADLOCK_FREE;
	if (sls)
		r.sl = osr_calloc(&arena, (size_t)n * n, 1);
	do {
		for (d = 0; d < n; d++)
			memcpy(&r.lft[d * n], column[d][at[d]], n);
		for (unsigned code = 0; code < (sls ? 1u << n * n : 1u); code++) {
			bool seen = false;

			for (unsigned i = 0; sls && i < n * n; i++) {
				r.sl[i] = code >> i & 1;
				seen |= r.sl[i] && t.fabric.dest_switch[i / n] == i % n;
			}
			if (!seen) /* the SL of a switch to its own host says nothing */
				every_rank(n_vls, limit);
		}
		for (d = 0; d < n && ++at[d] == n_columns[d]; d++)
			at[d] = 0;
	} while (d < n);
	r.sl = NULL;
	r.claims = 0;
}

/*
 * The certificate on one graph for all lanes: connected fabrics of up to four switches and eight
 * channels, up to the names of switches; every table in which all packets arrive, every numbering
 * of the channels with three ranks: all ways in which the channels of a route of two dependencies
 * can be ordered.
 */
static void test_every_certificate(void **state)
{
	n_right = n_wrong = 0;
	for (unsigned n = 2; n <= MOST; n++)
		for (unsigned mask = 0; mask < 1u << n * (n - 1); mask++) {
			if (!within(mask, 1) || !least_of_its_kind(n, mask) || !draw(n, mask))
				continue;
			if (t.fabric.n_channels <= 8)
				every_table(1, 3, false);
			erase();
		}
	print_message("%lu right, %lu wrong\n", (unsigned long)n_right, (unsigned long)n_wrong);
	assert_true(n_right > 1000 && n_wrong > 1000000);
}

/*
 * Service levels: a triangle and a line of three; every table that arrives, every SL of two, every
 * numbering.
 */
static void test_every_sl(void **state)
{
	static const unsigned masks[] = { 1 | 1 << 4, 1 | 1 << 2 | 1 << 4 };

	for (unsigned i = 0; i < 2; i++) {
		assert_true(draw(3, masks[i]));
		every_table(2, 2, true);
		erase();
	}
	print_message("%lu right, %lu wrong\n", (unsigned long)n_right, (unsigned long)n_wrong);
}

static int tear_down(void **state)
{
	osr_arena_free(&scratch);
	return 0;
}

TEST_PROGRAM_THEN(tear_down, test_every_column, test_every_certificate, test_every_sl)
