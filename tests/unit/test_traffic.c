/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What traffic makes of tables, and what changed between two of them. */
#include "test.h"

#include <math.h>

#include <osmroutes/check.h>
#include <osmroutes/prng.h>
#include <osmroutes/split.h>
#include "core/verify/audit.h"
#include "traffic/survey.h"
#include "fabrics.h"
#include "faults.h"
#include "tables.h"
#include "traffic/changes.h"

/*
 * ---- Congestion, surveys by one and by several workers, and channel loads, of right tables and of
 * tables with holes and loops, against walks of single routes. tests/cli/patterns.py computes whole
 * bisections a second time.
 */

struct set {
	struct test_fabric test;
	struct osr_routing routing;
	struct osr_arena tables, scratch;
	struct osr_diag diag;
	uint32_t hosts[512], n_hosts;
};

static void finish_as(struct set *set, enum table_kind kind)
{
	table_make(kind, &set->test.fabric, &set->tables, 1, &set->routing);
	assert_true(set->test.fabric.n_terminals < 512);
	set->n_hosts = osr_survey_hosts(&set->test.fabric, set->hosts);
}

static void finish(struct set *set)
{
	finish_as(set, TABLE_SHORTEST);
}

static void drop(struct set *set)
{
	assert_int_equal(set->scratch.in_use, 0);
	osr_arena_free(&set->tables);
	osr_arena_free(&set->scratch);
	test_fabric_free(&set->test);
}

/* By one worker. */
static enum osr_status survey_by_one(const struct osr_survey_in *in, struct osr_arena *scratch,
				     struct osr_survey_sum *sum, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_worker worker;
	struct osr_survey survey;
	enum osr_status st = osr_survey_init(&survey, in, scratch, diag);

	if (!st)
		st = osr_worker_init(&worker, &survey, scratch, diag);
	while (!st && osr_survey_take(&survey, &worker))
		st = osr_worker_run(&worker, diag);
	if (!st)
		osr_survey_sum(&survey, sum);
	osr_arena_reset(scratch, mark);
	return st;
}

static struct osr_survey_in survey_in(const struct set *set, const struct osr_phases *phases)
{
	return (struct osr_survey_in){ .fabric = &set->test.fabric,
				       .routing = &set->routing,
				       .phases = phases,
				       .hosts = set->hosts,
				       .n_hosts = set->n_hosts,
				       .n_runs = 3,
				       .shuffle = true,
				       .bandwidth = true,
				       .seed = 5 };
}

/* Three workers, in an order that has nothing to do with the phases: the same bytes. */
static void several(struct set *set, const struct osr_phases *phases)
{
	struct osr_survey_in in = survey_in(set, phases);
	struct osr_survey_sum one, three;
	struct osr_worker worker[3];
	struct osr_survey survey;
	bool busy[3] = { false };
	struct osr_prng prng = { 9 };
	uint32_t n_busy = 0;
	bool more = true;

	assert_int_equal(survey_by_one(&in, &set->scratch, &one, &set->diag), OSR_OK);
	assert_int_equal(osr_survey_init(&survey, &in, &set->scratch, &set->diag), OSR_OK);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(osr_worker_init(&worker[i], &survey, &set->scratch, &set->diag),
				 OSR_OK);
	while (more || n_busy) {
		uint32_t i = osr_prng_below(&prng, 3);

		if (busy[i]) {
			assert_int_equal(osr_worker_run(&worker[i], &set->diag), OSR_OK);
			busy[i] = false;
			n_busy--;
		} else if (more) {
			more = busy[i] = osr_survey_take(&survey, &worker[i]);
			n_busy += busy[i];
		}
	}
	osr_survey_sum(&survey, &three);
	assert_memory_equal(&one, &three, sizeof(one));
	osr_arena_free(&set->scratch);
}

/* Every rank to the s-th behind it, s = 1 .. n - 1. */
static struct osr_phases shifts(struct set *set)
{
	uint32_t n = set->n_hosts, *row = osr_alloc(&set->tables, n, sizeof(*row));
	struct osr_pair *pair = osr_alloc(&set->tables, (size_t)n * n, sizeof(*pair));

