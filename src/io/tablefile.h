/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tablefile.h - tables of a routing in a binary file: LFTs, SLs, SL2VL tables, certificate.
 *
 * The text dumps of OpenSM have 70 bytes for each entry; this file has one, is read by mapping it,
 * and carries checksums. docs/tablefile.md describes every byte. It does not hold the fabric: the
 * reader is given one and refuses tables of another (other switches or LIDs). If only cables differ,
 * the tables are those of the file, but the certificate and the multicast order, which number
 * channels, are left out and nothing is claimed.
 *
 * Everything that indexes something is checked against its range, so what was read may be given to
 * the checker or the meters, whatever the file holds.
 */
#ifndef OSR_IO_TABLEFILE_H
#define OSR_IO_TABLEFILE_H

#include <osmroutes/routing.h>

/* A mapped file; zero: none. */
struct osr_tablefile {
	void *map;
	size_t size;
	char engine[32]; /* r->engine */
};

/* OSR_INVAL names the file that could not be written. */
enum osr_status osr_tablefile_write(const char *path, const struct osr_fabric *fabric,
				    const struct osr_routing *routing, struct osr_diag *diag);

/* Does the file begin like one of these? False if it cannot be read. */
bool osr_tablefile_probe(const char *path);

/*
 * Fills `routing` with arrays that lie in the mapped file until osr_tablefile_close(). OSR_INVAL: no such
 * file, damaged, cut off, of a later version, or of another fabric.
 */
enum osr_status osr_tablefile_open(const char *path, const struct osr_fabric *fabric,
				   struct osr_tablefile *file, struct osr_routing *routing,
				   struct osr_diag *diag);

/* The same from memory, which must be aligned to 64 bytes and outlive routing; `label` in messages. */
enum osr_status osr_tablefile_parse(void *data, size_t size, const char *label,
				    const struct osr_fabric *fabric, struct osr_tablefile *file,
				    struct osr_routing *routing, struct osr_diag *diag);

/* Zero is fine. */
void osr_tablefile_close(struct osr_tablefile *file);

#endif
