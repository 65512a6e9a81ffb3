/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every word start in every text is an entry of one sorted array, so all texts that hold some words
 * are neighbours, whole names among them. So are GUIDs and LIDs, written in one way. Lists of
 * 65,000 hosts are looked up in it while OpenSM waits.
 */
#include "names/names.h"

#include <osmroutes/invariant.h>
#include <osmroutes/params.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct osr_name_word {
	const char *at; /* in the text of the row, or a number of its own */
	uint32_t row;
	bool number;
	uint8_t port; /* of numbers */
};

#define NUMBER_SIZE 28
#define MAX_LISTED 6 /* names of a message */
#define GUID_AS "0x%016" PRIx64
#define LID_AS "lid:%" PRIu64

/* How a text fits, best first. */
enum fit { WHOLE, NUMBER, FIRST_WORD, PART, NO_FIT };

/* ---- building ------------------------------------------------------------------------------- */

/* Letters beyond ASCII count: no word ends within them. */
static bool is_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (unsigned char)c >= 0x80;
}

static bool is_word_start(const char *text, const char *at)
{
	return at == text || (is_letter(*at) && !is_letter(at[-1]));
}

/* Of numbers ports before their node: a node and its first port may have one GUID. */
static int compare_words(const void *x, const void *y)
{
	const struct osr_name_word *a = x, *b = y;
	int c = strcmp(a->at, b->at);

	if (c || a->port != b->port)
		return c ? c : b->port - a->port;
	return (a->row > b->row) - (a->row < b->row);
}

enum osr_status osr_names_build(struct osr_names *names, const struct osr_name *row, uint32_t n,
				struct osr_arena *arena, struct osr_diag *diag)
{
	uint32_t n_words = 0, n_numbers = 0, n_nodes = 0;
	char(*number)[NUMBER_SIZE];

	for (uint32_t i = 0; i < n; i++) {
		const char *text = row[i].text ? row[i].text : "";

		for (const char *at = text; *at; at++)
			n_words += is_word_start(text, at);
		n_numbers += (row[i].guid != 0) + (row[i].lid ? 1u << row[i].lmc : 0);
		n_nodes = row[i].node >= n_nodes ? row[i].node + 1 : n_nodes;
	}
	*names = (struct osr_names){ .row = row, .n = n };
	names->word = osr_alloc(arena, (size_t)n_words + n_numbers, sizeof(*names->word));
	number = osr_alloc(arena, n_numbers, sizeof(*number));
	names->hit = osr_alloc(arena, (size_t)n + 1, sizeof(const struct osr_name *));
	names->seen = osr_calloc(arena, (size_t)n_nodes + 1, sizeof(*names->seen));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t n_lids = row[i].lid ? 1u << row[i].lmc : 0;
		const char *text = row[i].text ? row[i].text : "";

		for (const char *at = text; *at; at++)
			if (is_word_start(text, at))
				names->word[names->n_words++] =
					(struct osr_name_word){ .at = at, .row = i };
		for (uint32_t k = row[i].guid ? 0 : 1; k <= n_lids; k++) {
			uint64_t value = k ? row[i].lid + k - 1 : row[i].guid;

			snprintf(*number, sizeof(*number), k ? LID_AS : GUID_AS, value);
			names->word[names->n_words++] = (struct osr_name_word){
				.at = *number++, .row = i, .number = true, .port = row[i].port
			};
		}
	}
	osr_invariant(names->n_words == n_words + n_numbers);
	qsort(names->word, names->n_words, sizeof(*names->word), compare_words);
	return OSR_OK;
}

