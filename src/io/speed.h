/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* speed.h - how ibnetdiscover writes a link rate: lanes, x, speed, as in 4xQDR. */
#ifndef OSR_IO_SPEED_H
#define OSR_IO_SPEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/rate.h"

/* "SDR" .. "XDR"; NULL for OSR_SPEED_UNKNOWN. */
const char *osr_speed_name(uint8_t speed);

/* Reads exactly `len` bytes as a rate; false, and nothing changed, if they are none. */
bool osr_speed_parse(const char *word, size_t len, uint8_t *width, uint8_t *speed);

#endif
