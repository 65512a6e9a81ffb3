/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See cdg.h. Slots serve counting; for ordering they are compacted into an edge list with both
 * directions (struct edges), because a fabric has far more slots than edges in use.
 */
#include "core/order/cdg.h"

#include <stdlib.h>
#include <string.h>

uint32_t *osr__cdg_rows(const struct osr_fabric *fabric, struct osr_arena *scratch,
			struct osr_diag *diag)
{
	uint32_t *row = osr_alloc(scratch, (size_t)fabric->n_channels + 1, sizeof(*row));
	uint64_t n = 0;

	if (osr_arena_failed(scratch, diag))
		return NULL;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t u = fabric->chan_dst[c];

		row[c] = (uint32_t)n;
		n += fabric->chan_row[u + 1] - fabric->chan_row[u];
	}
	row[fabric->n_channels] = (uint32_t)n;
	if (n <= UINT32_MAX)
		return row;
	osr_fail(diag, OSR_INVAL, "the fabric has more than 2^32 pairs of channels");
	return NULL;
}

enum osr_status osr_cdg_init(struct osr_cdg *cdg, const struct osr_fabric *fabric,
			     struct osr_arena *scratch, struct osr_diag *diag)
{
	cdg->f = fabric;
	cdg->row = osr__cdg_rows(fabric, scratch, diag);
	if (!cdg->row)
		return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_INVAL;
	cdg->n_slots = cdg->row[fabric->n_channels];
	cdg->weight = osr_calloc(scratch, cdg->n_slots, sizeof(*cdg->weight));
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
}

/* ---- edge lists ------------------------------------------------------------------------------ */

/*
 * What it costs to make an edge backward: one that must not be costs more than all others
 * together.
 */
static int64_t cdg_cost_of(struct edge e)
{
	return e.weight == UINT32_MAX ? (int64_t)1 << 48 : e.weight;
}

bool osr__cdg_reverse(struct edges *x, struct osr_arena *scratch)
{
	size_t n = x->n_chans;
	uint32_t *fill;

	x->in_row = osr_calloc(scratch, n + 2, sizeof(*x->in_row));
	x->in = osr_alloc(scratch, x->n, sizeof(*x->in));
	if (!x->in_row || !x->in)
		return false;
	/* in_row is kept one entry ahead while it is filled, so that it ends up in place. */
	for (uint32_t e = 0; e < x->n; e++)
		x->in_row[x->out[e].other + 2]++;
	fill = x->in_row + 1;
	for (uint32_t c = 0; c < n; c++)
		fill[c + 1] += fill[c];
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t e = x->out_row[c]; e < x->out_row[c + 1]; e++)
			x->in[fill[x->out[e].other]++] = (struct edge){ c, x->out[e].weight };
	return true;
}

/* The edges of the graph by tail, in x->out. */
static bool collect_edges(const struct osr_cdg *cdg, struct osr_arena *scratch, struct edges *x)
{
	uint32_t n = cdg->f->n_channels, at = 0;

	*x = (struct edges){ .n_chans = n };
	for (uint32_t e = 0; e < cdg->n_slots; e++)
		x->n += cdg->weight[e] != 0;
	x->out_row = osr_alloc(scratch, (size_t)n + 1, sizeof(*x->out_row));
	x->out = osr_alloc(scratch, x->n, sizeof(*x->out));
	if (!x->out_row || !x->out)
		return false;
	for (uint32_t c = 0; c < n; c++) {
		x->out_row[c] = at;
		for (uint32_t e = cdg->row[c]; e < cdg->row[c + 1]; e++)
			if (cdg->weight[e])
				x->out[at++] =
					(struct edge){ osr_cdg_target(cdg, c, e), cdg->weight[e] };
	}
	x->out_row[n] = at;
	return true;
}

/* ---- topological order ----------------------------------------------------------------------- */

