/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/speed.h"

#include <string.h>

static const char *const names[OSR_N_SPEEDS] = {
	[OSR_SPEED_SDR] = "SDR",     [OSR_SPEED_DDR] = "DDR", [OSR_SPEED_QDR] = "QDR",
	[OSR_SPEED_FDR10] = "FDR10", [OSR_SPEED_FDR] = "FDR", [OSR_SPEED_EDR] = "EDR",
	[OSR_SPEED_HDR] = "HDR",     [OSR_SPEED_NDR] = "NDR", [OSR_SPEED_XDR] = "XDR",
};

const char *osr_speed_name(uint8_t speed)
{
	return speed < OSR_N_SPEEDS ? names[speed] : NULL;
}

bool osr_speed_parse(const char *word, size_t len, uint8_t *width, uint8_t *speed)
{
	static const char *const widths[] = { "1x", "2x", "4x", "8x", "12x" };
	const char *x = memchr(word, 'x', len);
	size_t n = x ? (size_t)(x + 1 - word) : 0;
	uint8_t w = 0;

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (strlen(widths[i]) == n && !memcmp(word, widths[i], n))
			w = i == 4 ? 12 : 1u << i;
	if (!w)
		return false;
	len -= n;
	for (uint8_t i = 1; i < (uint8_t)OSR_N_SPEEDS; i++) {
		if (strlen(names[i]) != len || memcmp(x + 1, names[i], len))
			continue;
		*width = w;
		*speed = i;
		return true;
	}
	return false;
}