	for (uint32_t s = 1; s < n; s++)
		for (uint32_t i = 0; i < n; i++)
			pair[(s - 1) * n + i] = (struct osr_pair){ i, (i + s) % n };
	for (uint32_t s = 0; s < n; s++)
		row[s] = s * n;
	return (struct osr_phases){ n, n - 1, row, pair };
}

static void test_workers(void **state)
{
	struct osr_survey_in in;
	struct osr_phases phases, halves;
	struct set set = { 0 };

	test_fabric_ring(&set.test, 7, 3);
	finish(&set);
	phases = shifts(&set);
	several(&set, &phases);
	assert_int_equal(osr_survey_bisections(&set.test.fabric, &set.routing, 9, 1, &set.tables,
					       &halves, &in, &set.diag),
			 OSR_OK);
	several(&set, &halves);
	drop(&set);
}

/* Phases of a file, one of them empty: no stage to be averaged. */
static void test_given(void **state)
{
	static const uint32_t row[] = { 0, 2, 2, 3 };
	static const struct osr_pair pair[] = { { 0, 2 }, { 1, 2 }, { 2, 0 } };
	struct osr_phases phases = { .n_ranks = 3, .n_phases = 3, .row = row, .pair = pair };
	struct osr_survey_sum sum;
	struct osr_survey_in in;
	struct set set = { 0 };

	test_fabric_ring(&set.test, 3, 1);
	finish(&set);
	in = survey_in(&set, &phases);
	assert_int_equal(survey_by_one(&in, &set.scratch, &sum, &set.diag), OSR_OK);
	assert_true(sum.hsd.mean == 1.5 && sum.hsd_sum.mean == 3);
	assert_true(sum.bandwidth.mean == 2.0 / 3);
	assert_int_equal(sum.n_pairs, 9);
	drop(&set);
}

/*
 * Every bisection of two hosts is the one pair there is, in one direction or the other; the odd
 * host rests.
 */
static void test_few_hosts(void **state)
{
	for (uint32_t n = 1; n <= 3; n += 2) {
		struct osr_survey_sum sum;
		struct osr_survey_in in;
		struct osr_phases phases;
		struct set set = { 0 };
		struct draft draft;

		draft_new(&draft);
		for (uint32_t i = 0; i < n; i++)
			draft_host(&draft, draft_switch(&draft));
		for (uint32_t i = 1; i < n; i++)
			draft_link(&draft, 0, i);
		draft_build(&draft, &set.test, "few hosts");
		finish(&set);
		if (n == 1) {
			assert_int_equal(osr_survey_bisections(&set.test.fabric, &set.routing, 1, 1,
							       &set.tables, &phases, &in,
							       &set.diag),
					 OSR_NOT_APPLICABLE);
			assert_non_null(strstr(set.diag.text, "two hosts"));
		} else {
			assert_int_equal(osr_survey_bisections(&set.test.fabric, &set.routing, 50,
							       7, &set.tables, &phases, &in,
							       &set.diag),
					 OSR_OK);
			assert_int_equal(survey_by_one(&in, &set.scratch, &sum, &set.diag), OSR_OK);
			assert_int_equal(in.n_hosts, 3);
			assert_int_equal(sum.n_pairs, 50);
			assert_true(sum.bandwidth.mean == 1 && sum.bandwidth.half_width == 0);
			assert_int_equal(sum.max_congestion, 1);
		}
		drop(&set);
	}
}

/* ---- single routes --------------------------------------------------------------------------- */

/*
 * Channels of a route, in order; *arrives: not into a hole, a wrong port or a circle, which has
 * more than there are switches.
 */
static uint32_t walk(const struct osr_fabric *fabric, const struct osr_routing *routing, uint32_t s,
		     uint32_t d, uint32_t *path, bool *arrives)
{
	uint32_t n = 0;

	for (;;) {
		uint8_t port = osr_lft(routing, s, d);

		*arrives = s == fabric->dest_switch[d] &&
			   port == fabric->term_port[fabric->dest_term[d]];
		if (*arrives || n > fabric->n_switches ||
		    osr_port_channel(fabric, s, port) == OSR_NONE)
			return n;
		path[n] = osr_port_channel(fabric, s, port);
		s = fabric->chan_dst[path[n++]];
	}
}