bool osr__cdg_sort_edges(const struct edges *x, struct osr_arena *scratch, uint32_t *rank)
{
	uint32_t n = x->n_chans, head = 0, tail = 0;
	uint32_t *in = osr_calloc(scratch, n, sizeof(*in));
	uint32_t *queue = osr_alloc(scratch, n, sizeof(*queue));

	if (osr_arena_failed(scratch, NULL))
		return false;
	for (uint32_t e = 0; e < x->n; e++)
		in[x->out[e].other]++;
	for (uint32_t c = 0; c < n; c++)
		if (!in[c])
			queue[tail++] = c;
	while (head < tail) {
		uint32_t c = queue[head];

		rank[c] = head++;
		for (uint32_t e = x->out_row[c]; e < x->out_row[c + 1]; e++)
			if (--in[x->out[e].other] == 0)
				queue[tail++] = x->out[e].other;
	}
	return tail == n;
}

bool osr_cdg_sort(const struct osr_cdg *cdg, struct osr_arena *scratch, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct edges x;
	bool sorted = collect_edges(cdg, scratch, &x) && osr__cdg_sort_edges(&x, scratch, rank);

	if (!osr_arena_failed(scratch, NULL))
		osr_arena_reset(scratch, mark);
	return sorted;
}

/* ---- what goes backward ---------------------------------------------------------------------- */

static uint64_t backward_weight(const struct edges *x, const uint32_t *rank)
{
	uint64_t sum = 0;

	for (uint32_t c = 0; c < x->n_chans; c++)
		for (uint32_t e = x->out_row[c]; e < x->out_row[c + 1]; e++)
			if (rank[x->out[e].other] < rank[c])
				sum += (uint64_t)cdg_cost_of(x->out[e]);
	return sum;
}

/* ---- Eades, Lin, Smyth ----------------------------------------------------------------------- */

struct heap_entry {
	int64_t key; /* outgoing - incoming weight when pushed */
	uint32_t chan;
};

struct els {
	const struct edges *x;
	int64_t *in, *out; /* weight from and to channels not yet placed */
	uint8_t *placed;
	uint32_t *sequence;
	uint32_t lo, hi; /* next free places from the front and from the back */
	uint32_t *stack; /* sources and sinks found; a channel enters at most once as each */
	uint32_t n_stack;
	struct heap_entry *heap; /* lazy: stale entries are skipped */
	size_t n_heap;
};

static bool heap_before(struct heap_entry heap, struct heap_entry b)
{
	return heap.key != b.key ? heap.key > b.key : heap.chan < b.chan;
}

