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
	static const char *const name[] = {
		[OSR_OK] = "ok",
		[OSR_NOMEM] = "out of memory",
		[OSR_INVAL] = "invalid input",
		[OSR_NOT_APPLICABLE] = "engine not applicable",
		[OSR_UNREACHABLE] = "unreachable destination",
		[OSR_NO_VL] = "not enough virtual lanes",
		[OSR_CHECK_FAILED] = "check failed",
		[OSR_NOT_PROVEN] = "not proven",
		[OSR_BUG] = "internal error",
	};

	return st < sizeof(name) / sizeof(*name) ? name[st] : "unknown status";
}