/* The figures of the audit by their definition, route by route; and those of the checker. */
static void judge_loads(struct set *set, bool right)
{
	const struct osr_fabric *fabric = &set->test.fabric;
	struct osr_generation gen = { .routing = &set->routing };
	uint64_t load[256] = { 0 }, all[256] = { 0 }, most = 0, most_all = 0, total = 0;
	uint64_t hops[OSR_AUDIT_MAX_HOPS + 1] = { 0 };
	uint64_t n_routes = 0, n_lost = 0;
	uint32_t path[64];
	struct osr_audit audit;
	struct osr_verdict verdict;
	bool arrives;

	assert_true(fabric->n_channels <= 256);
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t t = 0; t < fabric->n_terminals; t++) {
			uint32_t n;

			if (!fabric->term_weight[t] || !fabric->term_weight[fabric->dest_term[d]] ||
			    t == fabric->dest_term[d])
				continue;
			n = walk(fabric, &set->routing, fabric->term_switch[t], d, path, &arrives);
			for (uint32_t i = 0; arrives && i < n; i++) {
				bool first = fabric->dest_lid[d] ==
					     fabric->term_lid[fabric->dest_term[d]];

				total += first;
				load[path[i]] += first;
				all[path[i]]++;
			}
			hops[n] += arrives;
			n_routes += arrives;
			n_lost += !arrives;
		}
	assert_int_equal(osr_audit(fabric, &gen, OSR_ONLY_ROUTES, 1, &set->scratch, &set->tables,
				   &audit, &set->diag),
			 OSR_OK);
	assert_memory_equal(audit.load, load, fabric->n_channels * sizeof(*load));
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		most = load[c] > most ? load[c] : most;
		most_all = all[c] > most_all ? all[c] : most_all;
	}
	assert_true(audit.efi == most && audit.efi_all == most_all);
	assert_memory_equal(audit.hops, hops, sizeof(hops));
	assert_true(audit.n_host_routes == n_routes && audit.n_host_pairs == n_routes + n_lost);
	if (!right || !fabric->n_channels)
		return;
	assert_true(total >= audit.n_host_hops && n_lost == 0);
	assert_true(total == audit.n_host_hops || !(set->routing.claims & OSR_CLAIM_MINIMAL));
	assert_int_equal(osr_check(fabric, &set->routing, &set->scratch, &verdict, &set->diag),
			 OSR_OK);
	assert_true(audit.efi == verdict.efi && audit.efi_all == verdict.efi_all &&
		    audit.efi_mean == verdict.efi_mean);
}

/*
 * What each flow of a bisection has if it is sent in parts to these LIDs: of its parts the least,
 * and their mean. Rates in units of the fastest cable.
 */
static void judge_parts(const struct set *set, const uint32_t *hosts, const uint32_t (*lids)[8],
			uint32_t n_parts, double *least, double *mean)
{
	const struct osr_fabric *fabric = &set->test.fabric;
	uint32_t half = set->n_hosts / 2, path[64];
	double load[256] = { 0 }, fastest = 0;
	bool arrives;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		fastest = fmax(fastest, fabric->chan_rate[c]);
	for (uint32_t i = 0; i < half * n_parts; i++) {
		uint32_t d = fabric->lid_dest[lids[i / n_parts][i % n_parts]];
		uint32_t s = fabric->term_switch[hosts[i / n_parts]];
		uint32_t n = walk(fabric, &set->routing, s, d, path, &arrives);

		for (uint32_t k = 0; k < n && k < fabric->n_switches; k++)
			load[path[k]] += 1.0 / n_parts;
	}
	for (uint32_t i = 0; i < half; i++) {
		double slowest = 1;

		for (uint32_t j = 0; j < n_parts; j++) {
			uint32_t n = walk(fabric, &set->routing, fabric->term_switch[hosts[i]],
					  fabric->lid_dest[lids[i][j]], path, &arrives);
			double share = arrives;

			for (uint32_t k = 0; arrives && k < n; k++) {
				double rate = fabric->chan_rate[path[k]];

				rate = rate > 0 ? rate / fastest : 1;
				share = fmin(share, rate / load[path[k]]);
			}
			slowest = fmin(slowest, share);
			*mean += share / n_parts / half;
		}
		*least += slowest / half;
	}
}

