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
	const struct osr_spf *spf;
	const struct osr_fabric *fabric;
	bool spread;
	uint32_t *number; /* [n_switches] place in the order from the root outwards */
	uint32_t *length; /* [n_switches] channels to the destination; OSR_NONE: no route yet */
	uint32_t *queue;  /* [n_switches] */
	uint32_t *trees;  /* [n_channels] destinations routed over it */
};

static enum osr_status example_init(struct updown *updown, const struct osr_spf *spf, bool spread,
				    struct osr_arena *scratch, struct osr_diag *diag)
{
	size_t n = spf->fabric->n_switches;

	*updown = (struct updown){ .spf = spf, .fabric = spf->fabric, .spread = spread };
	updown->number = osr_alloc(scratch, n, sizeof(*updown->number));
	updown->length = osr_alloc(scratch, n, sizeof(*updown->length));
	updown->queue = osr_alloc(scratch, n, sizeof(*updown->queue));
	updown->trees = osr_calloc(scratch, spf->fabric->n_channels, sizeof(*updown->trees));
	if (!updown->number || !updown->length || !updown->queue || !updown->trees)
		return osr_fail(diag, OSR_NOMEM, "out of memory for up/down routes");
	return OSR_OK;
}

/* The core has searched from every switch already; the center of a component is its root. */
static void example_number_switches(struct updown *updown)
{
	const struct osr_fabric *fabric = updown->fabric;

	for (uint32_t k = 0; k < fabric->n_components; k++) {
		uint32_t root = updown->spf->center[k];

		for (uint32_t i = 0; i < updown->spf->n_order[root]; i++)
			updown->number[updown->spf->order[(size_t)root * fabric->n_switches + i]] =
				i;
	}
}

static bool example_goes_up(const struct updown *updown, uint32_t c)
{
	return updown->number[updown->fabric->chan_dst[c]] <
	       updown->number[updown->fabric->chan_src[c]];
}

/* Breadth first from the destination's switch, backwards over channels that go down. */
static void example_route_down(struct updown *updown, uint32_t dest_switch, uint8_t *hop)
{
	const struct osr_fabric *fabric = updown->fabric;
	uint32_t head = 0, tail = 0;

	memset(updown->length, 0xff, fabric->n_switches * sizeof(*updown->length));
	updown->length[dest_switch] = 0;
	updown->queue[tail++] = dest_switch;
	while (head < tail) {
		uint32_t v = updown->queue[head++];

		for (uint32_t out = fabric->chan_row[v]; out < fabric->chan_row[v + 1]; out++) {
			uint32_t in = fabric->chan_rev[out], from = fabric->chan_src[in];

			if (updown->length[from] != OSR_NONE || example_goes_up(updown, in))
				continue;
			updown->length[from] = updown->length[v] + 1;
			hop[from] = (uint8_t)(in - fabric->chan_row[from]);
			updown->queue[tail++] = from;
		}
	}
}

static bool example_is_better(const struct updown *updown, uint32_t c, uint32_t best)
{
	uint32_t length = updown->length[updown->fabric->chan_dst[c]], least;

	if (best == OSR_NONE)
		return true;
	least = updown->length[updown->fabric->chan_dst[best]];
	return length < least ||
	       (length == least && updown->spread && updown->trees[c] < updown->trees[best]);
}

/* All others go up, the root's neighbours first, so that what is above has its route. */
static void example_route_up(struct updown *updown, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = updown->fabric;
	const uint16_t *order = updown->spf->order + (size_t)root * fabric->n_switches;

	for (uint32_t i = 0; i < updown->spf->n_order[root]; i++) {
		uint32_t v = order[i], best = OSR_NONE;

		if (updown->length[v] != OSR_NONE)
			continue;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++)
			if (example_goes_up(updown, c) && example_is_better(updown, c, best))
				best = c;
		updown->length[v] = updown->length[fabric->chan_dst[best]] + 1;
		hop[v] = (uint8_t)(best - fabric->chan_row[v]);
	}
}

