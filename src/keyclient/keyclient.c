/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The client's half of the protocol: a line out, lines in until the answer is among them. */
#include "keyclient/keyclient.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <osmroutes/clock.h>

#define MAX_ANSWER (64u * 1024 * 1024)
#define ANSWER_MS 60000

struct osrk {
	int fd;
	char error[512];
	char *in; /* bytes that came, a line or more or less */
	size_t size, room;
	uint32_t n_asked;
	json_t *keys; /* {"application/key": as last heard of} */
};

static int fail(struct osrk *client, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct osrk *client, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(client->error, sizeof(client->error), fmt, args);
	va_end(args);
	return -1;
}

static int hang_up(struct osrk *client, const char *why)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	return fail(client, "the connection to the subnet manager has ended: %s", why);
}

/* Opening and closing -------------------------------------------------------------------------- */

static const char *path_or_default(const char *path)
{
	if (!path || !*path)
		path = getenv("OSMROUTES_KEYS");
	return path && *path ? path : OSRK_SOCKET;
}

void osrk_each_socket(const char *path, void (*found)(void *ctx, const char *path), void *ctx)
{
	const char *dir = path_or_default(path);
	struct dirent **entry;
	int n = scandir(dir, &entry, NULL, alphasort);

	if (n < 0)
		found(ctx, dir);
	for (int i = 0; i < n; i++) {
		char name[PATH_MAX];
		struct stat st;

		snprintf(name, sizeof(name), "%s/%s", dir, entry[i]->d_name);
		free(entry[i]);
		if (!lstat(name, &st) && S_ISSOCK(st.st_mode))
			found(ctx, name);
	}
	if (n >= 0)
		free(entry);
}

struct answers {
	int fd;    /* of the first */
	int error; /* of one that does not answer */
	uint32_t n;
	char names[400];
};

static void try_socket(void *ctx, const char *path)
{
	struct sockaddr_un sockaddr_un = { .sun_family = AF_UNIX };
	struct answers *answers = ctx;
	size_t at = strlen(answers->names);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = false;

	if (snprintf(sockaddr_un.sun_path, sizeof(sockaddr_un.sun_path), "%s", path) >=
	    (int)sizeof(sockaddr_un.sun_path))
		errno = ENAMETOOLONG;
	else
		good = fd >= 0 &&
		       !connect(fd, (struct sockaddr *)&sockaddr_un, sizeof(sockaddr_un));
	if (!good) {
		answers->error = errno;
	} else {
		answers->n++;
		snprintf(answers->names + at, sizeof(answers->names) - at, "%s%s", at ? ", " : "",
			 path);
	}
	if (good && answers->n == 1)
		answers->fd = fd;
	else if (fd >= 0)
		close(fd);
}

struct osrk *osrk_open(const char *path)
{
	struct osrk *client = calloc(1, sizeof(*client));
	struct answers answers = { .fd = -1, .error = ENOENT };

	if (!client)
		return NULL;
	client->keys = json_object();
	osrk_each_socket(path, try_socket, &answers);
	path = path_or_default(path);
	client->fd = answers.fd;
	if (answers.n == 1)
		return client;
	client->fd = -1;
	if (answers.n) {
		close(answers.fd);
		fail(client, "several subnet managers answer in %s, choose one: %s", path,
		     answers.names);
	} else if (answers.error == ENOENT || answers.error == ECONNREFUSED) {
		fail(client,
		     "no opensm answers at %s: it does not run, or control_socket in its "
		     "osmroutes.conf is not this path",
		     path);
	} else {
		fail(client, "%s: %s", path, strerror(answers.error));
	}
	return client;
}

void osrk_close(struct osrk *client)
{
	if (!client)
		return;
	if (client->fd >= 0)
		close(client->fd);
	free(client->in);
	json_decref(client->keys);
	free(client);
}

bool osrk_ok(const struct osrk *client)
{
	return client && client->fd >= 0;
}

const char *osrk_error(const struct osrk *client)
{
	return client ? client->error : "out of memory";
}

/* Lines ---------------------------------------------------------------------------------------- */