/* The bandwidth by the LIDs that programs use, by its definition. */
static void judge_split(struct set *set)
{
	const struct osr_fabric *fabric = &set->test.fabric;
	struct osr_prng order = { 1 }, draws = { 2 };
	uint32_t hosts[512], n_lids = 1, half, most, n = 0;
	double first = 0, two = 0, all = 0, apart = 0, one = 0, ignored = 0;
	struct osr_split got;

	set->n_hosts = 0;
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_weight[t]) {
			hosts[set->n_hosts++] = t;
			n_lids = n_lids < 1u << fabric->term_lmc[t] ? 1u << fabric->term_lmc[t]
								    : n_lids;
		}
	half = set->n_hosts / 2;
	assert_int_equal(osr_split_measure(fabric, &set->routing, OSR_SPLIT_REPORT, &set->scratch,
					   &got, &set->diag),
			 OSR_OK);
	assert_int_equal(got.n_lids, n_lids);
	most = set->n_hosts ? 10000 / set->n_hosts : 0;
	most = most < 6 ? 6 : most;
	most = most > 400 ? 400 : most;
	for (; half && n < most; n++) {
		uint32_t lids[256][8], drawn[256][8];

		osr_prng_shuffle(&order, hosts, set->n_hosts);
		for (uint32_t i = 0; i < half; i++) {
			uint32_t t = hosts[half + i];

			for (uint32_t k = 0; k < 8; k++)
				lids[i][k] = fabric->term_lid[t] + k % (1u << fabric->term_lmc[t]);
			drawn[i][0] = lids[i][n_lids > 1 ? osr_prng_below(&draws, n_lids) : 0];
		}
		judge_parts(set, hosts, lids, 1, &first, &ignored);
		judge_parts(set, hosts, lids, n_lids > 1 ? 2 : 1, &two, &ignored);
		judge_parts(set, hosts, lids, n_lids, &all, &apart);
		judge_parts(set, hosts, drawn, 1, &one, &ignored);
	}
	n = n ? n : 1;
	assert_true(fabs(got.first - first / n * 1e6) < 2 && fabs(got.two - two / n * 1e6) < 2);
	assert_true(fabs(got.all - all / n * 1e6) < 2 && fabs(got.free - apart / n * 1e6) < 2);
	assert_true(fabs(got.one - one / n * 1e6) < 2);
	assert_true(got.all <= got.free && (n_lids > 1 || got.first == got.all));
}

/* Pairs of hosts that send at once; false: one of them goes round in a circle. */
static bool judge_phase(struct set *set, uint64_t seed)
{
	const struct osr_fabric *fabric = &set->test.fabric;
	uint32_t load[256] = { 0 }, sends[512] = { 0 }, receives[512] = { 0 }, path[64], most = 0;
	struct osr_pair pair[32];
	struct osr_crossing got;
	struct osr_meter meter;
	uint32_t n_no_path = 0, n = set->n_hosts < 2 ? 0 : 1 + (uint32_t)(test_random(&seed) % 32);
	bool arrives, circle = false;
	enum osr_status st;
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = (uint32_t)(test_random(&seed) % set->n_hosts);
		uint32_t to = (from + 1 + (uint32_t)(test_random(&seed) % (set->n_hosts - 1))) %
			      set->n_hosts;
		uint32_t d, length;

		pair[i] = (struct osr_pair){ set->hosts[from], set->hosts[to] };
		d = fabric->lid_dest[fabric->term_lid[pair[i].to]];
		length = walk(fabric, &set->routing, fabric->term_switch[pair[i].from], d, path,
			      &arrives);
		circle |= length > fabric->n_switches;
		n_no_path += !arrives;
		for (uint32_t k = 0; k < length; k++)
			most = ++load[path[k]] > most ? load[path[k]] : most;
		most = ++sends[pair[i].from] > most ? sends[pair[i].from] : most;
		most = ++receives[pair[i].to] > most ? receives[pair[i].to] : most;
	}
	/*
	 * The bandwidth of a pair is the share that it has of the busiest cable on its way, 0
	 * without a way.
	 */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t d = fabric->lid_dest[fabric->term_lid[pair[i].to]],
			 worst = receives[pair[i].to];
		uint32_t length = walk(fabric, &set->routing, fabric->term_switch[pair[i].from], d,
				       path, &arrives);

		worst = sends[pair[i].from] > worst ? sends[pair[i].from] : worst;
		for (uint32_t k = 0; k < length; k++)
			worst = load[path[k]] > worst ? load[path[k]] : worst;
		sum += arrives ? 1.0 / worst : 0;
	}
	assert_int_equal(
		osr_meter_init(&meter, fabric, &set->routing, 32, &set->tables, &set->diag),
		OSR_OK);
	st = osr_meter_phase(&meter, pair, n, true, &got, &set->diag);
	assert_int_equal(st, circle ? OSR_CHECK_FAILED : OSR_OK);
	if (circle) {
		assert_non_null(strstr(set->diag.text, "forwarding loop"));
		return false;
	}
	assert_int_equal(got.n_no_path, n_no_path);
	assert_int_equal(got.hsd, most);
	assert_true(fabs(got.bandwidth - sum) < 1e-9);
	return true;
}

