// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Preloaded into opensm: allocations of libosmroutes.so, and of jansson for it, are counted from
 * the moment it is loaded, and number OSR_STARVE fails (maps and threads as well). The file
 * OSR_STARVE_COUNT holds their number so far, as a long. If opensm dies of a bad address, the
 * innermost functions and their libraries go to OSR_STARVE_DIED.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

enum { MAX_RANGES = 16 };

static uintptr_t first[MAX_RANGES], last[MAX_RANGES];
static int n_ranges;
static atomic_bool armed;
static atomic_long uncounted, *count = &uncounted;
static long starve;

static int add_ranges(struct dl_phdr_info *info, size_t size, void *ctx)
{
	if (!strstr(info->dlpi_name, "libosmroutes") && !strstr(info->dlpi_name, "libjansson"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && n_ranges < MAX_RANGES; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			first[n_ranges] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			last[n_ranges] = first[n_ranges] + info->dlpi_phdr[i].p_memsz;
			n_ranges++;
		}
	return 0;
}

void *dlopen(const char *name, int flags)
{
	void *handle = NEXT(dlopen)(name, flags);

	if (handle && name && strstr(name, "libosmroutes.so") && !atomic_load(&armed)) {
		starve = getenv("OSR_STARVE") ? atol(getenv("OSR_STARVE")) : -1;
		dl_iterate_phdr(add_ranges, NULL);
		atomic_store(&armed, true);
	}
	return handle;
}

static bool fails(const void *from)
{
	if (!atomic_load(&armed))
		return false;
	for (int i = 0; i < n_ranges; i++)
		if ((uintptr_t)from >= first[i] && (uintptr_t)from < last[i])
			return atomic_fetch_add(count, 1) == starve;
	return false;
}

#define FAILS fails(__builtin_return_address(0))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	return FAILS ? (errno = ENOMEM, NULL) : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return FAILS ? (errno = ENOMEM, NULL) : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return FAILS ? (errno = ENOMEM, NULL) : __libc_realloc(old, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
	return FAILS ? (errno = ENOMEM, MAP_FAILED)
		     : NEXT(mmap)(at, size, protection, flags, file, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *ctx)
{
	return FAILS ? EAGAIN : NEXT(pthread_create)(thread, attr, run, ctx);
}

static void died(int number)
{
	const char *path = getenv("OSR_STARVE_DIED");
	void *frame[8];
	int file = path ? open(path, O_WRONLY | O_CREAT, 0600) : -1;

	backtrace_symbols_fd(frame, backtrace(frame, 8), file);
	signal(number, SIG_DFL);
	raise(number);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("OSR_STARVE_COUNT");
	int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
	void *frame[1];

	if (file >= 0 && !ftruncate(file, sizeof(*count)))
		count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	backtrace(frame, 1); /* loads what it needs while there is memory */
	signal(SIGSEGV, died);
	signal(SIGBUS, died);
}
