/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * speed.h - link rates: how ibnetdiscover writes them (lanes, x, speed, as in 4xQDR), and the one
 * table from width and speed to Gb/s.
 *
 * The figures are data rates (after line coding, before headers), as fabric.h's chan_rate wants
 * them. Balancing uses ratios only; forward error correction, which costs HDR and later speeds some
 * 3 %, is left out so that twice the speed is twice the rate.
 */
#ifndef OSR_IO_SPEED_H
#define OSR_IO_SPEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum osr_speed {
	OSR_SPEED_UNKNOWN,
	OSR_SPEED_SDR,
	OSR_SPEED_DDR,
	OSR_SPEED_QDR,
	OSR_SPEED_FDR10,
	OSR_SPEED_FDR,
	OSR_SPEED_EDR,
	OSR_SPEED_HDR,
	OSR_SPEED_NDR,
	OSR_SPEED_XDR,
	OSR_N_SPEEDS,
};

/* Gb/s of a link of `width` lanes: 4xSDR 8, 4xQDR 32, 4xFDR 54, 4xEDR 100, ...; 0 = unknown. */
static inline uint16_t osr_rate_gbps(unsigned int width, unsigned int speed)
{
	static const uint32_t lane_mbps[OSR_N_SPEEDS] = {
		[OSR_SPEED_SDR] = 2000,    [OSR_SPEED_DDR] = 4000,   [OSR_SPEED_QDR] = 8000,
		[OSR_SPEED_FDR10] = 10000, [OSR_SPEED_FDR] = 13636,  [OSR_SPEED_EDR] = 25000,
		[OSR_SPEED_HDR] = 50000,   [OSR_SPEED_NDR] = 100000, [OSR_SPEED_XDR] = 200000,
	};

	if (width > 12 || speed >= OSR_N_SPEEDS)
		return 0;
	return (uint16_t)(width * lane_mbps[speed] / 1000);
}

/*
 * Lanes by the code of PortInfo.LinkWidthActive: one bit for each of 1x, 4x, 8x, 12x, 2x; 0:
 * unknown.
 */
static inline uint8_t osr_lanes_of(unsigned code)
{
	static const uint8_t lanes[] = { 1, 4, 8, 12, 2 };

	return code && !(code & (code - 1)) && code <= 16 ? lanes[__builtin_ctz(code)] : 0;
}

/* PortInfo.LinkSpeedActive and, from FDR on, LinkSpeedExtActive: the fastest that is marked. */
static inline enum osr_speed osr_speed_of(unsigned code, unsigned ext)
{
	static const enum osr_speed speeds[] = { OSR_SPEED_SDR, OSR_SPEED_DDR, OSR_SPEED_QDR,
						 OSR_SPEED_FDR, OSR_SPEED_EDR, OSR_SPEED_HDR,
						 OSR_SPEED_NDR, OSR_SPEED_XDR };
	unsigned all = (code & 7) | (ext & 31) << 3;

	return all ? speeds[31 - __builtin_clz(all)] : OSR_SPEED_UNKNOWN;
}

/* "SDR" .. "XDR"; NULL for OSR_SPEED_UNKNOWN. */
const char *osr_speed_name(uint8_t speed);

/* Reads exactly `len` bytes as a rate; false, with nothing changed, if they are not one. */
bool osr_speed_parse(const char *word, size_t len, uint8_t *width, uint8_t *speed);

#endif