/* One to eight LIDs a host, cables of several rates. */
static void draw_lids(struct test_fabric *test, uint64_t seed)
{
	uint32_t n = 3 + (uint32_t)(test_random(&seed) % 20), n_more = (uint32_t)(seed % 12);
	struct draft draft;

	draft_new(&draft);
	draft.n_ports = 24;
	for (uint32_t s = 0; s < n; s++)
		draft_switch(&draft);
	for (uint32_t i = 1; i < n + n_more; i++) {
		uint32_t a = i < n ? i : (uint32_t)(test_random(&seed) % n);
		uint32_t b = (uint32_t)(test_random(&seed) % (i < n ? i : n));

		draft.rate = (uint16_t[]){ 0, 100, 200, 200 }[test_random(&seed) % 4];
		if (a != b)
			draft_link(&draft, a, b);
	}
	for (uint32_t i = 0; i < 2 * n; i++) {
		draft.lmc = (uint8_t)(test_random(&seed) % 4);
		draft_host(&draft, (uint32_t)(test_random(&seed) % n));
	}
	draft_build(&draft, test, "several LIDs");
}

static void test_single_routes(void **state)
{
	unsigned n_circles = 0;

	for (uint64_t i = 1; i <= 400; i++) {
		uint64_t seed = i;
		struct set set = { 0 };
		bool right = i % 4 == 0;

		if (i % 3)
			draw_lids(&set.test, i);
		else
			test_fabric_random(&set.test, 3 + i % 20, 2 + i % 30, i);
		finish_as(&set, i % 2 ? TABLE_SHORTEST : TABLE_UPDOWN);
		/* Holes, wrong ports, circles. */
		for (unsigned k = 0; k < 4 && !right; k++)
			set.routing.lft[test_random(&seed) % ((size_t)set.test.fabric.n_dests *
							      set.test.fabric.n_switches)] =
				(uint8_t[]){ OSR_NO_PATH, 0, 1, 2, 3 }[test_random(&seed) % 5];
		judge_loads(&set, right);
		judge_split(&set);
		n_circles += !judge_phase(&set, seed);
		drop(&set);
	}
	assert_true(n_circles > 5);
}

static enum osr_status survey_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				   struct osr_diag *diag)
{
	struct osr_survey_sum sum;

	return survey_by_one(ctx, scratch, &sum, diag);
}

static enum osr_status bisect_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				   struct osr_diag *diag)
{
	const struct set *set = ctx;
	struct osr_phases halves;
	struct osr_survey_in in;

	return osr_survey_bisections(&set->test.fabric, &set->routing, 9, 1, result, &halves, &in,
				     diag);
}

static enum osr_status split_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_diag *diag)
{
	const struct set *set = ctx;
	struct osr_split split;

	return osr_split_measure(&set->test.fabric, &set->routing, OSR_SPLIT_CHOICE, scratch,
				 &split, diag);
}

static void test_out_of_memory(void **state)
{
	struct osr_survey_sum sum;
	struct osr_survey_in in;
	struct osr_phases phases;
	struct set set = { 0 };

	test_fabric_ring(&set.test, 5, 2);
	finish(&set);
	phases = shifts(&set);
	in = survey_in(&set, &phases);
	assert_true(test_starve(survey_once, &in) > 5);
	assert_true(test_starve(bisect_once, &set) > 2);
	assert_true(test_starve(split_once, &set) > 2);
	in.n_runs = 0;
	assert_int_equal(survey_by_one(&in, &set.scratch, &sum, &set.diag), OSR_INVAL);
	drop(&set);
}

/* ---- What changed between two routings of two fabrics, against a comparison of single paths. */