static void heap_push(struct els *w, struct heap_entry entry)
{
	size_t i = w->n_heap++;

	while (i && heap_before(entry, w->heap[(i - 1) / 2])) {
		w->heap[i] = w->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	w->heap[i] = entry;
}

static struct heap_entry heap_pop(struct els *w)
{
	struct heap_entry top = w->heap[0], last = w->heap[--w->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < w->n_heap) {
		if (child + 1 < w->n_heap && heap_before(w->heap[child + 1], w->heap[child]))
			child++;
		if (!heap_before(w->heap[child], last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return top;
}

/* The weight of a neighbour changed: it is now a source or sink, or it moves within the heap. */
static void els_touch(struct els *w, uint32_t c)
{
	if (w->in[c] == 0 || w->out[c] == 0)
		w->stack[w->n_stack++] = c;
	else
		heap_push(w, (struct heap_entry){ w->out[c] - w->in[c], c });
}

static void els_place(struct els *w, uint32_t c, bool front)
{
	const struct edges *x = w->x;

	w->placed[c] = 1;
	w->sequence[front ? w->lo++ : --w->hi] = c;
	for (uint32_t e = x->out_row[c]; e < x->out_row[c + 1]; e++) {
		uint32_t o = x->out[e].other;

		if (w->placed[o])
			continue;
		w->in[o] -= cdg_cost_of(x->out[e]);
		els_touch(w, o);
	}
	for (uint32_t e = x->in_row[c]; e < x->in_row[c + 1]; e++) {
		uint32_t o = x->in[e].other;

		if (w->placed[o])
			continue;
		w->out[o] -= cdg_cost_of(x->in[e]);
		els_touch(w, o);
	}
}

static void els_run(struct els *w)
{
	while (w->lo < w->hi) {
		if (w->n_stack) {
			uint32_t c = w->stack[--w->n_stack];

			if (!w->placed[c])
				els_place(w, c, w->out[c] != 0);
		} else {
			struct heap_entry top = heap_pop(w);

			if (!w->placed[top.chan] && top.key == w->out[top.chan] - w->in[top.chan])
				els_place(w, top.chan, true);
		}
	}
}

static bool els_order(const struct edges *x, struct osr_arena *scratch, uint32_t *sequence)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = x->n_chans;
	struct els w = { .x = x, .sequence = sequence, .hi = x->n_chans };

	w.in = osr_calloc(scratch, n, sizeof(*w.in));
	w.out = osr_calloc(scratch, n, sizeof(*w.out));
	w.placed = osr_calloc(scratch, n, 1);
	/* Each edge touches a neighbour once when either end is placed. */
	w.stack = osr_alloc(scratch, n + 2 * (size_t)x->n, sizeof(*w.stack));
	w.heap = osr_alloc(scratch, n + 2 * (size_t)x->n, sizeof(*w.heap));
	if (!w.in || !w.out || !w.placed || !w.stack || !w.heap)
		return false;
	for (uint32_t c = 0; c < n; c++) {
		for (uint32_t e = x->out_row[c]; e < x->out_row[c + 1]; e++)
			w.out[c] += cdg_cost_of(x->out[e]);
		for (uint32_t e = x->in_row[c]; e < x->in_row[c + 1]; e++)
			w.in[c] += cdg_cost_of(x->in[e]);
	}
	for (uint32_t c = 0; c < n; c++)
		els_touch(&w, c);
	els_run(&w);
	osr_arena_reset(scratch, mark);
	return true;
}

/* ---- up-down --------------------------------------------------------------------------------- */

struct updown_key {
	uint64_t key;
	uint32_t chan;
};

static int cdg_by_key(const void *a, const void *b)
{
	const struct updown_key *key = a, *updown = b;

	if (key->key != updown->key)
		return key->key < updown->key ? -1 : 1;
	return key->chan < updown->chan ? -1 : key->chan > updown->chan;
}

void osr_order_number(const struct osr_fabric *fabric, const uint32_t *roots, uint32_t *place,
		      uint32_t *parent, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	memset(place, 0xff, fabric->n_switches * sizeof(*place));
	memset(parent, 0xff, fabric->n_switches * sizeof(*parent));
	for (uint32_t k = 0; k < fabric->n_components; k++) {
		place[roots[k]] = tail;
		queue[tail++] = roots[k];
		for (; head < tail; head++) {
			uint32_t v = queue[head];

			for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
				uint32_t u = fabric->chan_dst[c];

				if (place[u] != OSR_NONE)
					continue;
				place[u] = tail;
				parent[u] = fabric->chan_rev[c];
				queue[tail++] = u;
			}
		}
	}
}

void osr_order_updown(const struct osr_fabric *fabric, const uint32_t *place, uint32_t *rank)
{
	uint32_t n = fabric->n_switches;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t from = place[fabric->chan_src[c]], to = place[fabric->chan_dst[c]];

		rank[c] = to < from ? n - from : n + from;
	}
}

/* Writes the channels in up-down order into sequence[]. */
static bool updown_order(const struct osr_fabric *fabric, const uint32_t *roots,
			 struct osr_arena *scratch, uint32_t *sequence)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint64_t n = fabric->n_switches;
	uint32_t *number = osr_alloc(scratch, n, sizeof(*number));
	uint32_t *queue = osr_alloc(scratch, n, sizeof(*queue));
	uint32_t *parent = osr_alloc(scratch, n, sizeof(*parent));
	struct updown_key *keys = osr_alloc(scratch, fabric->n_channels, sizeof(*keys));

	if (osr_arena_failed(scratch, NULL))
		return false;
	osr_order_number(fabric, roots, number, parent, queue);
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint64_t src = number[fabric->chan_src[c]], dst = number[fabric->chan_dst[c]];

		/* Up: far from the root first. Down: after all of them, near the root first. */
		keys[c].key = dst < src ? (n - src) * n + (n - dst) : (n + 1 + src) * n + dst;
		keys[c].chan = c;
	}
	qsort(keys, fabric->n_channels, sizeof(*keys), cdg_by_key);
	for (uint32_t i = 0; i < fabric->n_channels; i++)
		sequence[i] = keys[i].chan;
	osr_arena_reset(scratch, mark);
	return true;
}