static int send_line(struct osrk *client, const char *text, size_t n)
{
	while (n) {
		ssize_t sent = send(client->fd, text, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return hang_up(client, strerror(errno));
		text += sent;
		n -= (size_t)sent;
	}
	return 0;
}

/* More bytes, or 0 when it is later than `until` (< 0: never). */
static int more(struct osrk *client, double until)
{
	struct pollfd pollfd = { .fd = client->fd, .events = POLLIN };
	double left = until < 0 ? 1e9 : until - osr_clock_ms(CLOCK_MONOTONIC);
	ssize_t n;

	if (poll(&pollfd, 1, left > 0 ? (int)left + 1 : 0) <= 0)
		return 0;
	if (client->size == client->room) {
		size_t room = client->room ? 2 * client->room : 4096;
		char *in = room > MAX_ANSWER ? NULL : realloc(client->in, room);

		if (!in)
			return hang_up(client, "out of memory for its answer");
		client->in = in;
		client->room = room;
	}
	n = recv(client->fd, client->in + client->size, client->room - client->size, 0);
	if (n < 0 && errno == EINTR)
		return 1;
	if (n <= 0)
		return hang_up(client, n ? strerror(errno) : "it has closed");
	client->size += (size_t)n;
	return 1;
}

/* The next line as an object; *j is NULL when there is none in time. */
static int next_line(struct osrk *client, double until, json_t **j)
{
	char *end;
	size_t n;

	*j = NULL;
	while (!client->size || !(end = memchr(client->in, '\n', client->size))) {
		int st = client->fd < 0 ? -1 : more(client, until);

		if (st <= 0)
			return st;
	}
	n = (size_t)(end - client->in);
	*j = json_loadb(client->in, n, 0, NULL);
	client->size -= n + 1;
	memmove(client->in, end + 1, client->size);
	return *j ? 1 : hang_up(client, "its answer cannot be understood");
}

/* What is known of keys ------------------------------------------------------------------------ */

static void key_name(char name[48], json_int_t app, json_int_t key)
{
	snprintf(name, 48, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT, app, key);
}

static void learn_key(struct osrk *client, json_int_t app, json_t *key)
{
	char name[48];

	key_name(name, app, json_integer_value(json_object_get(key, "key")));
	json_object_set(client->keys, name, key);
}

static void learn(struct osrk *client, json_t *said)
{
	json_int_t app = json_integer_value(json_object_get(said, "app"));
	json_t *key;
	size_t i;

	if (json_object_get(said, "state"))
		learn_key(client, app, said);
	json_array_foreach(json_object_get(said, "keys"), i, key) learn_key(client, app, key);
}

/* Asking --------------------------------------------------------------------------------------- */

/* Takes the object. An answer that says no is an error. */
static json_t *keyclient_ask(struct osrk *client, json_t *object)
{
	json_t *said = NULL;
	double until;
	char *text;
	int st = -1;

	if (!osrk_ok(client)) {
		json_decref(object);
		return NULL;
	}
	json_object_set_new(object, "id", json_integer(++client->n_asked));
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (text) {
		st = send_line(client, text, strlen(text)) ? -1 : send_line(client, "\n", 1);
		free(text);
	} else {
		fail(client, "out of memory");
	}
	/* The answer with this number; events on the way are learnt. */
	until = osr_clock_ms(CLOCK_MONOTONIC) + ANSWER_MS;
	while (!st && !said) {
		const json_t *id;

		st = next_line(client, until, &said);
		if (!st)
			hang_up(client, "it does not answer");
		if (st <= 0)
			return NULL;
		st = 0;
		learn(client, said);
		id = json_object_get(said, "id");
		if (!json_object_get(said, "ok") ||
		    (id && json_integer_value(id) != client->n_asked)) {
			json_decref(said);
			said = NULL;
		}
	}
	if (said && !json_is_true(json_object_get(said, "ok"))) {
		const char *why = json_string_value(json_object_get(said, "error"));

		fail(client, "%s", why && *why ? why : "refused without a word");
		json_decref(said);
		said = NULL;
	}
	return said;
}

char *osrk_ask(struct osrk *client, const char *line)
{
	json_t *object = json_loads(line, 0, NULL), *said;
	char *text = NULL;
	size_t n;

	if (!json_is_object(object)) {
		json_decref(object);
		fail(client, "expected a JSON object");
		return NULL;
	}
	said = keyclient_ask(client, object);
	if (!said)
		return NULL;
	/* json_dumps() may leave out a piece when memory is short (jansson 2.14). */
	n = json_dumpb(said, NULL, 0, JSON_COMPACT);
	text = n ? calloc(1, n + 1) : NULL;
	if (!text || json_dumpb(said, text, n, JSON_COMPACT) != n) {
		free(text);
		text = NULL;
		fail(client, "out of memory");
	}
	json_decref(said);
	return text;
}

/* An operation on an application, or on one of its keys. */
static int simple(struct osrk *client, const char *op, uint32_t app, const uint32_t *key)
{
	json_t *line = json_pack("{s:s, s:I}", "op", op, "app", (json_int_t)app), *said;

	if (key)
		json_object_set_new(line, "key", json_integer(*key));
	said = keyclient_ask(client, line);
	json_decref(said);
	return said ? 0 : -1;
}

int osrk_attach(struct osrk *client, uint32_t app)
{
	return simple(client, "attach", app, NULL);
}

int osrk_withdraw(struct osrk *client, uint32_t app)
{
	return simple(client, "withdraw", app, NULL);
}

int osrk_done(struct osrk *client, uint32_t app, uint32_t key)
{
	return simple(client, "done", app, &key);
}

bool osrk_key(const struct osrk *client, uint32_t app, uint32_t key, struct osrk_key *what)
{
	static const char *const states[] = { "prepared", "waiting", "active", "withdrawn" };
	char name[48];
	const json_t *json;
	const char *state;

	key_name(name, app, key);
	json = json_object_get(client->keys, name);
	state = json_string_value(json_object_get(json, "state"));
	if (!state)
		return false;
	*what = (struct osrk_key){
		.offset = (uint32_t)json_integer_value(json_object_get(json, "offset")),
		.contention = (uint32_t)json_integer_value(json_object_get(json, "contention")),
		.bound = (uint32_t)json_integer_value(json_object_get(json, "bound")),
		.left_out = (uint32_t)json_integer_value(json_object_get(json, "left_out")),
	};
	for (int s = OSRK_PREPARED; s <= OSRK_WITHDRAWN; s++)
		if (!strcmp(state, states[s]))
			what->state = (enum osrk_state)s;
	return true;
}

/* Waiting -------------------------------------------------------------------------------------- */

int osrk_wait(struct osrk *client, uint32_t app, uint32_t key, int ms)
{
	double until = ms < 0 ? -1 : osr_clock_ms(CLOCK_MONOTONIC) + ms;
	struct osrk_key what = { .state = OSRK_WITHDRAWN };

	while (osrk_key(client, app, key, &what) && what.state == OSRK_WAITING && ms) {
		json_t *said;
		int st = next_line(client, until, &said);

		if (st < 0)
			return -1;
		if (!st)
			return fail(client, "the switches do not have key %" PRIu32 " after %d ms",
				    key, ms);
		learn(client, said);
		json_decref(said);
	}
	if (what.state == OSRK_ACTIVE || (!ms && what.state == OSRK_WAITING))
		return 0;
	return fail(client, "key %" PRIu32 " was withdrawn, the base routing serves its traffic",
		    key);
}

int osrk_request(struct osrk *client, uint32_t app, uint32_t key, int ms)
{
	return simple(client, "request", app, &key) ? -1 : osrk_wait(client, app, key, ms);
}

/* Jobs ----------------------------------------------------------------------------------------- */

int osrk_job(struct osrk *client, const char *const *hosts, uint32_t n, uint32_t offset, int ms,
	     struct osrk_job *job, uint32_t *place)
{
	json_t *list = json_array(), *said, *key;
	const json_t *places;

	*job = (struct osrk_job){ 0 };
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(hosts[i]));
	said = keyclient_ask(client, json_pack("{s:s, s:o, s:I}", "op", "job", "hosts", list,
					       "offset", (json_int_t)offset));
	if (!said)
		return -1;
	key = json_array_get(json_object_get(said, "keys"), 0);
	*job = (struct osrk_job){
		.app = (uint32_t)json_integer_value(json_object_get(said, "app")),
		.offset = (uint32_t)json_integer_value(json_object_get(key, "offset")),
		.contention = (uint32_t)json_integer_value(json_object_get(key, "contention")),
		.bound = (uint32_t)json_integer_value(json_object_get(key, "bound")),
		.fits = json_is_true(json_object_get(key, "fits")),
		.exchanges = json_is_true(json_object_get(key, "exchanges")),
	};
	places = json_object_get(said, "places");
	for (uint32_t i = 0; i < n; i++)
		place[i] = (uint32_t)json_integer_value(json_array_get(places, i));
	json_decref(said);
	return osrk_wait(client, job->app, 0, ms);
}
