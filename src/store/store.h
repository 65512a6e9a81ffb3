/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * store.h - the last checked result, and the one it was repaired from, as bytes that outlive the
 * program.
 *
 *	size = osr_store_size(last);
 *	osr_store_write(last, key, buf, size);
 *	...
 *	st = osr_store_read(buf, size, path, "dfsssp", key, &arena[0], &arena[1], &scratch,
 *			    &last, &baseline, diag);
 *
 * Stored bytes are not trusted. The bytes carry checksums (XXH3); every number that indexes
 * something is compared with its range; each fabric is built again by the builder that reads real
 * ones; and the tables are given to the checker, in full, with the certificate that came with them.
 * So a result that was read is as good as one that was routed, for the fabric that is stored beside
 * it. Which of its switches and LIDs are there today is for repair.h to find out, by GUID and LID.
 *
 * `key` is of the caller's choice, and so are the engine's options: bytes with another key, or of
 * another engine, are refused. Notes of an engine (osr_routing.notes) are bytes here; the engine
 * checks their content itself.
 *
 * Time and memory: those of copying the tables, and for reading of checking them. Little-endian
 * machines only.
 */
#ifndef OSMROUTES_STORE_H
#define OSMROUTES_STORE_H

#include <osmroutes/routing.h>

/* Bytes of `last` and, if it has one, its baseline; 0: not to be stored on this machine. */
size_t osr_store_size(const struct osr_result *last);
/* Exactly osr_store_size() bytes into buf. */
void osr_store_write(const struct osr_result *last, uint64_t key, void *buf, size_t size);
/*
 * The digest that two stores of the same results have in common. Of complete bytes of
 * osr_store_write() only.
 */
uint64_t osr_store_digest(const void *buf);

/*
 * How many bytes belong to this beginning, of OSR_STORE_HEAD bytes; 0: this is not a stored result.
 */
#define OSR_STORE_HEAD 64
#define OSR_STORE_MAGIC "OSRSTORE" /* the first 8 of them */
size_t osr_store_wanted(const void *head);

/*
 * Both results, checked; last->baseline is the baseline, or NULL if there was none (then the
 * baseline is left alone). Loads, digests and dependencies are computed again. engine is what
 * routing->engine shall be, a static string; NULL takes tables of any engine and key, and leaves the
 * check to the caller: no loads, no digest, nothing for a repair. label names the bytes in
 * messages. OSR_INVAL: no such bytes, damaged, of a later version, another engine or another key.
 * OSR_CHECK_FAILED: read, but the tables are refused.
 */
enum osr_status osr_store_read(const void *buf, size_t size, const char *label, const char *engine,
			       uint64_t key, struct osr_arena *last_arena,
			       struct osr_arena *baseline_arena, struct osr_arena *scratch,
			       struct osr_result *last, struct osr_result *baseline,
			       struct osr_diag *diag);

/*
 * Is `fabric` the one the result was made for, or what has become of it? Half of its LIDs, at
 * least, are of the same end ports in both; *n_known: how many are.
 */
bool osr_store_fits(const struct osr_result *stored, const struct osr_fabric *fabric,
		    uint32_t *n_known);

#endif
