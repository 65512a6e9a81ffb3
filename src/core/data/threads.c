/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/threads.h>

#include <osmroutes/arena.h>

uint32_t osr_threads_parts(const struct osr_arena *scratch, uint64_t n_steps)
{
	const struct osr_threads *threads = scratch->threads;

	return threads && n_steps >= threads->n_steps ? threads->n : 1;
}

struct sharing {
	void (*do_item)(void *ctx, uint32_t i, uint32_t item);
	void *ctx;
	uint32_t next, n; /* items */
};

static void share_part(void *ctx, uint32_t i)
{
	struct sharing *x = ctx;
	uint32_t item;

	while ((item = __atomic_fetch_add(&x->next, 1, __ATOMIC_RELAXED)) < x->n)
		x->do_item(x->ctx, i, item);
}

void osr_threads_share(const struct osr_arena *scratch,
		       void (*do_item)(void *ctx, uint32_t i, uint32_t item), void *ctx,
		       uint32_t n_parts, uint32_t n_items)
{
	struct sharing x = { .do_item = do_item, .ctx = ctx, .n = n_items };

	if (n_parts > 1 && scratch->threads)
		scratch->threads->run(share_part, &x, n_parts);
	else
		for (uint32_t i = 0; i < n_parts; i++)
			share_part(&x, i);
}
