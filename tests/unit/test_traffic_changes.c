/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What changed between two routings of two fabrics, against a comparison of single paths. */
#include "test.h"

#include "traffic/changes.h"

#include "fabrics.h"
#include "tables.h"

#define MAX_HOPS 64

struct side {
	struct test_fabric t;
	struct osr_arena arena;
	struct osr_routing r;
};

/* A path by GUIDs and ports: length in hops, -1 if it does not arrive. */
struct path {
	int n;
	uint64_t guid[MAX_HOPS];
	uint8_t port[MAX_HOPS];
};

static struct path path_of(const struct side *x, uint32_t s, uint32_t d)
{
	const struct osr_fabric *f = &x->t.f;
	struct path p = { 0 };

	while (p.n < MAX_HOPS - 1) {
		uint8_t port = osr_lft(&x->r, s, d);
		uint32_t c = osr_port_channel(f, s, port);

		p.guid[p.n] = f->sw_guid[s];
		p.port[p.n++] = port;
		if (s == f->dest_switch[d]) {
			if (port != f->term_port[f->dest_term[d]])
				p.n = -1;
			return p;
		}
		if (c == OSR_NONE)
			break;
		s = f->chan_dst[c];
	}
	p.n = -1;
	return p;
}

/* Does every cable of an old path still lead where it led? */
static bool is_whole(const struct side *old, const struct path *p, const struct side *new)
{
	for (int i = 0; i + 1 < p->n; i++) {
		uint32_t s = osr_fabric_switch_by_guid(&new->t.f, p->guid[i]), c;
		uint32_t was = osr_port_channel(
			&old->t.f, osr_fabric_switch_by_guid(&old->t.f, p->guid[i]), p->port[i]);

		if (s == OSR_NONE)
			return false;
		c = osr_port_channel(&new->t.f, s, p->port[i]);
		if (c == OSR_NONE || new->t.f.sw_guid[new->t.f.chan_dst[c]] != p->guid[i + 1] ||
		    new->t.f.chan_port[new->t.f.chan_rev[c]] !=
			    old->t.f.chan_port[old->t.f.chan_rev[was]])
			return false;
	}
	return osr_fabric_switch_by_guid(&new->t.f, p->guid[p->n - 1]) != OSR_NONE;
}

static uint32_t by_lid(const struct osr_fabric *f, uint32_t lid)
{
	return lid <= f->max_lid ? f->lid_dest[lid] : OSR_NONE;
}

/* The dest in the new fabric with the LID, GUID and role of an old one. */
static uint32_t again(const struct side *old, const struct side *new, uint32_t lid)
{
	uint32_t d = by_lid(&old->t.f, lid), to = by_lid(&new->t.f, lid);
	uint32_t t_old = old->t.f.dest_term[d], t_new;

	if (to == OSR_NONE)
		return OSR_NONE;
	t_new = new->t.f.dest_term[to];
	return old->t.f.term_guid[t_old] == new->t.f.term_guid[t_new] &&
			       old->t.f.term_role[t_old] == new->t.f.term_role[t_new]
		       ? to
		       : OSR_NONE;
}

/* The dest in the new fabric, if it hangs on the same switch. */
static uint32_t there(const struct side *old, const struct side *new, uint32_t lid)
{
	uint32_t d = by_lid(&old->t.f, lid), to = again(old, new, lid);

	if (to == OSR_NONE ||
	    old->t.f.sw_guid[old->t.f.dest_switch[d]] !=
		    new->t.f.sw_guid[new->t.f.dest_switch[to]] ||
	    !new->t.f.term_weight[new->t.f.dest_term[to]])
		return OSR_NONE;
	return to;
}

static uint8_t sl_of(const struct osr_routing *r, uint32_t s, uint32_t d)
{
	return r->sl ? r->sl[(size_t)d * r->n_switches + s] : 0;
}

static void slow_pair(const struct side *old, const struct side *new, uint32_t t, uint32_t d,
		      struct osr_changes *c)
{
	const struct osr_fabric *f = &old->t.f, *n = &new->t.f;
	uint32_t from = there(old, new, f->term_lid[t]), to = there(old, new, f->dest_lid[d]), s,
		 s_new;
	struct path was = path_of(old, f->term_switch[t], d), is;
	bool whole;

	if (was.n >= 0)
		c->n_pairs++;
	if (from == OSR_NONE || to == OSR_NONE) {
		c->n_gone += was.n >= 0;
		return;
	}
	s = f->term_switch[t];
	s_new = n->dest_switch[from];
	is = path_of(new, s_new, to);
	if (was.n < 0) {
		c->n_found += is.n >= 0;
		return;
	}
	whole = is_whole(old, &was, new) &&
		f->term_port[f->dest_term[d]] == n->term_port[n->dest_term[to]];
	c->n_cut += !whole;
	if (is.n < 0) {
		c->n_lost++;
		return;
	}
	c->n_path += was.n != is.n || memcmp(was.guid, is.guid, sizeof(was.guid[0]) * was.n) ||
		     memcmp(was.port, is.port, was.n) || !whole;
	c->n_sl += sl_of(&old->r, s, d) != sl_of(&new->r, s_new, to);
}

