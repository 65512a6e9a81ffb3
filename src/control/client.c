/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (64 * 1024)
#define MAX_UNREAD (8u * 1024 * 1024)

/* Buffers -------------------------------------------------------------------------------------- */

static bool grow(struct osr__buffer *b, size_t more)
{
	size_t room = b->room ? b->room : 1024;
	char *text;

	while (room < b->size + more)
		room *= 2;
	if (room == b->room)
		return true;
	text = realloc(b->text, room);
	if (!text)
		return false;
	b->text = text;
	b->room = room;
	return true;
}

void osr__buffer_shift(struct osr__buffer *b, size_t n)
{
	b->size -= n;
	memmove(b->text, b->text + n, b->size);
	if (b->room > CHUNK && b->size < CHUNK / 2) {
		/* The memory of one long line is not kept for the next short ones. */
		char *text = realloc(b->text, CHUNK);

		b->text = text ? text : b->text;
		b->room = text ? CHUNK : b->room;
	}
}

void osr__client_free(struct osr__client *client)
{
	close(client->fd);
	free(client->in.text);
	free(client->out.text);
	for (uint32_t i = 0; i < client->n_watched; i++)
		free(client->watched[i].state);
	free(client);
}

/* Bytes ---------------------------------------------------------------------------------------- */

bool osr__client_read(struct osr__client *client)
{
	size_t most = OSR_CONTROL_MAX_LINE + 1 - client->in.size;
	ssize_t n;

	if (most > CHUNK)
		most = CHUNK;
	if (!most || !grow(&client->in, most))
		return false;
	n = recv(client->fd, client->in.text + client->in.size, most, MSG_DONTWAIT);
	if (n > 0)
		client->in.size += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void osr__client_write(struct osr__client *client)
{
	ssize_t n;

	if (!client->out.size)
		return;
	n = send(client->fd, client->out.text, client->out.size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		osr__buffer_shift(&client->out, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		client->gone = true;
}

bool osr__client_has_line(const struct osr__client *client)
{
	return client->in.size && memchr(client->in.text, '\n', client->in.size);
}

size_t osr__client_line(const struct osr__client *client)
{
	return (size_t)((char *)memchr(client->in.text, '\n', client->in.size) - client->in.text);
}

void osr__client_say(struct osr__client *client, json_t *object)
{
	size_t n = 0;
	char *text = object ? osr__dump(object, JSON_COMPACT, &n) : NULL;

	json_decref(object);
	if (!text || client->out.size + n + 1 > MAX_UNREAD || !grow(&client->out, n + 1)) {
		client->gone = true; /* who misses a word must not go on as if nothing were */
	} else {
		memcpy(client->out.text + client->out.size, text, n);
		client->out.text[client->out.size + n] = '\n';
		client->out.size += n + 1;
	}
	free(text);
}

/* Events --------------------------------------------------------------------------------------- */

static struct osr__watched *find(struct osr__client *client, uint32_t app)
{
	for (uint32_t i = 0; i < client->n_watched; i++)
		if (client->watched[i].app == app)
			return &client->watched[i];
	return NULL;
}

bool osr__client_watches(const struct osr__client *client, uint32_t app)
{
	return find((struct osr__client *)client, app) != NULL;
}

void osr__client_watch(struct osr__client *client, const struct osr_sched_app *app, uint32_t key)
{
	struct osr__watched *w = app ? find(client, app->id) : NULL;

	if (!app || (!w && client->n_watched == OSR__WATCHED))
		return;
	if (!w) {
		uint8_t *state = calloc(app->n_keys, 1);

		if (!state)
			return;
		w = &client->watched[client->n_watched++];
		*w = (struct osr__watched){ app->id, app->n_notices, app->n_keys, state };
		for (uint32_t k = 0; k < w->n_keys; k++)
			state[k] = (uint8_t)app->key[k].state;
	}
	if (key < w->n_keys)
		w->state[key] = (uint8_t)app->key[key].state;
}

void osr__client_forget(struct osr__client *client, uint32_t app)
{
	struct osr__watched *w = find(client, app);

	if (!w)
		return;
	free(w->state);
	*w = client->watched[--client->n_watched];
}

/* true: the application is gone. */
static bool tell(struct osr__client *client, struct osr__watched *w,
		 const struct osr_sched_app *app)
{
	if (!app) {
		osr__client_say(client, json_pack("{s:s, s:I}", "event", "withdrawn", "app",
						  (json_int_t)w->app));
		return true;
	}
	for (uint32_t k = 0; k < w->n_keys; k++) {
		json_t *event;

		if (w->state[k] == app->key[k].state)
			continue;
		w->state[k] = (uint8_t)app->key[k].state;
		event = osr__with(osr__key_json(app, k), "event", json_string("key"));
		osr__client_say(client, osr__with(event, "app", json_integer(app->id)));
	}
	if (w->n_notices != app->n_notices) {
		w->n_notices = app->n_notices;
		osr__client_say(client,
				json_pack("{s:s, s:I, s:o}", "event", "notice", "app",
					  (json_int_t)app->id, "text", osr__text(app->notice)));
	}
	return false;
}

void osr__client_tell(struct osr__client *client, const struct osr_sched *s)
{
	for (uint32_t i = 0; i < client->n_watched;) {
		uint32_t app = client->watched[i].app;

		if (tell(client, &client->watched[i], osr_sched_find(s, app)))
			osr__client_forget(client, app);
		else
			i++;
	}
}
