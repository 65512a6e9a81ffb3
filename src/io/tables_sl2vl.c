/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SL2VL tables, OpenSM's and those that ibdmchk reads:
 *
 *	Switch 0x0002c902004050f8, base LID 13, "MF0;switch-112090:MTS3600/U1"
 *	#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
 *	14  11  : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 7
 *
 *	0x0002c90000000201 5 1 0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xe7
 *
 * An end port has one table, whatever ports its line names.
 */
#include "io/tables_private.h"

#include <inttypes.h>
#include <string.h>

struct sl2vl_reader {
	struct osr_tables *t;
	struct osr_lines *in;
	uint32_t sw;                   /* whose rows follow, or OSR_NONE */
	const struct osr_owner *owner; /* else these end ports */
	uint32_t n_owners;             /* 0: nobody yet */
	uint64_t n_rows;
};

/* A GUID of a switch, an end port or (in ibdmchk's form) the node of end ports. */
static enum osr_status tables_sl2vl_take_guid(struct sl2vl_reader *reader, const char **at,
					      bool node_first)
{
	uint64_t guid;

	if (!osr_take_0x(at, UINT64_MAX, &guid))
		return osr_lines_fail(reader->in, "expected a GUID");
	reader->n_owners = 0;
	reader->sw = osr_fabric_switch_by_guid(reader->t->f, guid);
	if (reader->sw != OSR_NONE)
		return OSR_OK;
	reader->owner = osr_tables_owner(reader->t, guid, node_first, &reader->n_owners);
	if (!reader->n_owners)
		reader->owner = osr_tables_owner(reader->t, guid, !node_first, &reader->n_owners);
	if (reader->n_owners)
		return OSR_OK;
	return osr_lines_fail(reader->in,
			      "no port in the fabric has the GUID 0x%016" PRIx64
			      ": these tables belong to another fabric",
			      guid);
}

static enum osr_status set_table(struct sl2vl_reader *reader, uint8_t *table, const uint8_t vl[16])
{
	if (table[0] != OSR_VL_UNSET && memcmp(table, vl, 16))
		return osr_lines_fail(reader->in, "these ports had another table before");
	memcpy(table, vl, 16);
	reader->t->n_entries++;
	return OSR_OK;
}

static enum osr_status tables_sl2vl_set_row(struct sl2vl_reader *reader, uint64_t in, uint64_t out,
					    const uint8_t vl[16])
{
	const struct osr_fabric *fabric = reader->t->f;
	enum osr_status st = OSR_OK;

	reader->n_rows++;
	if (reader->sw == OSR_NONE) {
		for (uint32_t i = 0; i < reader->n_owners && !st; i++)
			if (reader->owner[i].term != OSR_NONE)
				st = set_table(reader, reader->t->term_sl2vl[reader->owner[i].term],
					       vl);
		return st;
	}
	if (in > fabric->sw_n_ports[reader->sw] || out > fabric->sw_n_ports[reader->sw])
		return osr_lines_fail(reader->in,
				      "port %" PRIu64 " exceeds the %u ports of the switch",
				      in > out ? in : out, fabric->sw_n_ports[reader->sw]);
	return set_table(reader,
			 osr_tables_sl2vl(reader->t, reader->sw, (unsigned)in, (unsigned)out), vl);
}

static enum osr_status fail_row(const struct sl2vl_reader *reader)
{
	return osr_lines_fail(
		reader->in,
		"expected \"IN OUT : \" and 16 VLs from 0 to 15 below the head line of a port");
}

static enum osr_status tables_sl2vl_take_row(struct sl2vl_reader *reader, const char *at)
{
	uint64_t in, out, value;
	uint8_t vl[16];
	bool good = osr_take_decimal(&at, 255, &in);

	osr_skip_blanks(&at);
	good = good && osr_take_decimal(&at, 255, &out);
	osr_skip_blanks(&at);
	good = good && osr_take_word(&at, ":") && (reader->sw != OSR_NONE || reader->n_owners);
	for (unsigned sl = 0; good && sl < 16; sl++) {
		osr_skip_blanks(&at);
		good = osr_take_decimal(&at, 15, &value);
		vl[sl] = (uint8_t)value;
	}
	osr_skip_blanks(&at);
	return good && !*at ? tables_sl2vl_set_row(reader, in, out, vl) : fail_row(reader);
}

/* GUID, in, out, and 8 bytes of two VLs each. */
static enum osr_status take_ibdm_row(struct sl2vl_reader *reader, const char *at)
{
	enum osr_status st = tables_sl2vl_take_guid(reader, &at, true);
	uint64_t in, out, value;
	uint8_t vl[16];
	bool good = true;

	if (st)
		return st;
	osr_skip_blanks(&at);
	good = good && osr_take_decimal(&at, 255, &in);
	osr_skip_blanks(&at);
	good = good && osr_take_decimal(&at, 255, &out);
	for (unsigned sl = 0; good && sl < 16; sl += 2) {
		osr_skip_blanks(&at);
		good = osr_take_0x(&at, 255, &value);
		vl[sl] = (uint8_t)(value >> 4);
		vl[sl + 1] = value & 15;
	}
	osr_skip_blanks(&at);
	if (good && !*at)
		st = tables_sl2vl_set_row(reader, in, out, vl);
	else
		st = osr_lines_fail(
			reader->in,
			"expected a GUID, two ports and 8 bytes of VLs (0x01 0x23 ...)");
	reader->sw = OSR_NONE;
	reader->n_owners = 0;
	return st;
}

static enum osr_status tables_sl2vl_take_line(struct sl2vl_reader *reader, const char *at)
{
	if (osr_take_word(&at, "Switch ") || osr_take_word(&at, "Channel Adapter ") ||
	    osr_take_word(&at, "Router "))
		return tables_sl2vl_take_guid(reader, &at, false);
	if (osr__is_filler(at))
		return OSR_OK;
	if (at[0] == '0' && at[1] == 'x')
		return take_ibdm_row(reader, at);
	return tables_sl2vl_take_row(reader, at);
}

enum osr_status osr_tables_parse_sl2vl(struct osr_tables *tables, struct osr_lines *in)
{
	struct sl2vl_reader reader = { .t = tables, .in = in, .sw = OSR_NONE };
	bool ours = tables->routing.sl2vl && !tables->taken;
	enum osr_status st = ours ? OSR_OK : osr_tables_alloc_sl2vl(tables, in->diag);
	char *text;

	tables->routing.n_vls = 0; /* to be counted again */
	while (!st && osr_lines_next(in, &text, &st))
		st = tables_sl2vl_take_line(&reader, text);
	if (!st && !reader.n_rows)
		st = osr_fail(in->diag, OSR_INVAL, "%s: holds no SL2VL table", in->label);
	return st;
}
