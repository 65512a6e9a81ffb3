/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The slow and simple half of the checker: every route is followed hop by hop, from every switch,
 * and every dependency it makes becomes one bit. Then a depth-first search. Nothing here relies on
 * the tables being sound: what leads nowhere ends, what loops is followed once around.
 *
 * Vertices are channels. With SL2VL tables a packet may change its VL on the way and a cycle may
 * run through several VLs, so that the vertices are then (VL, channel) pairs, and the search starts
 * at those of the VL asked for.
 */
#include <osmroutes/check.h>

#include <string.h>

struct graph {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t modes;
	unsigned vl;
	uint32_t n_layers;  /* 1, or n_vls with SL2VL tables */
	uint16_t *requests; /* [n_switches^2] SLs used to row from column; NULL if not needed */

	/*
	 * Dependency of (layer, c) on (to_layer, the channel that leaves chan_dst[c] by port):
	 * bit ((layer * n_slots + slot[c] + port) * n_layers + to_layer.
	 */
	size_t n_slots;
	size_t *slot; /* [n_channels] */
	uint64_t *bits;

	uint64_t *visited; /* [n_switches] number of the last route that passed */
	uint64_t n_routes;

	uint8_t *color;  /* [n_layers * n_channels] */
	uint32_t *stack; /* [n_layers * n_channels] vertices on the current way, oldest first */
	uint32_t *pos;   /* [n_layers * n_channels] next edge of a vertex on the stack */
};

enum { WHITE, GREY, BLACK };

static size_t edge_bit(const struct graph *g, uint32_t layer, uint32_t c, uint32_t edge)
{
	return (layer * g->n_slots + g->slot[c]) * g->n_layers + edge;
}

/* Channel `to` leaves the switch that channel `from` leads to. */
static void check_cycle_depend(struct graph *g, uint32_t from, uint32_t layer, uint32_t to,
			       uint32_t to_layer)
{
	size_t bit = edge_bit(g, layer, from, g->f->chan_port[to] * g->n_layers + to_layer);

	g->bits[bit / 64] |= 1ull << (bit % 64);
}

static bool graph_alloc(struct graph *g, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = g->f;
	size_t n = fabric->n_channels, n_vertices = n * g->n_layers, n_bits;

	g->slot = osr_alloc(scratch, n, sizeof(*g->slot));
	if (!g->slot)
		return false;
	for (size_t c = 0; c < n; c++) {
		g->slot[c] = g->n_slots;
		g->n_slots += fabric->sw_n_ports[fabric->chan_dst[c]] + 1u;
	}
	if (__builtin_mul_overflow(g->n_slots, (size_t)g->n_layers * g->n_layers, &n_bits))
		return false;
	g->bits = osr_calloc(scratch, n_bits / 64 + 1, sizeof(*g->bits));
	g->visited = osr_calloc(scratch, fabric->n_switches, sizeof(*g->visited));
	g->color = osr_calloc(scratch, n_vertices, sizeof(*g->color));
	g->stack = osr_alloc(scratch, n_vertices, sizeof(*g->stack));
	g->pos = osr_alloc(scratch, n_vertices, sizeof(*g->pos));
	return g->bits && g->visited && g->color && g->stack && g->pos;
}

static bool check_cycle_any_sl(const struct graph *g)
{
	return !g->r->sl || (g->modes & OSR_CLAIM_ANY_SL);
}

/* The SL of a pair, and those that were granted to it earlier. */
static uint16_t sl_bits(const struct graph *g, uint32_t d, uint32_t s)
{
	size_t at = (size_t)d * g->f->n_switches + s;
	uint16_t bits = g->r->granted ? g->r->granted[at] : 0;

	return g->r->sl[at] < 16 ? bits | 1u << g->r->sl[at] : bits;
}

static bool check_cycle_collect_requests(struct graph *g, struct osr_arena *scratch)
{
	size_t n = g->f->n_switches, n_pairs;

	if (!(g->modes & OSR_CLAIM_REVERSIBLE) || check_cycle_any_sl(g))
		return true;
	if (__builtin_mul_overflow(n, n, &n_pairs))
		return false;
	g->requests = osr_calloc(scratch, n_pairs, sizeof(*g->requests));
	if (!g->requests)
		return false;
	for (uint32_t d = 0; d < g->f->n_dests; d++)
		for (uint32_t s = 0; s < n; s++)
			if (osr_lft(g->r, s, d) != OSR_NO_PATH && g->f->sw_sources[s])
				g->requests[g->f->dest_switch[d] * n + s] |= sl_bits(g, d, s);
	return true;
}

/*
 * SLs of packets from switch s to dest d: requests, and replies to requests of d's switch. A port 0
 * is asked by end ports only, and never answered: see check.h.
 */
