/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* file.h - files of the plugin that others read, or that outlive it: written whole or not at all. */
#ifndef OSR_OSM_FILE_H
#define OSR_OSM_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <osmroutes/status.h>

/*
 * DIR/NAME becomes what print() writes, by way of a hidden file beside it that is renamed: a reader
 * sees the old one or the new one. false with a sentence if anything went wrong; the old one stays.
 */
bool osr__file_replace(const char *dir, const char *name, mode_t mode,
		       bool (*print)(const void *arg, FILE *out), const void *arg,
		       struct osr_diag *diag);

/* For a file that is one text. */
bool osr__print_text(const void *text, FILE *out);

/*
 * A file of at most so many bytes, to be freed; NULL if there is none, and with a sentence if it cannot be
 * read. One that somebody else could have written is not.
 */
char *osr__file_read(const char *path, size_t max, size_t *size, struct osr_diag *diag);

/* Where OpenSM keeps what outlives it. */
const char *osr__cache_dir(void);

#endif