/* ---- sifting --------------------------------------------------------------------------------- */

/*
 * The order is a list. Labels rise along it, so that two nodes are compared without counting; a node
 * that moves gets the middle between its new neighbours' (Dietz and Sleator, Two algorithms for
 * maintaining order in a list, STOC 1987). DIFFERS: where there is no middle, all are numbered anew.
 */
struct sift {
	const struct edges *x;
	uint32_t *next, *prev; /* [n_chans + 1] a ring; the last one stands before the first */
	uint64_t *label;       /* [n_chans + 1] */
	uint8_t *dirty;        /* a neighbour moved since this channel was last placed */
	uint32_t *visit;       /* [n_chans] order of visits in this pass */
	struct sift_neighbour {
		uint64_t label;
		int64_t gain; /* what backward weight changes by when the channel moves past it */
		uint32_t node;
	} * near; /* [largest degree] */
};

#define LABEL_GAP 31 /* bits between neighbours, once all are numbered */

static void sift_number(struct sift *w)
{
	uint32_t head = w->x->n_chans;
	uint64_t n = 0;

	for (uint32_t c = w->next[head]; c != head; c = w->next[c])
		w->label[c] = ++n << LABEL_GAP;
}

/* The neighbours of c by place. Lists are short and nearly sorted: insertion. */
static uint32_t sift_neighbours(struct sift *w, uint32_t c)
{
	const struct edges *x = w->x;
	uint32_t n = 0;

	for (int out = 0; out <= 1; out++) {
		const struct edge *list = out ? x->out : x->in;
		const uint32_t *row = out ? x->out_row : x->in_row;

		for (uint32_t e = row[c]; e < row[c + 1]; e++) {
			uint64_t label = w->label[list[e].other];
			uint32_t i = n++;

			for (; i && w->near[i - 1].label > label; i--)
				w->near[i] = w->near[i - 1];
			w->near[i] = (struct sift_neighbour){
				.label = label,
				.gain = out ? cdg_cost_of(list[e]) : -cdg_cost_of(list[e]),
				.node = list[e].other,
			};
		}
	}
	return n;
}

/* The middle between node `before` and the next one. */
static uint64_t sift_between(const struct sift *w, uint32_t before)
{
	uint32_t head = w->x->n_chans, next = w->next[before];
	uint64_t from = w->label[before],
		 to = next == head ? (head + (uint64_t)1) << LABEL_GAP : w->label[next];

	return from + (to - from) / 2;
}

/* Takes c out and puts it behind node `before`. */
static void sift_move(struct sift *w, uint32_t c, uint32_t before)
{
	w->next[w->prev[c]] = w->next[c];
	w->prev[w->next[c]] = w->prev[c];
	w->label[c] = sift_between(w, before);
	if (w->label[c] == w->label[before]) {
		sift_number(w);
		w->label[c] = sift_between(w, before);
	}
	w->next[c] = w->next[before];
	w->prev[c] = before;
	w->prev[w->next[c]] = c;
	w->next[before] = c;
}

static void sift_mark(struct sift *w, uint32_t c)
{
	const struct edges *x = w->x;

	for (uint32_t e = x->out_row[c]; e < x->out_row[c + 1]; e++)
		w->dirty[x->out[e].other] = 1;
	for (uint32_t e = x->in_row[c]; e < x->in_row[c + 1]; e++)
		w->dirty[x->in[e].other] = 1;
}

/* Puts c where it costs least; true if that is better than where it was. */
static bool sift_one(struct sift *w, uint32_t c)
{
	uint32_t n = sift_neighbours(w, c), best_at = 0;
	int64_t sum = 0, best = 0, here = 0;

	/* Cost relative to the far left; place i is between neighbour i-1 and neighbour i. */
	for (uint32_t i = 0; i < n; i++) {
		sum += w->near[i].gain;
		if (w->near[i].label < w->label[c])
			here = sum;
		if (sum < best) {
			best = sum;
			best_at = i + 1;
		}
	}
	if (best >= here)
		return false;
	/* Before all: some neighbour lies to the left, and the first one is the first of those. */
	sift_move(w, c, best_at ? w->near[best_at - 1].node : w->prev[w->near[0].node]);
	sift_mark(w, c);
	return true;
}

