/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Waiting inside OpenSM, which may be told to end meanwhile. Then its osm_qos_setup() releases OpenSM's lock once
 * for every request that it cannot make any more, and pthreads never grants that lock again; OpenSM itself takes
 * it no more. So every wait of ours ends when opensm does.
 */
#include "plugin.h"

#include <time.h>

#define LOOK_NS 100000000L /* at osm_exit_flag, this often */

bool osr__lock(struct osm_opensm *osm, enum lock_kind kind)
{
	pthread_rwlock_t *lock = &osm->lock.lock;

	while (!osm_exit_flag) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		if (!(kind == LOCK_SHARED ? pthread_rwlock_timedrdlock(lock, &until)
					  : pthread_rwlock_timedwrlock(lock, &until)))
			return true;
	}
	return false;
}

bool osr__wait_for_answers(struct osm_opensm *osm)
{
	osm_stats_t *stats = &osm->stats;

	pthread_mutex_lock(&stats->mutex);
	while (stats->qp0_mads_outstanding && !osm_exit_flag)
		pthread_cond_wait(&stats->cond, &stats->mutex);
	pthread_mutex_unlock(&stats->mutex);
	return !osm_exit_flag;
}
