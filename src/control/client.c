/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "protocol.h"

#include <osmroutes/invariant.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (64 * 1024)
#define MAX_UNREAD (8u * 1024 * 1024)

/* Buffers -------------------------------------------------------------------------------------- */

static bool client_grow(struct osr_buffer *buffer, size_t more)
{
	size_t room = buffer->room ? buffer->room : 1024;
	char *text;

	while (room < buffer->size + more)
		room *= 2;
	if (room == buffer->room)
		return true;
	text = realloc(buffer->text, room);
	if (!text)
		return false;
	buffer->text = text;
	buffer->room = room;
	return true;
}

void osr_buffer_shift(struct osr_buffer *buffer, size_t n)
{
	osr_invariant(n <= buffer->size && buffer->size <= buffer->room);
	buffer->size -= n;
	memmove(buffer->text, buffer->text + n, buffer->size);
	if (buffer->room > CHUNK && buffer->size < CHUNK / 2) {
		/* The memory of one long line is not kept for the next short ones. */
		char *text = realloc(buffer->text, CHUNK);

		buffer->text = text ? text : buffer->text;
		buffer->room = text ? CHUNK : buffer->room;
	}
}

void osr_client_free(struct osr_client *client)
{
	close(client->fd);
	free(client->in.text);
	free(client->out.text);
	for (uint32_t i = 0; i < client->n_watched; i++)
		free(client->watched[i].state);
	free(client);
}

/* Bytes ---------------------------------------------------------------------------------------- */

bool osr_client_read(struct osr_client *client)
{
	size_t most = OSR_CONTROL_MAX_LINE + 1 - client->in.size;
	ssize_t n;

	osr_invariant(client->in.size <= OSR_CONTROL_MAX_LINE + 1);
	if (most > CHUNK)
		most = CHUNK;
	if (!most || !client_grow(&client->in, most))
		return false;
	n = recv(client->fd, client->in.text + client->in.size, most, MSG_DONTWAIT);
	if (n > 0)
		client->in.size += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void osr_client_write(struct osr_client *client)
{
	ssize_t n;

	if (!client->out.size)
		return;
	n = send(client->fd, client->out.text, client->out.size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		osr_buffer_shift(&client->out, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		client->gone = true;
}

bool osr_client_has_line(const struct osr_client *client)
{
	return client->in.size && memchr(client->in.text, '\n', client->in.size);
}

size_t osr_client_line(const struct osr_client *client)
{
	osr_invariant(osr_client_has_line(client));
	return (size_t)((char *)memchr(client->in.text, '\n', client->in.size) - client->in.text);
}

void osr_client_say(struct osr_client *client, json_t *object)
{
	struct osr_buffer *out = &client->out;
	size_t n = object ? json_dumpb(object, NULL, 0, JSON_COMPACT) : 0;

	/*
	 * A client that misses a line must not go on. Into the buffer, as json_dumps() may leave
	 * out a piece when memory is short (jansson 2.14).
	 */
	if (!n || out->size + n + 1 > MAX_UNREAD || !client_grow(out, n + 1) ||
	    json_dumpb(object, out->text + out->size, n, JSON_COMPACT) != n) {
		client->gone = true;
	} else {
		out->text[out->size + n] = '\n';
		out->size += n + 1;
		osr_invariant(out->size <= out->room);
	}
	json_decref(object);
}

/* Events --------------------------------------------------------------------------------------- */

static struct osr_watched *client_find(struct osr_client *client, uint32_t app)
{
	for (uint32_t i = 0; i < client->n_watched; i++)
		if (client->watched[i].app == app)
			return &client->watched[i];
	return NULL;
}

bool osr_client_watches(const struct osr_client *client, uint32_t app)
{
	return client_find((struct osr_client *)client, app) != NULL;
}

void osr_client_watch(struct osr_client *client, const struct osr_sched_app *app, uint32_t key)
{
	struct osr_watched *watched = app ? client_find(client, app->id) : NULL;

	if (!app || (!watched && client->n_watched == OSR_WATCHED))
		return;
	if (!watched) {
		uint8_t *state = calloc(app->n_keys, 1);

		if (!state)
			return;
		watched = &client->watched[client->n_watched++];
		*watched = (struct osr_watched){ app->id, app->n_notices, app->n_keys, state };
		for (uint32_t k = 0; k < watched->n_keys; k++)
			state[k] = (uint8_t)app->key[k].state;
	}
	if (key < watched->n_keys)
		watched->state[key] = (uint8_t)app->key[key].state;
}

void osr_client_forget(struct osr_client *client, uint32_t app)
{
	struct osr_watched *watched = client_find(client, app);

	if (!watched)
		return;
	free(watched->state);
	*watched = client->watched[--client->n_watched];
}

void osr_client_tell(struct osr_client *client, const struct osr_sched *sched)
{
	for (uint32_t i = 0; i < client->n_watched;) {
		struct osr_watched *watched = &client->watched[i];
		const struct osr_sched_app *app = osr_sched_find(sched, watched->app);
		json_int_t id = (json_int_t)watched->app;

		if (!app) {
			osr_client_say(client,
				       json_pack("{s:s, s:I}", "event", "withdrawn", "app", id));
			osr_client_forget(client, watched->app);
			continue;
		}
		for (uint32_t k = 0; k < watched->n_keys; k++) {
			json_t *event;

			if (watched->state[k] == app->key[k].state)
				continue;
			watched->state[k] = (uint8_t)app->key[k].state;
			event = osr_with(osr_key_json(app, k), "event", json_string("key"));
			osr_client_say(client, osr_with(event, "app", json_integer(id)));
		}
		if (watched->n_notices != app->n_notices) {
			watched->n_notices = app->n_notices;
			osr_client_say(client,
				       json_pack("{s:s, s:I, s:o}", "event", "notice", "app", id,
						 "text", osr_text(app->notice.text)));
		}
		i++;
	}
}