enum osr_status osr_names_of_fabric(struct osr_names *names, const struct osr_fabric *fabric,
				    struct osr_arena *arena, struct osr_diag *diag)
{
	uint32_t n = fabric->n_switches;
	struct osr_name *row = osr_alloc(arena, (size_t)n + fabric->n_terminals, sizeof(*row));

	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < n; s++)
		row[s] = (struct osr_name){ .text = fabric->names + fabric->sw_name[s],
					    .guid = fabric->sw_guid[s],
					    .node = s,
					    .kind = OSR_NAME_SWITCH };
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		row[n + t] = (struct osr_name){ .text = fabric->names + fabric->term_name[t],
						.guid = fabric->term_guid[t],
						.lid = fabric->term_lid[t],
						.lmc = fabric->term_lmc[t],
						.node = n + t,
						.kind = OSR_NAME_END_PORT };
		if (fabric->term_role[t] != OSR_ROLE_SP0)
			continue;
		/* Another GUID and LIDs of the switch, which has its name already. */
		row[n + t].text = NULL;
		row[n + t].node = fabric->term_switch[t];
		row[n + t].kind = OSR_NAME_SWITCH;
	}
	return osr_names_build(names, row, n + fabric->n_terminals, arena, diag);
}

/* ---- searching ------------------------------------------------------------------------------ */

struct search {
	struct osr_names *names;
	unsigned kinds;
	enum fit best;
};

static void take(struct search *search, const struct osr_name *row, enum fit fit)
{
	struct osr_names *names = search->names;

	if (fit > search->best || fit == NO_FIT || !(row->kind & search->kinds))
		return;
	if (fit < search->best) {
		search->best = fit;
		names->n_hits = 0;
		names->n_seen++;
	}
	if (names->seen[row->node] == names->n_seen)
		return;
	osr_invariant(names->n_hits < names->n + 1);
	names->seen[row->node] = names->n_seen;
	names->hit[names->n_hits++] = row;
}

/* How the first `len` bytes fit an entry that begins with them. */
static enum fit fit_of(const struct osr_name_word *word, const char *text, size_t len)
{
	char next = word->at[len];

	if (word->at == text && !next)
		return WHOLE;
	if (word->at == text && strchr(" \t,;.", next))
		return FIRST_WORD;
	return is_letter(next) ? NO_FIT : PART;
}

/*
 * Entries that begin with the first `len` bytes of `what`, or are this number; fits below `worst`
 * do not count.
 */
