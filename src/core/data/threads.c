/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/threads.h>

#include <osmroutes/arena.h>

uint32_t osr_threads_parts(const struct osr_arena *scratch, uint64_t n_steps)
{
	const struct osr_threads *threads = scratch->threads;

	return threads && n_steps >= threads->n_steps ? threads->n : 1;
}

void osr_threads_run(const struct osr_arena *scratch, void (*part)(void *ctx, uint32_t i),
		     void *ctx, uint32_t n)
{
	if (n > 1 && scratch->threads)
		scratch->threads->run(part, ctx, n);
	else
		for (uint32_t i = 0; i < n; i++)
			part(ctx, i);
}