static uint16_t sls_of(const struct graph *g, uint32_t d, uint32_t s)
{
	bool port0 = !g->f->term_weight[g->f->dest_term[d]];
	size_t n = g->f->n_switches;

	if (s == g->f->dest_switch[d] || (port0 && !g->f->sw_sources[s]))
		return 0;
	if (check_cycle_any_sl(g))
		return 0xffff;
	if (port0 || !g->requests)
		return sl_bits(g, d, s);
	return sl_bits(g, d, s) | g->requests[s * n + g->f->dest_switch[d]];
}

static unsigned check_cycle_map_vl(const struct graph *g, uint32_t s, unsigned in, unsigned out,
				   unsigned sl)
{
	size_t pair = in * ((size_t)g->f->sw_n_ports[s] + 1) + out;

	return g->r->sl2vl[g->r->sl2vl_row[s] + pair][sl];
}

/* VL15 and what lies beyond the routing's VLs is no layer: such packets go no further. */
static uint32_t layer_bit(const struct graph *g, unsigned vl)
{
	return vl < g->n_layers ? 1u << vl : 0;
}

/* The layers that packets of an SL are in on the first channel, which leaves switch s by `out`. */
static uint32_t first_layers(const struct graph *g, uint32_t s, unsigned out, unsigned sl)
{
	const struct osr_fabric *fabric = g->f;
	uint32_t layers;

	if (!g->r->sl2vl)
		return 1;
	layers = layer_bit(g, check_cycle_map_vl(g, s, 0, out, sl));
	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		layers |= layer_bit(g, check_cycle_map_vl(g, s, fabric->term_port[t], out, sl));
	return layers;
}

static uint32_t next_layers(const struct graph *g, uint32_t from, uint32_t to, unsigned sl)
{
	const struct osr_fabric *fabric = g->f;
	unsigned in = fabric->chan_port[fabric->chan_rev[from]];

	return g->r->sl2vl ? layer_bit(g, check_cycle_map_vl(g, fabric->chan_src[to], in,
							     fabric->chan_port[to], sl))
			   : 1;
}

static void depend_layers(struct graph *g, uint32_t from, uint32_t layers, uint32_t to,
			  uint32_t to_layers)
{
	for (uint32_t a = layers; a; a &= a - 1)
		for (uint32_t b = to_layers; b; b &= b - 1)
			check_cycle_depend(g, from, __builtin_ctz(a), to, __builtin_ctz(b));
}

/* One route, until it arrives, ends, is dropped or comes to a switch again. */
static void check_cycle_follow(struct graph *g, uint32_t d, uint32_t s, unsigned sl)
{
	const struct osr_fabric *fabric = g->f;
	uint32_t c = osr_port_channel(fabric, s, osr_lft(g->r, s, d));
	uint64_t number = ++g->n_routes;
	uint32_t layers;

	if (c == OSR_NONE)
		return;
	layers = first_layers(g, s, fabric->chan_port[c], sl);
	while (layers && fabric->chan_dst[c] != fabric->dest_switch[d]) {
		uint32_t next = fabric->chan_dst[c],
			 to = osr_port_channel(fabric, next, osr_lft(g->r, next, d));
		uint32_t to_layers;

		if (to == OSR_NONE)
			return;
		to_layers = next_layers(g, c, to, sl);
		depend_layers(g, c, layers, to, to_layers);
		if (g->visited[next] == number)
			return;
		g->visited[next] = number;
		c = to;
		layers = to_layers;
	}
}

static void check_cycle_follow_all(struct graph *g)
{
	const struct osr_fabric *fabric = g->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t sls = sls_of(g, d, s);

			/* VL = SL: one SL matters, and if senders choose, all are alike. */
			if (!g->r->sl2vl)
				sls = check_cycle_any_sl(g) ? !!sls : sls & (1u << g->vl);
			for (; sls; sls &= sls - 1)
				check_cycle_follow(g, d, s, __builtin_ctz(sls));
		}
}

static bool in_mcast_tree(const struct graph *g, uint32_t c)
{
	const uint32_t *parent = g->r->mcast_parent;

	return parent[g->f->chan_src[c]] == c || parent[g->f->chan_dst[c]] == g->f->chan_rev[c];
}

/* The layers of multicast of an SL on tree link c: from hosts, port 0 and the other tree links. */
static uint32_t mcast_layers(const struct graph *g, uint32_t c, unsigned sl)
{
	const struct osr_fabric *fabric = g->f;
	uint32_t s = fabric->chan_src[c], layers = first_layers(g, s, fabric->chan_port[c], sl);

	for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++)
		if (o != c && in_mcast_tree(g, o))
			layers |= next_layers(g, fabric->chan_rev[o], c, sl);
	return layers;
}

/* Any SL, and tables by port pair: a copy's lane depends on the links it came and goes by. */
static void follow_mcast_tables(struct graph *g)
{
	const struct osr_fabric *fabric = g->f;

	for (uint32_t a = 0; a < fabric->n_channels; a++)
		for (uint32_t b = fabric->chan_row[fabric->chan_dst[a]];
		     b < fabric->chan_row[fabric->chan_dst[a] + 1]; b++)
			for (unsigned sl = 0; sl < 16; sl++)
				if (b != fabric->chan_rev[a] && in_mcast_tree(g, a) &&
				    in_mcast_tree(g, b))
					depend_layers(g, a, mcast_layers(g, a, sl), b,
						      next_layers(g, a, b, sl));
}