static void search_words(struct search *search, const char *what, size_t len, enum fit worst)
{
	const struct osr_names *names = search->names;
	uint32_t lo = 0, hi = names->n_words;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (strncmp(names->word[mid].at, what, len) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	osr_invariant(!lo || strncmp(names->word[lo - 1].at, what, len) < 0);
	for (; lo < names->n_words; lo++) {
		const struct osr_name_word *word = &names->word[lo];
		enum fit fit;

		if (strncmp(word->at, what, len) != 0)
			break;
		fit = fit_of(word, names->row[word->row].text, len);
		if (worst == NUMBER && word->number && !word->at[len])
			take(search, &names->row[word->row], NUMBER);
		if (worst == NUMBER || word->number)
			continue;
		/* Texts that end, or go on with a blank, come first. */
		if (search->best <= FIRST_WORD && word->at[len] > ' ')
			break;
		/* "node.a" may match the entry "node", but not its sibling "node.b". */
		if (fit <= worst && (worst == PART || word->at[len] != '.'))
			take(search, &names->row[word->row], worst == PART ? fit : worst);
	}
}

/* Hexadecimal digits, behind 0x or the letter of an id. */
static bool read_guid(const char *text, size_t len, uint64_t *guid)
{
	static const char *const heads[] = { "0x", "S-", "H-", "R-" };
	char digits[17] = "", *end;
	size_t skip = 0;

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		if (len > 2 && !strncmp(text, heads[i], 2))
			skip = 2;
	while (len > skip + 16 && text[skip] == '0')
		skip++;
	if (len == skip || len - skip > 16 || !is_letter(text[skip]))
		return false;
	memcpy(digits, text + skip, len - skip);
	*guid = strtoull(digits, &end, 16);
	return !*end && digits[1] != 'x' && *guid;
}

/* "lid:17", "lid:0x11" */
static bool read_lid(const char *text, size_t len, uint64_t *lid)
{
	char digits[17];

	if (len < 5 || len - 4 >= sizeof(digits) || strncmp(text, "lid:", 4) != 0)
		return false;
	memcpy(digits, text + 4, len - 4);
	digits[len - 4] = '\0';
	return osr_parse_uint(digits, lid);
}

uint32_t osr_names_all(struct osr_names *names, const char *word, size_t len, unsigned kinds)
{
	struct search search = { .names = names, .kinds = kinds, .best = NO_FIT };
	size_t dot = strcspn(word, ".");
	char number[NUMBER_SIZE] = "";
	uint64_t guid, lid;

	names->n_hits = 0;
	if (!len)
		return 0;
	search_words(&search, word, len, PART);
	if (read_lid(word, len, &lid))
		snprintf(number, sizeof(number), LID_AS, lid);
	else if (read_guid(word, len, &guid))
		snprintf(number, sizeof(number), GUID_AS, guid);
	if (search.best > NUMBER && *number)
		search_words(&search, number, strlen(number), NUMBER);
	if (search.best > FIRST_WORD && dot && dot < len)
		search_words(&search, word, dot, FIRST_WORD);
	return names->n_hits;
}

/* ---- one node ------------------------------------------------------------------------------- */

static const char *kind_name(unsigned kinds)
{
	if (kinds == OSR_NAME_SWITCH)
		return "switch";
	return kinds == OSR_NAME_END_PORT ? "end port" : "node";
}

/* NODE:PORT, 1 to 254: the bytes of NODE; 0: no port behind the last colon. */
static size_t split_port(const char *word, uint32_t *port)
{
	const char *colon = strrchr(word, ':');
	char *end;
	unsigned long number;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return 0;
	number = strtoul(colon + 1, &end, 10);
	*port = number;
	return !*end && number && number <= 254 ? (size_t)(colon - word) : 0;
}

/* The name of the node in messages: its GUID if it has none. */
static const char *name_text(const struct osr_names *names, const struct osr_name *hit,
			     char buf[32])
{
	for (uint32_t i = 0; i < names->n; i++)
		if (names->row[i].node == hit->node && names->row[i].text && *names->row[i].text)
			return names->row[i].text;
	snprintf(buf, 32, "0x%016" PRIx64, hit->guid);
	return buf;
}

static enum osr_status names_unknown(struct osr_names *names, const char *word, size_t len,
				     unsigned kinds, struct osr_diag *diag)
{
	char part[128], buf[192];
	struct osr_guess guess = { .word = part };
	uint64_t lid;

	snprintf(part, sizeof(part), "%.*s", (int)len, word);
	if (osr_names_all(names, word, strlen(word), OSR_NAME_ANY) ||
	    osr_names_all(names, word, len, OSR_NAME_ANY))
		return osr_fail(diag, OSR_INVAL, "\"%.80s\" is %s", word,
				kinds == OSR_NAME_SWITCH ? "an end port: a switch was expected"
							 : "a switch: an end port was expected");
	if (read_lid(word, len, &lid))
		return osr_fail(diag, OSR_INVAL, "no %s has the LID %s", kind_name(kinds),
				part + 4);
	if (!strncmp(word, "0x", 2))
		return osr_fail(diag, OSR_INVAL, "no %s has the GUID %s", kind_name(kinds), part);
	for (uint32_t i = 0; i < names->n; i++)
		if (names->row[i].text && (names->row[i].kind & kinds))
			osr_guess_offer(&guess, names->row[i].text);
	return osr_fail(diag, OSR_INVAL, "no %s is called \"%.80s\"%s", kind_name(kinds), part,
			osr_guess_say(&guess, buf, sizeof(buf)));
}

/* Are all hits end ports whose names begin with the same word, the name of their host? */
static bool is_one_host(const struct osr_names *names)
{
	const char *first = names->hit[0]->text;
	size_t len = first ? strcspn(first, " \t,;") : 0;

	for (uint32_t i = 0; i < names->n_hits; i++) {
		const struct osr_name *hit = names->hit[i];

		if (hit->kind != OSR_NAME_END_PORT || !hit->text ||
		    osr_name_is_repeated(hit->text) || strcspn(hit->text, " \t,;") != len ||
		    strncmp(hit->text, first, len) != 0)
			return false;
	}
	return len > 0;
}

/* Is this the name of another hit than number i? */
static bool has_namesake(const struct osr_names *names, uint32_t i, const char *name)
{
	char buf[32];

	for (uint32_t k = 0; k < names->n_hits; k++)
		if (k != i && !strcmp(name, name_text(names, names->hit[k], buf)))
			return true;
	return false;
}

/* Several nodes are called so: the names that would do, as many as there is room for. */
static enum osr_status names_list(const struct osr_names *names, const char *word, size_t len,
				  unsigned kinds, struct osr_diag *diag)
{
	uint32_t n = names->n_hits, n_shown = n < MAX_LISTED ? n : MAX_LISTED;
	char list[352] = "", one[32];
	const char *plural, *more;
	size_t at = 0;

	for (uint32_t i = 0; i < n_shown; i++) {
		const char *name = name_text(names, names->hit[i], one);
		const char *between = i < n - 1 ? ", " : " or ";

		/* Ports of one HCA have one name: the GUID tells them apart. */
		if (name != one && has_namesake(names, i, name)) {
			snprintf(one, sizeof(one), GUID_AS, names->hit[i]->guid);
			name = one;
		}
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s\"%.64s\"",
				       i ? between : "", name);
	}
	osr_invariant(n > 1);
	plural = kinds == OSR_NAME_SWITCH ? "es" : "s";
	more = n_shown < n ? ", ..." : "";
	return osr_fail(diag, OSR_INVAL, "%u %s%s are called \"%.*s\": give %s%s", n,
			kind_name(kinds), plural, len < 64 ? (int)len : 64, word, list, more);
}