struct side {
	struct test_fabric test;
	struct osr_arena arena;
	struct osr_routing routing;
};

static uint32_t by_lid(const struct osr_fabric *fabric, uint32_t lid)
{
	return lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;
}

/* The dest in the new fabric with the LID, GUID and role of an old one. */
static uint32_t again(const struct side *old, const struct side *new, uint32_t lid)
{
	uint32_t d = by_lid(&old->test.fabric, lid), to = by_lid(&new->test.fabric, lid);
	uint32_t t_old = old->test.fabric.dest_term[d], t_new;

	if (to == OSR_NONE)
		return OSR_NONE;
	t_new = new->test.fabric.dest_term[to];
	return old->test.fabric.term_guid[t_old] == new->test.fabric.term_guid[t_new] &&
			       old->test.fabric.term_role[t_old] ==
				       new->test.fabric.term_role[t_new]
		       ? to
		       : OSR_NONE;
}

/* The dest in the new fabric, if it hangs on the same switch. */
static uint32_t there(const struct side *old, const struct side *new, uint32_t lid)
{
	uint32_t d = by_lid(&old->test.fabric, lid), to = again(old, new, lid);

	if (to == OSR_NONE ||
	    old->test.fabric.sw_guid[old->test.fabric.dest_switch[d]] !=
		    new->test.fabric.sw_guid[new->test.fabric.dest_switch[to]] ||
	    !new->test.fabric.term_weight[new->test.fabric.dest_term[to]])
		return OSR_NONE;
	return to;
}

static uint8_t sl_of(const struct osr_routing *routing, uint32_t s, uint32_t d)
{
	return routing->sl ? routing->sl[(size_t)d * routing->n_switches + s] : 0;
}

static void slow_pair(const struct side *old, const struct side *new, uint32_t t, uint32_t d,
		      struct osr_changes *changes)
{
	const struct osr_fabric *f = &old->test.fabric, *n = &new->test.fabric;
	uint32_t from = there(old, new, f->term_lid[t]), to = there(old, new, f->dest_lid[d]);
	uint32_t s = f->term_switch[t], s_new, was[64], is[64], n_was, n_is;
	bool had, has, whole, same;

	n_was = walk(f, &old->routing, s, d, was, &had);
	changes->n_pairs += had;
	if (from == OSR_NONE || to == OSR_NONE) {
		changes->n_gone += had;
		return;
	}
	s_new = n->dest_switch[from];
	n_is = walk(n, &new->routing, s_new, to, is, &has);
	if (!had) {
		changes->n_found += has;
		return;
	}
	/*
	 * Does every cable of the old path still lead where it led, and is it that of the new path?
	 */
	whole = f->term_port[f->dest_term[d]] == n->term_port[n->dest_term[to]];
	same = n_was == n_is;
	for (uint32_t i = 0; i < n_was; i++) {
		uint32_t now = faults_channel_in(n, f, was[i]);

		whole &= now != OSR_NONE &&
			 n->chan_port[n->chan_rev[now]] == f->chan_port[f->chan_rev[was[i]]];
		same = same && now == is[i];
	}
	changes->n_cut += !whole;
	changes->n_lost += !has;
	changes->n_path += has && !(same && whole);
	changes->n_sl += has && sl_of(&old->routing, s, d) != sl_of(&new->routing, s_new, to);
}

/*
 * Blocks of LFTs that differ, as a subnet manager has them before and after: by LID, 255 without an
 * entry.
 */
static uint64_t slow_blocks(const struct side *old, const struct side *new)
{
	const struct osr_fabric *fabric = &old->test.fabric;
	uint64_t n = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t s_new = osr_fabric_switch_by_guid(&new->test.fabric, fabric->sw_guid[s]);

		for (uint32_t lid = 0; lid <= fabric->max_lid && s_new != OSR_NONE; lid += 64) {
			bool differs = false;

			for (uint32_t l = lid; l < lid + 64 && l <= fabric->max_lid; l++) {
				uint32_t d = fabric->lid_dest[l],
					 to = d == OSR_NONE ? OSR_NONE
							    : again(old, new, (uint16_t)l);
				uint8_t was = d == OSR_NONE ? 255 : osr_lft(&old->routing, s, d);
				uint8_t is =
					to == OSR_NONE ? 255 : osr_lft(&new->routing, s_new, to);

				differs |= was != is;
			}
			n += differs;
		}
	}
	return n;
}

