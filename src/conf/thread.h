/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* thread.h - a thread of our own in a program that has others. Not for the core: see arena.h. */
#ifndef OSR_CONF_THREAD_H
#define OSR_CONF_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Signals of the process are for the threads that were there before. `name` is what top -H shows. false: there is no thread. */
static inline bool osr_thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg),
				    void *arg)
{
	sigset_t all, before;
	char mine[16];
	bool runs;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* A new thread has the name of the one that starts it; the name of another would be a file to write. */
	pthread_getname_np(pthread_self(), mine, sizeof(mine));
	pthread_setname_np(pthread_self(), name);
	runs = !pthread_create(thread, NULL, run, arg);
	pthread_setname_np(pthread_self(), mine);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return runs;
}

#endif