/* One pass over the channels whose surroundings changed; true if any moved. */
static bool sift_pass(struct sift *w)
{
	uint32_t head = w->x->n_chans, n = 0;
	bool moved = false;

	for (uint32_t c = w->next[head]; c != head; c = w->next[c])
		w->visit[n++] = c;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = w->visit[i];

		if (!w->dirty[c])
			continue;
		w->dirty[c] = 0;
		moved |= sift_one(w, c);
	}
	return moved;
}

bool osr__cdg_sift(const struct edges *x, uint32_t passes, struct osr_arena *scratch,
		   uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t head = x->n_chans, last = head, most = 0, n = 0;
	struct sift w = { .x = x,
			  .next = osr_alloc(scratch, head + (size_t)1, sizeof(*w.next)),
			  .prev = osr_alloc(scratch, head + (size_t)1, sizeof(*w.prev)),
			  .label = osr_calloc(scratch, head + (size_t)1, sizeof(*w.label)),
			  .dirty = osr_alloc(scratch, head, 1),
			  .visit = osr_alloc(scratch, head, sizeof(*w.visit)) };

	for (uint32_t c = 0; c < head; c++) {
		uint32_t degree =
			x->out_row[c + 1] - x->out_row[c] + x->in_row[c + 1] - x->in_row[c];

		most = most < degree ? degree : most;
	}
	w.near = osr_alloc(scratch, most, sizeof(*w.near));
	if (osr_arena_failed(scratch, NULL))
		return false;
	for (uint32_t c = 0; c < head; c++)
		w.visit[rank[c]] = c;
	for (uint32_t i = 0; i < head; last = w.visit[i++]) {
		w.next[last] = w.visit[i];
		w.prev[w.visit[i]] = last;
	}
	w.next[last] = head;
	w.prev[head] = last;
	sift_number(&w);
	memset(w.dirty, 1, head);
	for (uint32_t i = 0; i < passes && sift_pass(&w); i++)
		;
	for (uint32_t c = w.next[head]; c != head; c = w.next[c])
		rank[c] = n++;
	osr_arena_reset(scratch, mark);
	return true;
}

#define DENSE 5       /* edges per channel */
#define SIFT_PASSES 3 /* of the better start; 1 and 20 gave the same tables in 31 of 32 cases */

enum osr_status osr_cdg_order(const struct osr_cdg *cdg, const uint32_t *roots,
			      struct osr_arena *scratch, uint32_t *rank, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = cdg->f->n_channels, *sequence = osr_alloc(scratch, n, sizeof(*sequence)),
		 *starts[2] = { rank, osr_alloc(scratch, n, sizeof(*rank)) };
	uint64_t backward[2] = { 0 };
	struct edges x;
	int n_starts;

	if (osr_arena_failed(scratch, NULL) || !collect_edges(cdg, scratch, &x) ||
	    !osr__cdg_reverse(&x, scratch))
		goto no_memory;
	/*
	 * One pass tells which start suits the graph; only that one is worth the others. On dense
	 * graphs (HyperX, dragonfly) it has always been the up-down start, and the other is the
	 * expensive one.
	 */
	n_starts = x.n > DENSE * n ? 1 : 2;
	for (int i = 0; i < n_starts; i++) {
		if (!(i ? els_order(&x, scratch, sequence)
			: updown_order(cdg->f, roots, scratch, sequence)))
			goto no_memory;
		for (uint32_t at = 0; at < n; at++)
			starts[i][sequence[at]] = at;
		if (!osr__cdg_sift(&x, 1, scratch, starts[i]))
			goto no_memory;
		backward[i] = backward_weight(&x, starts[i]);
	}
	/* Of equals the up-down start: it has a place for channels without edges as well. */
	if (n_starts == 2 && backward[1] < backward[0])
		memcpy(rank, starts[1], n * sizeof(*rank));
	if (!osr__cdg_sift(&x, SIFT_PASSES - 1, scratch, rank))
		goto no_memory;
	osr_arena_reset(scratch, mark);
	return OSR_OK;

no_memory:
	osr_arena_failed(scratch, diag);
	return OSR_NOMEM;
}