/* Blocks of LFTs that differ, as a subnet manager has them before and after: by LID, 255 without an entry. */
static uint64_t slow_blocks(const struct side *old, const struct side *new)
{
	const struct osr_fabric *f = &old->t.f;
	uint64_t n = 0;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t s_new = osr_fabric_switch_by_guid(&new->t.f, f->sw_guid[s]);

		for (uint32_t lid = 0; lid <= f->max_lid && s_new != OSR_NONE; lid += 64) {
			bool differs = false;

			for (uint32_t l = lid; l < lid + 64 && l <= f->max_lid; l++) {
				uint32_t d = f->lid_dest[l],
					 to = d == OSR_NONE ? OSR_NONE
							    : again(old, new, (uint16_t)l);
				uint8_t was = d == OSR_NONE ? 255 : osr_lft(&old->r, s, d);
				uint8_t is = to == OSR_NONE ? 255 : osr_lft(&new->r, s_new, to);

				differs |= was != is;
			}
			n += differs;
		}
	}
	return n;
}

static struct osr_changes slow(const struct side *old, const struct side *new)
{
	const struct osr_fabric *f = &old->t.f;
	struct osr_changes c = { .n_blocks = slow_blocks(old, new) };

	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint32_t to = again(old, new, f->dest_lid[d]);

		for (uint32_t s = 0; s < f->n_switches && to != OSR_NONE; s++) {
			uint32_t s_new = osr_fabric_switch_by_guid(&new->t.f, f->sw_guid[s]);

			if (s_new == OSR_NONE)
				continue;
			c.n_entries++;
			c.n_entries_changed +=
				osr_lft(&old->r, s, d) != osr_lft(&new->r, s_new, to);
		}
		for (uint32_t t = 0; t < f->n_terminals; t++)
			if (f->term_weight[t] && f->term_weight[f->dest_term[d]] &&
			    t != f->dest_term[d])
				slow_pair(old, new, t, d, &c);
	}
	return c;
}

/* A ring with chords, of which some are missing, and switches at its end. */
static void draw(struct side *x, uint32_t n, uint32_t skip, uint32_t n_switches,
		 enum table_kind kind, uint64_t seed)
{
	struct draft d;

	*x = (struct side){ .r = { 0 } };
	draft_new(&d);
	for (uint32_t s = 0; s < n_switches; s++)
		draft_switch(&d);
	for (uint32_t s = 0; s < n_switches; s++)
		for (uint32_t i = 0; i <= s % 3; i++)
			draft_host(&d, s);
	for (uint32_t s = 0; s + 1 < n_switches; s++)
		draft_link(&d, s, s + 1);
	for (uint32_t s = 0; s + 2 < n_switches && s + 2 < n; s++) {
		/* The port stays empty if the cable is not there. */
		if (s == skip) {
			d.n_used[s]++;
			d.n_used[s + 2]++;
		} else {
			draft_link(&d, s, s + 2);
		}
	}
	draft_build(&d, &x->t, "chords");
	table_make(kind, &x->t.f, &x->arena, seed, &x->r);
}

static void drop(struct side *x)
{
	osr_arena_free(&x->arena);
	test_fabric_free(&x->t);
}

static void judge(const struct side *old, const struct side *new)
{
	struct osr_changes want = slow(old, new), got;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag;

	assert_int_equal(osr_changes(&old->t.f, &old->r, &new->t.f, &new->r, &scratch, &got, &diag),
			 OSR_OK);
	assert_memory_equal(&got, &want, sizeof(got));
	assert_int_equal(scratch.in_use, 0);
	osr_arena_free(&scratch);
}

static void test_against_paths(void **state)
{
	uint64_t cut = 0, lost = 0, sl = 0, gone = 0, found = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint32_t n = 4 + seed % 8;
		struct side old, new, less;

		draw(&old, n, OSR_NONE, n, seed % 2 ? TABLE_SHORTEST : TABLE_UPDOWN_SL, seed);
		draw(&new, n, seed % n, n, seed % 2 ? TABLE_SHORTEST : TABLE_UPDOWN_SL, seed + 1);
		draw(&less, n, OSR_NONE, n - 1, TABLE_SHORTEST, seed);
		/* Holes here and there. */
		for (uint32_t i = 0; i < seed % 5; i++) {
			old.r.lft[(seed * 977 + i * 131) % (old.r.n_dests * n)] = OSR_NO_PATH;
			new.r.lft[(seed * 613 + i * 151) % (new.r.n_dests *n)] = (uint8_t)i;
		}
		judge(&old, &old);
		judge(&old, &new);
		judge(&new, &old);
		judge(&old, &less);
		judge(&less, &old);
		cut += slow(&old, &new).n_cut;
		lost += slow(&old, &new).n_lost;
		found += slow(&old, &new).n_found;
		sl += slow(&old, &new).n_sl;
		gone += slow(&old, &less).n_gone;
		drop(&old);
		drop(&new);
		drop(&less);
	}
	/* Otherwise this would judge nothing. */
	assert_true(cut && lost && sl && gone && found);
}

static enum osr_status changes_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				    struct osr_diag *diag)
{
	const struct side *x = ctx;
	struct osr_changes c;
	enum osr_status st = osr_changes(&x->t.f, &x->r, &x->t.f, &x->r, scratch, &c, diag);

	assert_true(st || (c.n_pairs && !c.n_path && !c.n_cut));
	return st;
}

static void test_out_of_memory(void **state)
{
	struct side x;

	draw(&x, 5, OSR_NONE, 5, TABLE_SHORTEST, 1);
	assert_true(test_starve(changes_once, &x) > 3);
	drop(&x);
}

TEST_PROGRAM(test_against_paths, test_out_of_memory)