static uint32_t example_route_all(struct updown *updown, uint8_t *hops)
{
	const struct osr_fabric *fabric = updown->fabric;
	uint32_t n_longer = 0;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint8_t *hop = hops + (size_t)d * fabric->n_switches;
		uint32_t sw = fabric->dest_switch[d];

		example_route_down(updown, sw, hop);
		example_route_up(updown, updown->spf->center[fabric->sw_component[sw]], hop);
		/* A route is longer than it need be if one of its channels leads no closer. */
		for (uint32_t v = 0; v < fabric->n_switches; v++) {
			bool shortest = true;

			if (v != sw && updown->length[v] != OSR_NONE)
				updown->trees[fabric->chan_row[v] + hop[v]]++;
			for (uint32_t w = v; w != sw && updown->length[v] != OSR_NONE && shortest;
			     w = fabric->chan_dst[fabric->chan_row[w] + hop[w]])
				shortest = osr_spf_is_closer(updown->spf, sw,
							     fabric->chan_row[w] + hop[w]);
			n_longer += !shortest;
		}
	}
	return n_longer;
}

/*
 * On the way up ranks rise as the numbers fall, on the way down they rise with them, and every down
 * channel is above every up channel: each packet travels to strictly higher ranks.
 */
static enum osr_status example_certify(const struct updown *updown, struct osr_arena *result,
				       struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = updown->fabric;

	routing->rank = osr_alloc(result, fabric->n_channels, sizeof(*routing->rank));
	if (!routing->rank)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the deadlock certificate");
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		routing->rank[c] =
			example_goes_up(updown, c)
				? fabric->n_switches - updown->number[fabric->chan_src[c]]
				: fabric->n_switches + updown->number[fabric->chan_dst[c]];
	routing->n_vls = routing->n_layers = routing->n_layers_one_way = 1;
	routing->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	routing->claims |= routing->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	return OSR_OK;
}

/* The parent of each switch is the highest of its neighbours above. */
static enum osr_status example_add_multicast(const struct updown *updown, struct osr_arena *scratch,
					     struct osr_arena *result, struct osr_routing *routing,
					     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = updown->spf->fabric;
	uint32_t *tree = osr_alloc(scratch, fabric->n_switches, sizeof(*tree));

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	memset(tree, 0xff, fabric->n_switches * sizeof(*tree));
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t *up = &tree[fabric->chan_src[c]];

		if (example_goes_up(updown, c) &&
		    (*up == OSR_NONE ||
		     updown->number[fabric->chan_dst[c]] < updown->number[fabric->chan_dst[*up]]))
			*up = c;
	}
	routing->claims |= OSR_CLAIM_MULTICAST;
	return osr_span_take(fabric, tree, scratch, result, routing, diag);
}

static enum osr_status example_route(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->fabric;
	const struct osr_values *values = job->values;
	const struct osr_request *req = &job->request;
	struct osr_arena *scratch = job->scratch, *result = job->arena;
	struct osr_routing *routing = job->routing;
	struct osr_diag *diag = job->diag;
	struct osr_spf_options spf_opt = { .max_rounds = 0 };
	struct updown updown;
	struct osr_spf spf;
	enum osr_status st;

	st = osr_routing_init(routing, fabric, result, diag);
	if (!st)
		st = osr_spf_init(&spf, fabric, routing, &spf_opt, scratch, diag);
	if (!st)
		st = example_init(&updown, &spf, values->num[SPREAD], scratch, diag);
	if (st)
		return st;
	example_number_switches(&updown);
	routing->n_longer = example_route_all(&updown, spf.hop);
	st = example_certify(&updown, result, routing, diag);
	if (!st && req->multicast)
		st = example_add_multicast(&updown, scratch, result, routing, diag);
	if (st)
		return st;
	osr_spf_finish(&spf);
	routing->engine = "example";
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
