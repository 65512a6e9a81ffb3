/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * To be preloaded. A file system that does not answer: rename() in the directory $OSR_HANG_IN
 * returns when the file $OSR_HANG is not there any more. Files are replaced by rename() throughout
 * (src/osm/file.c). And a minute that is over at once: while the file $OSR_MINUTE is there, the
 * plugin's clock, not OpenSM's, is 61 s fast; one byte in it says that somebody has looked.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
	const char *gate = getenv("OSR_HANG"), *where = getenv("OSR_HANG_IN");

	while (gate && where && !strncmp(to, where, strlen(where)) && !access(gate, F_OK))
		usleep(20000);
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
	const char *minute = getenv("OSR_MINUTE");
	int st = (int)syscall(SYS_clock_gettime, clock, now);
	Dl_info caller;

	if (!st && minute && !access(minute, F_OK) &&
	    dladdr(__builtin_return_address(0), &caller) &&
	    strstr(caller.dli_fname, "libosmroutes")) {
		now->tv_sec += 61;
		if (truncate(minute, 1))
			perror(minute);
	}
	return st;
}
