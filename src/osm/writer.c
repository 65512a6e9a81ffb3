/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "writer.h"

#include <osmroutes/clock.h>
#include <osmroutes/thread.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct osr__writer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct osr__place place; /* of `dir` */
	char dir[PATH_MAX];
	void (*said)(void *ctx,
		     const struct osr__written *what); /* NULL: nobody listens any more */
	void *ctx;
	struct osr__pages next; /* n = 0: nothing waits */
	double since;           /* it writes; 0: it does not */
	bool stop, failed;      /* failed: and that has been said */
};

static void *write_all(void *arg)
{
	struct osr__writer *writer = arg;

	pthread_mutex_lock(&writer->lock);
	while (writer->next.n || !writer->stop) {
		if (writer->next.n) {
			struct osr__pages pages = writer->next;
			struct osr__written what = { .wrong = NULL };
			struct osr_diag diag = { "" };
			bool again;

			/* With the lock, which is left while the file system takes its time. */
			writer->next = (struct osr__pages){ .n = 0 };
			writer->since = osr_clock_ms(CLOCK_MONOTONIC);
			pthread_mutex_unlock(&writer->lock);
			what.cpu_ms = -osr_clock_ms(CLOCK_THREAD_CPUTIME_ID);
			for (uint32_t i = 0; i < pages.n && !what.wrong; i++) {
				what.size += pages.page[i].size;
				if (!osr__file_replace(&writer->place, &pages.page[i], &diag))
					what.wrong = diag.text;
			}
			what.cpu_ms += osr_clock_ms(CLOCK_THREAD_CPUTIME_ID);
			osr_arena_free(&pages.memory);
			pthread_mutex_lock(&writer->lock);
			again = what.wrong && writer->failed;
			writer->failed = what.wrong;
			writer->since = 0;
			if (writer->said && !again)
				writer->said(writer->ctx, &what);
		} else
			pthread_cond_wait(&writer->wake, &writer->lock);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

struct osr__writer *osr__writer_new(const struct osr__place *place,
				    void (*said)(void *ctx, const struct osr__written *what),
				    void *ctx)
{
	struct osr__writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	snprintf(writer->dir, sizeof(writer->dir), "%s", place->dir);
	writer->place = *place;
	writer->place.dir = writer->dir;
	writer->said = said;
	writer->ctx = ctx;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->wake, NULL);
	if (osr_thread_start(&writer->thread, write_all, writer))
		return writer;
	free(writer);
	return NULL;
}

void osr__writer_give(struct osr__writer *writer, struct osr__pages *pages)
{
	pthread_mutex_lock(&writer->lock);
	osr_arena_free(&writer->next.memory);
	writer->next = *pages;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	*pages = (struct osr__pages){ .n = 0 };
}

double osr__writer_busy(struct osr__writer *writer)
{
	double ms;

	pthread_mutex_lock(&writer->lock);
	ms = writer->since > 0 ? osr_clock_ms(CLOCK_MONOTONIC) - writer->since : 0;
	pthread_mutex_unlock(&writer->lock);
	return ms;
}

void osr__writer_end(struct osr__writer *writer, int seconds)
{
	struct timespec until;

	if (!writer)
		return;
	pthread_mutex_lock(&writer->lock);
	writer->stop = true;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	if (seconds < 0 ? pthread_join(writer->thread, NULL)
			: pthread_timedjoin_np(writer->thread, NULL, &until)) {
		/* It has what it needs, and the library is never unloaded. */
		pthread_mutex_lock(&writer->lock);
		writer->said = NULL;
		pthread_mutex_unlock(&writer->lock);
		pthread_detach(writer->thread);
		return;
	}
	pthread_cond_destroy(&writer->wake);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}
