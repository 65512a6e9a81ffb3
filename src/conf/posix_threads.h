/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* posix_threads.h - POSIX threads for osmroutes/threads.h, for the plugin and for the command. */
#ifndef OSR_CONF_POSIX_THREADS_H
#define OSR_CONF_POSIX_THREADS_H

#include <pthread.h>

#include <osmroutes/arena.h>

#define OSR_MAX_THREADS 256

/*
 * A thread of our own in a program that has others, whose signals are for them. `name` is what top
 * -H shows. false: the thread could not be started.
 */
bool osr_thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);

/* Processors that this process may run on, at most OSR_MAX_THREADS. */
uint32_t osr_n_processors(void);

/*
 * Starts this many threads, or for 0 one for each processor, at most OSR_FEW_THREADS. They live
 * while run() does, with all signals blocked; the work of a thread that cannot be started, the
 * caller's does.
 */
#define OSR_FEW_THREADS 8
struct osr_threads osr_threads_of(uint32_t n);

#endif
