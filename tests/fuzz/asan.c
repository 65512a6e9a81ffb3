/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Linked into libFuzzer's targets: memory that was freed stays poisoned for the next 4 MB, which is more
 * than most executions take, and not for 256 MB, which would be fresh pages for ever.
 */
const char *__asan_default_options(void);
__attribute__((visibility("default"), used)) const char *__asan_default_options(void)
{
	return "quarantine_size_mb=4:malloc_context_size=3";
}