static struct osr_changes slow(const struct side *old, const struct side *new)
{
	const struct osr_fabric *fabric = &old->test.fabric;
	struct osr_changes changes = { .n_blocks = slow_blocks(old, new) };

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t to = again(old, new, fabric->dest_lid[d]);

		for (uint32_t s = 0; s < fabric->n_switches && to != OSR_NONE; s++) {
			uint32_t s_new =
				osr_fabric_switch_by_guid(&new->test.fabric, fabric->sw_guid[s]);

			if (s_new == OSR_NONE)
				continue;
			changes.n_entries++;
			changes.n_entries_changed +=
				osr_lft(&old->routing, s, d) != osr_lft(&new->routing, s_new, to);
		}
		for (uint32_t t = 0; t < fabric->n_terminals; t++)
			if (fabric->term_weight[t] && fabric->term_weight[fabric->dest_term[d]] &&
			    t != fabric->dest_term[d])
				slow_pair(old, new, t, d, &changes);
	}
	return changes;
}

/* A ring with chords, of which some are missing, and switches at its end. */
static void draw(struct side *side, uint32_t n, uint32_t skip, uint32_t n_switches,
		 enum table_kind kind, uint64_t seed)
{
	struct draft draft;

	*side = (struct side){ .routing = { 0 } };
	draft_new(&draft);
	for (uint32_t s = 0; s < n_switches; s++)
		draft_switch(&draft);
	for (uint32_t s = 0; s < n_switches; s++)
		for (uint32_t i = 0; i <= s % 3; i++)
			draft_host(&draft, s);
	for (uint32_t s = 0; s + 1 < n_switches; s++)
		draft_link(&draft, s, s + 1);
	for (uint32_t s = 0; s + 2 < n_switches && s + 2 < n; s++) {
		/* The port stays empty if the cable is not there. */
		if (s == skip) {
			draft.n_used[s]++;
			draft.n_used[s + 2]++;
		} else {
			draft_link(&draft, s, s + 2);
		}
	}
	draft_build(&draft, &side->test, "chords");
	table_make(kind, &side->test.fabric, &side->arena, seed, &side->routing);
}

static void drop_side(struct side *side)
{
	osr_arena_free(&side->arena);
	test_fabric_free(&side->test);
}

static void judge_changes(const struct side *old, const struct side *new)
{
	struct osr_changes want = slow(old, new), got;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag;

	assert_int_equal(osr_changes(&old->test.fabric, &old->routing, &new->test.fabric,
				     &new->routing, &scratch, &got, &diag),
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
			old.routing.lft[(seed * 977 + i * 131) % (old.routing.n_dests * n)] =
				OSR_NO_PATH;
			new.routing.lft[(seed * 613 + i * 151) % (new.routing.n_dests *n)] =
				(uint8_t)i;
		}
		judge_changes(&old, &old);
		judge_changes(&old, &new);
		judge_changes(&new, &old);
		judge_changes(&old, &less);
		judge_changes(&less, &old);
		cut += slow(&old, &new).n_cut;
		lost += slow(&old, &new).n_lost;
		found += slow(&old, &new).n_found;
		sl += slow(&old, &new).n_sl;
		gone += slow(&old, &less).n_gone;
		drop_side(&old);
		drop_side(&new);
		drop_side(&less);
	}
	/* Otherwise this would judge_changes nothing. */
	assert_true(cut && lost && sl && gone && found);
}

static enum osr_status changes_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				    struct osr_diag *diag)
{
	const struct side *side = ctx;
	struct osr_changes changes;
	enum osr_status st = osr_changes(&side->test.fabric, &side->routing, &side->test.fabric,
					 &side->routing, scratch, &changes, diag);

	assert_true(st || (changes.n_pairs && !changes.n_path && !changes.n_cut));
	return st;
}

static void test_changes_out_of_memory(void **state)
{
	struct side side;

	draw(&side, 5, OSR_NONE, 5, TABLE_SHORTEST, 1);
	assert_true(test_starve(changes_once, &side) > 3);
	drop_side(&side);
}

TEST_PROGRAM(test_workers, test_given, test_few_hosts, test_single_routes, test_out_of_memory,
	     test_against_paths, test_changes_out_of_memory)
