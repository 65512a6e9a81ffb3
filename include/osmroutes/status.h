/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * status.h - how functions of osmroutes say that something went wrong.
 *
 * Every function that can fail returns an enum osr_status and takes, as its last parameter, a
 * struct osr_diag. The function that *decides* an error writes one sentence into it, with the
 * numbers and names an administrator needs in order to act; callers only forward status and diag.
 * The core never logs: the OpenSM adapter turns a diag into one line of the OpenSM log, the command
 * into one line on stderr.
 *
 * osr_invariant() (invariant.h) is for our own bugs; a status is for the world (fabrics, files,
 * options, memory).
 */
#ifndef OSMROUTES_STATUS_H
#define OSMROUTES_STATUS_H

enum osr_status {
	OSR_OK = 0,
	OSR_NOMEM,          /* memory ran out; everything this call allocated is released */
	OSR_INVAL,          /* bad input: file, option, argument */
	OSR_NOT_APPLICABLE, /* this engine does not route this kind of fabric */
	OSR_UNREACHABLE,    /* a destination cannot be reached and the options say to refuse */
	OSR_NO_VL,          /* more virtual lanes are needed than the budget grants */
	OSR_CHECK_FAILED,   /* the independent checker refuses the tables */
	OSR_NOT_PROVEN,     /* the proved checker does not confirm them */
	OSR_BUG,            /* an invariant of ours does not hold */
};

/* One sentence, without a trailing newline. text[0] == 0 while nothing went wrong. */
struct osr_diag {
	char text[512];
};

/*
 * Writes the sentence and returns st, so that an error is decided in one statement:
 *	return osr_fail(diag, OSR_INVAL, "line %u: port %u exceeds the %u ports of %s", ...);
 * diag may be NULL.
 */
enum osr_status osr_fail(struct osr_diag *diag, enum osr_status st, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__
/* clang-tidy sees one file at a time, and would not know that the function returns st. */
#define osr_fail(diag, st, ...) (osr_fail(diag, st, __VA_ARGS__), (st))
#endif

/* "ok", "out of memory", "invalid input", ...: for logs; never NULL. */
const char *osr_status_str(enum osr_status st);

#endif
