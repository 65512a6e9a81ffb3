/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/status.h>

#include <stdarg.h>
#include <stdio.h>

#undef osr_fail

enum osr_status osr_fail(struct osr_diag *diag, enum osr_status st, const char *fmt, ...)
{
	va_list ap;

	if (!diag)
		return st;
	va_start(ap, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, ap);
	va_end(ap);
	return st;
}

const char *osr_status_str(enum osr_status st)
{
	switch (st) {
	case OSR_OK:
		return "ok";
	case OSR_NOMEM:
		return "out of memory";
	case OSR_INVAL:
		return "invalid input";
	case OSR_NOT_APPLICABLE:
		return "engine not applicable";
	case OSR_UNREACHABLE:
		return "unreachable destination";
	case OSR_NO_VL:
		return "not enough virtual lanes";
	case OSR_CHECK_FAILED:
		return "check failed";
	case OSR_NOT_PROVEN:
		return "not proven";
	case OSR_BUG:
		return "internal error";
	}
	return "unknown status";
}
