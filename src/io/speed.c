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

static bool parse_width(const char *word, size_t len, uint8_t *width)
{
	static const char *const widths[] = { "1", "2", "4", "8", "12" };

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		if (strlen(widths[i]) != len || memcmp(word, widths[i], len))
			continue;
		*width = i == 4 ? 12 : (uint8_t)(1u << i);
		return true;
	}
	return false;
}

bool osr_speed_parse(const char *word, size_t len, uint8_t *width, uint8_t *speed)
{
	const char *x = memchr(word, 'x', len);
	uint8_t w;

	if (!x || !parse_width(word, (size_t)(x - word), &w))
		return false;
	len -= (size_t)(x + 1 - word);
	for (uint8_t i = 1; i < (uint8_t)OSR_N_SPEEDS; i++) {
		if (strlen(names[i]) != len || memcmp(x + 1, names[i], len))
			continue;
		*width = w;
		*speed = i;
		return true;
	}
	return false;
}
