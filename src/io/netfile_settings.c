/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lines that hold for all nodes after them: GUID bases, modules, widths and speeds. */
#include "io/netfile_private.h"

#include <inttypes.h>
#include <string.h>

/* ibsim's LinkWidth bits, the widest wins. */
uint8_t osr__netfile_width(uint64_t bits)
{
	return bits & 8 ? 12 : bits & 4 ? 8 : bits & 2 ? 4 : bits & 16 ? 2 : bits & 1 ? 1 : 0;
}

/* LinkSpeed and LinkSpeedExt bits, the fastest wins. */
uint8_t osr__netfile_speed(uint64_t speed, uint64_t ext)
{
	static const uint8_t by_ext[] = { OSR_SPEED_FDR, OSR_SPEED_EDR, OSR_SPEED_HDR,
					  OSR_SPEED_NDR };
	static const uint8_t by_speed[] = { OSR_SPEED_SDR, OSR_SPEED_DDR, OSR_SPEED_QDR };

	for (int i = 3; i >= 0; i--)
		if (ext >> i & 1)
			return by_ext[i];
	for (int i = 2; i >= 0; i--)
		if (speed >> i & 1)
			return by_speed[i];
	return OSR_SPEED_UNKNOWN;
}

/* A speed alone means four lanes, to ibsim and to us. */
void osr__netfile_assume_width(struct osr_net_port *port)
{
	if (port->speed && !port->width)
		port->width = 4;
}

static enum osr_status set_guid_base(struct osr__netfile *netfile, enum osr_net_type type,
				     struct osr__span span, bool relative)
{
	uint64_t guid;

	if (!osr__span_number(&span, UINT64_MAX, &guid))
		return osr__netfile_fail(netfile, netfile->line,
					 "expected a GUID of 64 bits after \"=\"");
	if (!relative) {
		netfile->guid_base[type] = guid;
		netfile->guid_next[type] = guid;
	} else {
		netfile->guid_next[type] = netfile->guid_base[type] + guid;
	}
	netfile->guid_set[type] = true;
	return OSR_OK;
}

static enum osr_status set_module(struct osr__netfile *netfile, struct osr__span span)
{
	struct osr__span name;

	osr__span_skip_blanks(&span);
	if (!osr__span_quoted(&span, &name) || name.end - name.at > 20)
		return osr__netfile_fail(netfile, netfile->line,
					 "expected module=\"name\" of at most 20 characters");
	/* Offset 0 belongs to the first node's id or, here, to an empty string: never a module. */
	if (netfile->net->names_size == 0)
		osr_net_string(netfile->net, "", 0);
	netfile->prefix = name.at == name.end ? 0
					      : osr_net_string(netfile->net, name.at,
							       (size_t)(name.end - name.at));
	return OSR_OK;
}

static enum osr_status set_number(struct osr__netfile *netfile, struct osr__span span,
				  const char *key, uint64_t max, uint64_t *value)
{
	osr__span_skip_blanks(&span);
	if (!osr__span_number(&span, max, value))
		return osr__netfile_fail(netfile, netfile->line,
					 "%s: expected a number up to %" PRIu64, key, max);
	return OSR_OK;
}

enum setting {
	SET_VENDID,
	SET_DEVID,
	SET_SYSIMGGUID,
	SET_WIDTH,
	SET_SPEED,
	SET_EXTSPEED,
	N_SETTINGS,
};

static enum osr_status set_field(struct osr__netfile *netfile, enum setting what,
				 struct osr__span span)
{
	static const struct {
		const char *key;
		uint64_t max;
	} field[N_SETTINGS] = {
		[SET_VENDID] = { "vendid", UINT32_MAX },
		[SET_DEVID] = { "devid", UINT32_MAX },
		[SET_SYSIMGGUID] = { "sysimgguid", UINT64_MAX },
		[SET_WIDTH] = { "width", 31 },
		[SET_SPEED] = { "speed", 7 },
		[SET_EXTSPEED] = { "extspeed", 15 },
	};
	uint64_t v = 0;
	enum osr_status st = set_number(netfile, span, field[what].key, field[what].max, &v);

	if (st)
		return st;
	switch (what) {
	case SET_VENDID:
		netfile->vendid = (uint32_t)v;
		break;
	case SET_DEVID:
		netfile->devid = (uint32_t)v;
		break;
	case SET_SYSIMGGUID:
		netfile->sysimg_guid = v;
		break;
	case SET_WIDTH:
		netfile->width = osr__netfile_width(v);
		break;
	case SET_SPEED:
		netfile->speed = (uint8_t)v;
		break;
	default:
		netfile->speed_ext = (uint8_t)v;
		break;
	}
	return OSR_OK;
}

/*
 * `key=value` lines. *known is false for a key that is none of ours; such lines are skipped like
 * any other text.
 */
enum osr_status osr__netfile_setting(struct osr__netfile *netfile, struct osr__span span,
				     bool *known)
{
	static const struct {
		const char *key;
		int field; /* enum setting, or -1 - enum osr_net_type for GUIDs */
	} keys[] = {
		{ "switchguid", -1 - OSR_NET_SWITCH },
		{ "hcaguids", -1 - OSR_NET_CA },
		{ "caguid", -1 - OSR_NET_CA },
		{ "rtguid", -1 - OSR_NET_ROUTER },
		{ "vendid", SET_VENDID },
		{ "devid", SET_DEVID },
		{ "sysimgguid", SET_SYSIMGGUID },
		{ "width", SET_WIDTH },
		{ "speed", SET_SPEED },
		{ "extspeed", SET_EXTSPEED },
	};

	*known = true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct osr__span v = span;
		bool relative;

		if (!osr__span_starts_with(span, keys[i].key))
			continue;
		v.at += strlen(keys[i].key);
		osr__span_skip_blanks(&v);
		relative = v.at < v.end && *v.at == '+';
		if (!relative && !osr__span_char(&v, '='))
			continue;
		v.at += relative;
		if (keys[i].field < 0)
			return set_guid_base(netfile, (enum osr_net_type)(-1 - keys[i].field), v,
					     relative);
		return set_field(netfile, (enum setting)keys[i].field, v);
	}
	if (osr__span_starts_with(span, "module=")) {
		span.at += strlen("module=");
		return set_module(netfile, span);
	}
	*known = false;
	return OSR_OK;
}
