/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * example - up/down routing, the worked example of docs/engine-guide.md. No engine of the product:
 * it keeps one virtual lane free of deadlock on every fabric, but balances poorly and takes longer
 * paths than it must.
 *
 * Source: Schroeder et al., Autonet: A High-Speed, Self-Configuring Local Area Network Using
 * Point-to-Point Links, IEEE JSAC 9(8), 1991. Switches are numbered from a root outwards; a channel
 * goes up if it leads to a lower number. No packet goes up again once it went down, so numbers fall
 * and then rise along every route, and no dependencies can close a cycle.
 *
 * DIFFERS: forwarding tables know the destination only, not where a packet came from. A switch from
 * which the destination lies downwards must therefore send down, even if there is a shorter way up
 * and down again.
 */
#include <osmroutes/engine.h>
#include <osmroutes/span.h>
#include <osmroutes/spf.h>

#include <string.h>

enum { SPREAD };

static const struct osr_param params[] = {
	[SPREAD] = { "spread", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		     "of equally long routes up take that with the fewest trees, not the first" },
	{ 0 }
};

struct updown {
	const struct osr_spf *s;
	const struct osr_fabric *f;
	bool spread;
	uint32_t *number; /* [n_switches] place in the order from the root outwards */
	uint32_t *length; /* [n_switches] channels to the destination; OSR_NONE: no route yet */
	uint32_t *queue;  /* [n_switches] */
	uint32_t *trees;  /* [n_channels] destinations routed over it */
};

static enum osr_status example_init(struct updown *u, const struct osr_spf *s, bool spread,
				    struct osr_arena *scratch, struct osr_diag *diag)
{
	size_t n = s->f->n_switches;

	*u = (struct updown){ .s = s, .f = s->f, .spread = spread };
	u->number = osr_alloc(scratch, n, sizeof(*u->number));
	u->length = osr_alloc(scratch, n, sizeof(*u->length));
	u->queue = osr_alloc(scratch, n, sizeof(*u->queue));
	u->trees = osr_calloc(scratch, s->f->n_channels, sizeof(*u->trees));
	if (!u->number || !u->length || !u->queue || !u->trees)
		return osr_fail(diag, OSR_NOMEM, "out of memory for up/down routes");
	return OSR_OK;
}

/* The core has searched from every switch already; the center of a component is its root. */
static void example_number_switches(struct updown *u)
{
	const struct osr_fabric *f = u->f;

	for (uint32_t k = 0; k < f->n_components; k++) {
		uint32_t root = u->s->center[k];

		for (uint32_t i = 0; i < u->s->n_order[root]; i++)
			u->number[u->s->order[(size_t)root * f->n_switches + i]] = i;
	}
}

static bool example_goes_up(const struct updown *u, uint32_t c)
{
	return u->number[u->f->chan_dst[c]] < u->number[u->f->chan_src[c]];
}

/* Breadth first from the destination's switch, backwards over channels that go down. */
static void example_route_down(struct updown *u, uint32_t dest_switch, uint8_t *hop)
{
	const struct osr_fabric *f = u->f;
	uint32_t head = 0, tail = 0;

	memset(u->length, 0xff, f->n_switches * sizeof(*u->length));
	u->length[dest_switch] = 0;
	u->queue[tail++] = dest_switch;
	while (head < tail) {
		uint32_t v = u->queue[head++];

		for (uint32_t out = f->chan_row[v]; out < f->chan_row[v + 1]; out++) {
			uint32_t in = f->chan_rev[out], from = f->chan_src[in];

			if (u->length[from] != OSR_NONE || example_goes_up(u, in))
				continue;
			u->length[from] = u->length[v] + 1;
			hop[from] = (uint8_t)(in - f->chan_row[from]);
			u->queue[tail++] = from;
		}
	}
}

static bool example_is_better(const struct updown *u, uint32_t c, uint32_t best)
{
	uint32_t length = u->length[u->f->chan_dst[c]], least;

	if (best == OSR_NONE)
		return true;
	least = u->length[u->f->chan_dst[best]];
	return length < least || (length == least && u->spread && u->trees[c] < u->trees[best]);
}

