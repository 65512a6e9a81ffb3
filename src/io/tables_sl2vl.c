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
	struct osr_diag *diag;
	uint32_t sw;                   /* whose rows follow, or OSR_NONE */
	const struct osr_owner *owner; /* else these end ports */
	uint32_t n_owners;             /* 0: nobody yet */
	uint64_t n_rows;
};

/* A GUID of a switch, an end port or (in ibdmchk's form) the node of end ports. */
static enum osr_status take_guid(struct sl2vl_reader *r, const char **at, bool node_first)
{
	uint64_t guid;

	if (!osr_take_0x(at, UINT64_MAX, &guid))
		return osr_lines_fail(r->in, r->diag, "expected a GUID");
	r->n_owners = 0;
	r->sw = osr_fabric_switch_by_guid(r->t->f, guid);
	if (r->sw != OSR_NONE)
		return OSR_OK;
	r->owner = osr_tables_owner(r->t, guid, node_first, &r->n_owners);
	if (!r->n_owners)
		r->owner = osr_tables_owner(r->t, guid, !node_first, &r->n_owners);
	if (r->n_owners)
		return OSR_OK;
	return osr_lines_fail(r->in, r->diag,
			      "nobody in the fabric has the GUID 0x%016" PRIx64
			      ": these are the tables of another one",
			      guid);
}

static enum osr_status set_table(struct sl2vl_reader *r, uint8_t *table, const uint8_t vl[16])
{
	if (table[0] != OSR_VL_UNSET && memcmp(table, vl, 16))
		return osr_lines_fail(r->in, r->diag, "these ports had another table before");
	memcpy(table, vl, 16);
	r->t->n_entries++;
	return OSR_OK;
}

static enum osr_status set_row(struct sl2vl_reader *r, uint64_t in, uint64_t out,
			       const uint8_t vl[16])
{
	const struct osr_fabric *f = r->t->f;
	enum osr_status st = OSR_OK;

	r->n_rows++;
	if (r->sw == OSR_NONE) {
		for (uint32_t i = 0; i < r->n_owners && !st; i++)
			if (r->owner[i].term != OSR_NONE)
				st = set_table(r, r->t->term_sl2vl[r->owner[i].term], vl);
		return st;
	}
	if (in > f->sw_n_ports[r->sw] || out > f->sw_n_ports[r->sw])
		return osr_lines_fail(r->in, r->diag,
				      "port %" PRIu64 " exceeds the %u ports of the switch",
				      in > out ? in : out, f->sw_n_ports[r->sw]);
	return set_table(r, osr_tables_sl2vl(r->t, r->sw, (unsigned)in, (unsigned)out), vl);
}

static enum osr_status fail_row(const struct sl2vl_reader *r)
{
	return osr_lines_fail(
		r->in, r->diag,
		"expected \"IN OUT : \" and 16 VLs from 0 to 15 below the head line of "
		"a port");
}

static enum osr_status take_row(struct sl2vl_reader *r, const char *at)
{
	uint64_t in, out, value;
	uint8_t vl[16];
	bool good = osr_take_decimal(&at, 255, &in);

	osr_skip_blanks(&at);
	good = good && osr_take_decimal(&at, 255, &out);
	osr_skip_blanks(&at);
	good = good && osr_take_word(&at, ":") && (r->sw != OSR_NONE || r->n_owners);
	for (unsigned sl = 0; good && sl < 16; sl++) {
		osr_skip_blanks(&at);
		good = osr_take_decimal(&at, 15, &value);
		vl[sl] = (uint8_t)value;
	}
	osr_skip_blanks(&at);
	return good && !*at ? set_row(r, in, out, vl) : fail_row(r);
}

/* GUID, in, out, and 8 bytes of two VLs each. */
static enum osr_status take_ibdm_row(struct sl2vl_reader *r, const char *at)
{
	enum osr_status st = take_guid(r, &at, true);
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
		st = set_row(r, in, out, vl);
	else
		st = osr_lines_fail(
			r->in, r->diag,
			"expected a GUID, two ports and 8 bytes of VLs (0x01 0x23 ...)");
	r->sw = OSR_NONE;
	r->n_owners = 0;
	return st;
}

static enum osr_status take_line(struct sl2vl_reader *r, const char *at)
{
	if (osr_take_word(&at, "Switch ") || osr_take_word(&at, "Channel Adapter ") ||
	    osr_take_word(&at, "Router "))
		return take_guid(r, &at, false);
	if (osr__is_filler(at))
		return OSR_OK;
	if (at[0] == '0' && at[1] == 'x')
		return take_ibdm_row(r, at);
	return take_row(r, at);
}

enum osr_status osr_tables_parse_sl2vl(struct osr_tables *t, struct osr_lines *in,
				       struct osr_diag *diag)
{
	struct sl2vl_reader r = { .t = t, .in = in, .diag = diag, .sw = OSR_NONE };
	bool ours = t->routing.sl2vl && !t->taken;
	enum osr_status st = ours ? OSR_OK : osr_tables_alloc_sl2vl(t, diag);
	char *text;

	t->routing.n_vls = 0; /* to be counted again */
	while (!st && osr_lines_next(in, &text, diag, &st))
		st = take_line(&r, text);
	if (!st && !r.n_rows)
		st = osr_fail(diag, OSR_INVAL, "%s: holds no SL2VL table", in->label);
	return st;
}

enum osr_status osr_tables_read_sl2vl(struct osr_tables *t, const char *path, struct osr_diag *diag)
{
	return osr__tables_read(t, path, diag, osr_tables_parse_sl2vl);
}
