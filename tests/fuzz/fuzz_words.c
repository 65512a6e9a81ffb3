/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What `osmroutes generate` takes, KIND NAME=VALUE..., behind a byte that does not count and one that is
 * the style. Refused with a sentence, or the net is a fabric or refused as one.
 */
#include "fuzz.h"

#include "io/speed.h"
#include "topo/topo.h"

/* Of the numbers, multiplied: nobody waits for a million nodes here. In two kinds they are exponents. */
#define MOST 3000
#define MOST_EXPONENTS 15

static bool too_large(const char *text)
{
	uint64_t all = 1, most = strstr(text, "ka") ? MOST_EXPONENTS : MOST;

	for (const char *at = text; *at;) {
		char *end = (char *)at + 1;
		uint64_t n = *at >= '0' && *at <= '9' ? strtoull(at, &end, 0) : 1;

		if (n > most || (n && (all *= n) > most))
			return true;
		at = end;
	}
	return false;
}

static void make(const struct osr_topo *topo, const struct osr_values *v, uint8_t how)
{
	struct osr_topo_style style = { .width = how & 1 ? 4 : 0,
					.speed = how & 1 ? OSR_SPEED_HDR : 0,
					.ports = how & 2 ? 36 : 0,
					.mgmt = how & 4,
					.enhanced_sp0 = how & 8 };
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_fabric f;

	if (osr_topo_make(topo, v, &style, &net, &diag) ||
	    osr_net_fabric(&net, how >> 4 & 7, &arena, &f, &diag))
		insist(diag.text[0] != 0, topo->name, "refused without a sentence");
	osr_net_free(&net);
	osr_arena_free(&arena);
}

static void generate(char *text, uint8_t how)
{
	const struct osr_topo *topo;
	struct osr_diag diag = { "" };
	struct osr_values v;
	char *word, *rest, *value;
	uint8_t width, speed;

	word = strtok_r(text, " ", &rest);
	topo = word ? osr_topo_find(word) : NULL;
	if (!topo)
		return;
	osr_values_default(&v, topo->params);
	while ((word = strtok_r(NULL, " ", &rest))) {
		osr_speed_parse(word, strlen(word), &width, &speed);
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (osr_values_set(&v, topo->params, word, value ? value : "", &diag)) {
			insist(diag.text[0] != 0, topo->name, "refused without a sentence");
			return;
		}
	}
	make(topo, &v, how);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 2)
		return 0;
	text = strndup((const char *)data + 2, size - 2);
	insist(text != NULL, "words", "no memory");
	if (!too_large(text))
		generate(text, data[1]);
	free(text);
	return 0;
}