/* All others go up, the root's neighbours first, so that what is above has its route. */
static void example_route_up(struct updown *u, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *f = u->f;
	const uint16_t *order = u->s->order + (size_t)root * f->n_switches;

	for (uint32_t i = 0; i < u->s->n_order[root]; i++) {
		uint32_t v = order[i], best = OSR_NONE;

		if (u->length[v] != OSR_NONE)
			continue;
		for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++)
			if (example_goes_up(u, c) && example_is_better(u, c, best))
				best = c;
		u->length[v] = u->length[f->chan_dst[best]] + 1;
		hop[v] = (uint8_t)(best - f->chan_row[v]);
	}
}

static uint32_t example_route_all(struct updown *u, uint8_t *hops)
{
	const struct osr_fabric *f = u->f;
	uint32_t n_longer = 0;

	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint8_t *hop = hops + (size_t)d * f->n_switches;
		uint32_t sw = f->dest_switch[d];

		example_route_down(u, sw, hop);
		example_route_up(u, u->s->center[f->sw_component[sw]], hop);
		/* A route is longer than it need be if one of its channels leads no closer. */
		for (uint32_t v = 0; v < f->n_switches; v++) {
			bool shortest = true;

			if (v != sw && u->length[v] != OSR_NONE)
				u->trees[f->chan_row[v] + hop[v]]++;
			for (uint32_t w = v; w != sw && u->length[v] != OSR_NONE && shortest;
			     w = f->chan_dst[f->chan_row[w] + hop[w]])
				shortest = osr_spf_is_closer(u->s, sw, f->chan_row[w] + hop[w]);
			n_longer += !shortest;
		}
	}
	return n_longer;
}

/*
 * On the way up ranks rise as the numbers fall, on the way down they rise with them, and every down
 * channel is above every up channel: each packet travels to strictly higher ranks.
 */
static enum osr_status example_certify(const struct updown *u, struct osr_arena *result,
				       struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_fabric *f = u->f;

	r->rank = osr_alloc(result, f->n_channels, sizeof(*r->rank));
	if (!r->rank)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the deadlock certificate");
	for (uint32_t c = 0; c < f->n_channels; c++)
		r->rank[c] = example_goes_up(u, c) ? f->n_switches - u->number[f->chan_src[c]]
						   : f->n_switches + u->number[f->chan_dst[c]];
	r->n_vls = r->n_layers = r->n_layers_one_way = 1;
	r->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	r->claims |= r->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	return OSR_OK;
}

/* The parent of each switch is the highest of its neighbours above. */
static enum osr_status example_add_multicast(const struct updown *u, struct osr_arena *scratch,
					     struct osr_arena *result, struct osr_routing *r,
					     struct osr_diag *diag)
{
	const struct osr_fabric *f = u->s->f;
	uint32_t *tree = osr_alloc(scratch, f->n_switches, sizeof(*tree));

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	memset(tree, 0xff, f->n_switches * sizeof(*tree));
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t *up = &tree[f->chan_src[c]];

		if (example_goes_up(u, c) &&
		    (*up == OSR_NONE || u->number[f->chan_dst[c]] < u->number[f->chan_dst[*up]]))
			*up = c;
	}
	r->claims |= OSR_CLAIM_MULTICAST;
	return osr_span_take(f, tree, scratch, result, r, diag);
}

static enum osr_status example_route(const struct osr_job *job)
{
	const struct osr_fabric *f = job->fabric;
	const struct osr_values *v = job->values;
	const struct osr_request *req = &job->request;
	struct osr_arena *scratch = job->scratch, *result = job->arena;
	struct osr_routing *r = job->routing;
	struct osr_diag *diag = job->diag;
	struct osr_spf_options spf_opt = { .max_rounds = 0 };
	struct updown u;
	struct osr_spf s;
	enum osr_status st;

	st = osr_routing_init(r, f, result, diag);
	if (!st)
		st = osr_spf_init(&s, f, r, &spf_opt, scratch, diag);
	if (!st)
		st = example_init(&u, &s, v->num[SPREAD], scratch, diag);
	if (st)
		return st;
	example_number_switches(&u);
	r->n_longer = example_route_all(&u, s.hop);
	st = example_certify(&u, result, r, diag);
	if (!st && req->multicast)
		st = example_add_multicast(&u, scratch, result, r, diag);
	if (st)
		return st;
	osr_spf_finish(&s);
	r->engine = "example";
	return OSR_OK;
}

const struct osr_engine osr_engine_example = {
	.name = "example",
	.summary = "up/down routing on one virtual lane; for the engine guide",
	.reference = "Schroeder et al.: Autonet, IEEE JSAC 9(8), 1991",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE,
	.route = example_route,
};