/*
 * Sets the hits, *port, and *len, the bytes of the word that name a node; OSR_INVAL: there are
 * none.
 */
static enum osr_status names_search(struct osr_names *names, const char *word, unsigned kinds,
				    size_t *len, uint32_t *port, struct osr_diag *diag)
{
	uint32_t number = 0;
	size_t head;
	uint64_t lid;

	*port = 0;
	*len = strlen(word);
	osr_names_all(names, word, *len, kinds);
	head = names->n_hits || read_lid(word, *len, &lid) ? 0 : split_port(word, &number);
	if (head) {
		*len = head;
		osr_names_all(names, word, head, kinds);
	}
	if (!names->n_hits)
		return names_unknown(names, word, *len, kinds, diag);
	osr_invariant(*len > 0);
	*port = head ? number : names->hit[0]->port;
	return OSR_OK;
}

enum osr_status osr_names_host(struct osr_names *names, const char *word, unsigned kinds,
			       uint32_t *port, struct osr_diag *diag)
{
	size_t len;
	enum osr_status st = names_search(names, word, kinds, &len, port, diag);

	return st || names->n_hits == 1 || is_one_host(names)
		       ? st
		       : names_list(names, word, len, kinds, diag);
}

enum osr_status osr_names_find(struct osr_names *names, const char *word, unsigned kinds,
			       uint32_t *node, uint32_t *port, struct osr_diag *diag)
{
	size_t len;
	enum osr_status st = names_search(names, word, kinds, &len, port, diag);

	*node = OSR_NONE;
	if (st)
		return st;
	if (names->n_hits > 1)
		return names_list(names, word, len, kinds, diag);
	*node = names->hit[0]->node;
	return OSR_OK;
}

/* ---- how repeated names are shown ------------------------------------------------------------ */

bool osr_name_is_repeated(const char *shown)
{
	const char *blank = strrchr(shown, ' ');

	return blank && !strncmp(blank, " 0x", 3) && strlen(blank) == strlen(" 0x") + 16;
}

size_t osr_name_own(const char *shown, uint64_t guid)
{
	size_t len = strlen(shown);
	char tail[20];

	snprintf(tail, sizeof(tail), " 0x%016" PRIx64, guid);
	return len >= sizeof(tail) && !strcmp(shown + len - sizeof(tail) + 1, tail)
		       ? len - sizeof(tail) + 1
		       : len;
}
