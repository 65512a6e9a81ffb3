/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One pass over the lines fills nodes and ports and notes, per port, what the file says of its
 * other end; a second pass over the ports ties the ends together. Node ids are found through a hash
 * table, so a file of any size costs a constant per line.
 */
#include "io/netfile_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Every refusal of the parser begins with file and line, so that an editor can jump there. */
enum osr_status osr__netfile_fail(const struct osr__netfile *netfile, uint32_t line,
				  const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return osr_fail(netfile->diag, OSR_INVAL, "%s:%" PRIu32 ": %s", netfile->label, line, text);
}

enum osr_status osr__netfile_nomem(const struct osr__netfile *netfile)
{
	return osr_fail(netfile->diag, OSR_NOMEM,
			"%s:%" PRIu32 ": out of memory after %" PRIu32 " nodes", netfile->label,
			netfile->line, netfile->net->n_nodes);
}

/* ---- lines ---------------------------------------------------------------------------------- */

/*
 * Bytes no text has. Escape, form feed and the 8-bit range stay allowed: node descriptions are set
 * by whoever owns the host.
 */
static enum osr_status check_text(const struct osr__netfile *netfile, struct osr__span span)
{
	for (; span.at < span.end; span.at++) {
		unsigned char c = (unsigned char)*span.at;

		if ((c < ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v' && c != 0x1b) ||
		    c == 0x7f)
			return osr__netfile_fail(netfile, netfile->line,
						 "byte 0x%02x: this is not a text file", c);
	}
	return OSR_OK;
}

/* Nine of ten lines are ports: those first. An empty line ends a block, a stray one does not. */
static enum osr_status parse_line(struct osr__netfile *netfile, struct osr__span span)
{
	struct osr__span rest = span;
	enum osr_net_type type;
	bool known;
	enum osr_status st = check_text(netfile, span);

	if (st)
		return st;
	if (span.at < span.end && *span.at == '[')
		return osr__netfile_port(netfile, span);
	if (span.at < span.end && *span.at == '#')
		return OSR_OK;
	osr__span_skip_blanks(&rest);
	if (rest.at == rest.end) {
		netfile->node = OSR_NONE;
		return OSR_OK;
	}
	rest = span;
	if (osr__netfile_node_type(&rest, &type))
		return osr__netfile_header(netfile, type, rest);
	if (*span.at == '@')
		return osr__netfile_fail(netfile, netfile->line,
					 "aliases (@) are not supported: name nodes by their ids");
	if (osr__span_starts_with(span, "include ") || osr__span_starts_with(span, "do "))
		return osr__netfile_fail(netfile, netfile->line,
					 "\"%s\" is not supported: a fabric is one file",
					 *span.at == 'i' ? "include" : "do");
	st = osr__netfile_setting(netfile, span, &known);
	if (known)
		netfile->node = OSR_NONE;
	return st;
}

/* The lines that start with '#' before anything else. */
static size_t head_size(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && text[at] == '#') {
		const char *eol = memchr(text + at, '\n', size - at);

		at = eol ? (size_t)(eol + 1 - text) : size;
	}
	return at;
}

/* The head says where a fabric comes from; what is made from it can say so too. */
static enum osr_status keep_comment(struct osr__netfile *netfile, const char *text, size_t size)
{
	size_t head = head_size(text, size), n = 0;
	char *to = malloc(head + 1);

	if (!to)
		return osr__netfile_nomem(netfile);
	for (size_t at = 0; at < head;) {
		const char *eol = memchr(text + at, '\n', head - at);
		size_t end = eol ? (size_t)(eol + 1 - text) : head;

		at += 1 + (at + 1 < end && text[at + 1] == ' ');
		memcpy(to + n, text + at, end - at);
		n += end - at;
		at = end;
	}
	to[n] = '\0';
	netfile->net->comment = to;
	return OSR_OK;
}

static enum osr_status parse_lines(struct osr__netfile *netfile, const char *text, size_t size)
{
	const char *end = text + size;
	enum osr_status st = OSR_OK;

	for (const char *at = text; at < end && !st;) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		netfile->line++;
		eol = eol ? eol : end;
		st = parse_line(netfile, (struct osr__span){ at, eol });
		if (!st && netfile->net->failed)
			st = osr__netfile_nomem(netfile);
		at = eol + 1;
	}
	return st;
}

enum osr_status osr_netfile_parse(const char *text, size_t size, const char *label,
				  struct osr_net *net, struct osr_diag *diag)
{
	struct osr__netfile netfile = {
		.label = label, .net = net, .diag = diag, .node = OSR_NONE
	};
	enum osr_status st;

	*net = (struct osr_net){ 0 };
	if (size > INT32_MAX)
		return osr_fail(diag, OSR_INVAL, "%s: %zu bytes: no fabric needs more than %d",
				label, size, INT32_MAX);
	st = osr__netfile_resize(&netfile, 1024) ? parse_lines(&netfile, text, size)
						 : osr__netfile_nomem(&netfile);
	if (!st)
		st = keep_comment(&netfile, text, size);
	if (!st && net->n_nodes == 0)
		st = osr_fail(diag, OSR_INVAL,
			      "%s: no Switch, Ca or Rt in it: expected the output of ibnetdiscover "
			      "or an ibsim net file",
			      label);
	if (!st)
		st = osr__netfile_tie(&netfile);
	if (!st)
		st = osr__netfile_check_guids(&netfile);
	free(netfile.far);
	free(netfile.node_line);
	free(netfile.table);
	if (st)
		osr_net_free(net);
	return st;
}

/* ---- files ---------------------------------------------------------------------------------- */

#define MAX_TEXT (UINT32_C(1) << 30) /* a full LID space has a tenth of this */

/*
 * All of a stream, which need not be seekable; of what is no text, up to its first byte 0, so that devices
 * which never end do.
 */
static char *slurp(FILE *in, size_t *size)
{
	size_t room = 1 << 16, n = 0, got;
	char *buf = malloc(room), *more;

	while (buf && (got = fread(buf + n, 1, room - n, in)) > 0) {
		n += got;
		if (memchr(buf + n - got, 0, got) || n > MAX_TEXT)
			break;
		if (n < room)
			continue;
		more = realloc(buf, room * 2);
		if (!more)
			free(buf);
		buf = more;
		room *= 2;
	}
	*size = n;
	return buf;
}

enum osr_status osr_netfile_read_stream(FILE *in, const char *label, struct osr_net *net,
					struct osr_diag *diag)
{
	enum osr_status st;
	size_t size;
	char *text;

	*net = (struct osr_net){ 0 };
	errno = 0;
	text = slurp(in, &size);
	if (!text)
		st = osr_fail(diag, OSR_NOMEM, "%s: out of memory reading it", label);
	else if (size > MAX_TEXT)
		st = osr_fail(diag, OSR_INVAL, "%s: more than 1 GiB: too large for a subnet",
			      label);
	else if (ferror(in))
		st = osr_fail(diag, OSR_INVAL, "%s: %s", label, strerror(errno));
	else
		st = osr_netfile_parse(text, size, label, net, diag);
	free(text);
	return st;
}