/* A copy leaves by every tree link but the one the packet came by. */
static void follow_mcast(struct graph *g)
{
	const struct osr_fabric *fabric = g->f;
	uint32_t layer = g->r->sl2vl ? g->r->mcast_vl : 0;

	if (!(g->modes & OSR_CLAIM_MULTICAST) || !g->r->mcast_parent)
		return;
	if (g->r->sl2vl && check_cycle_any_sl(g)) {
		follow_mcast_tables(g);
		return;
	}
	if (g->r->sl2vl ? layer >= g->n_layers : !check_cycle_any_sl(g) && g->vl != g->r->mcast_vl)
		return;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t a = fabric->chan_row[s]; a < fabric->chan_row[s + 1]; a++)
			for (uint32_t b = fabric->chan_row[s]; b < fabric->chan_row[s + 1]; b++)
				if (a != b && in_mcast_tree(g, a) && in_mcast_tree(g, b))
					check_cycle_depend(g, fabric->chan_rev[a], layer, b, layer);
}

/* The next vertex that the top of the stack depends on, or OSR_NONE. */
static uint32_t check_cycle_next_vertex(struct graph *g, uint32_t vertex)
{
	const struct osr_fabric *fabric = g->f;
	uint32_t layer = vertex / fabric->n_channels, c = vertex % fabric->n_channels;
	uint32_t n_edges = (fabric->sw_n_ports[fabric->chan_dst[c]] + 1u) * g->n_layers;

	while (g->pos[vertex] < n_edges) {
		uint32_t edge = g->pos[vertex]++;
		size_t bit = edge_bit(g, layer, c, edge);

		if (g->bits[bit / 64] >> (bit % 64) & 1)
			return edge % g->n_layers * fabric->n_channels +
			       osr_port_channel(fabric, fabric->chan_dst[c], edge / g->n_layers);
	}
	return OSR_NONE;
}

/* Vertices of a cycle that can be reached from start: the last *n of the stack, *depth long. */
static bool check_cycle_search(struct graph *g, uint32_t start, uint32_t *depth, uint32_t *n)
{
	uint32_t top = 0;

	g->stack[0] = start;
	g->pos[start] = 0;
	g->color[start] = GREY;
	for (;;) {
		uint32_t vertex = g->stack[top], next = check_cycle_next_vertex(g, vertex);

		if (next == OSR_NONE) {
			g->color[vertex] = BLACK;
			if (top-- == 0)
				return false;
		} else if (g->color[next] == GREY) {
			*depth = top + 1;
			for (*n = 1; g->stack[top] != next; top--)
				++*n;
			return true;
		} else if (g->color[next] == WHITE) {
			g->stack[++top] = next;
			g->pos[next] = 0;
			g->color[next] = GREY;
		}
	}
}

static uint32_t find_cycle(struct graph *g, uint32_t *cycle, uint32_t max)
{
	uint32_t n_channels = g->f->n_channels, depth, n;
	uint32_t first = g->r->sl2vl ? g->vl * n_channels : 0;

	for (uint32_t v = first; v < first + n_channels; v++) {
		if (g->color[v] != WHITE || !check_cycle_search(g, v, &depth, &n))
			continue;
		for (uint32_t i = 0; i < n && i < max; i++)
			cycle[i] = g->stack[depth - n + i] % n_channels;
		return n;
	}
	return 0;
}

static bool check_cycle_fits(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	return routing->lft && routing->n_switches == fabric->n_switches &&
	       routing->n_dests == fabric->n_dests && routing->n_channels == fabric->n_channels &&
	       routing->n_vls <= OSR_MAX_VLS;
}

uint32_t osr_check_cycle(const struct osr_fabric *fabric, const struct osr_routing *routing,
			 uint32_t modes, uint8_t vl, struct osr_arena *scratch, uint32_t *cycle,
			 uint32_t max, enum osr_status *st)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct graph g = { .f = fabric,
			   .r = routing,
			   .modes = modes,
			   .vl = vl,
			   .n_layers = routing->sl2vl ? routing->n_vls : 1 };
	uint32_t n = 0;

	*st = check_cycle_fits(fabric, routing) ? OSR_OK : OSR_INVAL;
	if (*st != OSR_OK || vl >= OSR_MAX_VLS || (routing->sl2vl && vl >= routing->n_vls))
		return 0;
	if (graph_alloc(&g, scratch) && check_cycle_collect_requests(&g, scratch)) {
		check_cycle_follow_all(&g);
		follow_mcast(&g);
		n = find_cycle(&g, cycle, max);
	} else {
		*st = OSR_NOMEM;
	}
	osr_arena_reset(scratch, mark);
	return n;
}
