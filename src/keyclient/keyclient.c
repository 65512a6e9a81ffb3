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

static int fail(struct osrk *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct osrk *k, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(k->error, sizeof(k->error), fmt, args);
	va_end(args);
	return -1;
}

static int hang_up(struct osrk *k, const char *why)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
	return fail(k, "the connection to the subnet manager has ended: %s", why);
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
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct answers *answers = ctx;
	size_t at = strlen(answers->names);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = false;

	if (snprintf(a.sun_path, sizeof(a.sun_path), "%s", path) >= (int)sizeof(a.sun_path))
		errno = ENAMETOOLONG;
	else
		good = fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a));
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
	struct osrk *k = calloc(1, sizeof(*k));
	struct answers answers = { .fd = -1, .error = ENOENT };

	if (!k)
		return NULL;
	k->keys = json_object();
	osrk_each_socket(path, try_socket, &answers);
	path = path_or_default(path);
	k->fd = answers.fd;
	if (answers.n == 1)
		return k;
	k->fd = -1;
	if (answers.n) {
		close(answers.fd);
		fail(k, "several subnet managers answer in %s, choose one: %s", path,
		     answers.names);
	} else if (answers.error == ENOENT || answers.error == ECONNREFUSED) {
		fail(k,
		     "no opensm answers at %s: it does not run, or control_socket in its "
		     "osmroutes.conf is not this path",
		     path);
	} else {
		fail(k, "%s: %s", path, strerror(answers.error));
	}
	return k;
}

void osrk_close(struct osrk *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	free(k->in);
	json_decref(k->keys);
	free(k);
}

bool osrk_ok(const struct osrk *k)
{
	return k && k->fd >= 0;
}

const char *osrk_error(const struct osrk *k)
{
	return k ? k->error : "out of memory";
}

/* Lines ---------------------------------------------------------------------------------------- */

static int send_line(struct osrk *k, const char *text, size_t n)
{
	while (n) {
		ssize_t sent = send(k->fd, text, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return hang_up(k, strerror(errno));
		text += sent;
		n -= (size_t)sent;
	}
	return 0;
}

/* More bytes, or 0 when it is later than `until` (< 0: never). */
static int more(struct osrk *k, double until)
{
	struct pollfd p = { .fd = k->fd, .events = POLLIN };
	double left = until < 0 ? 1e9 : until - osr_clock_ms(CLOCK_MONOTONIC);
	ssize_t n;

	if (poll(&p, 1, left > 0 ? (int)left + 1 : 0) <= 0)
		return 0;
	if (k->size == k->room) {
		size_t room = k->room ? 2 * k->room : 4096;
		char *in = room > MAX_ANSWER ? NULL : realloc(k->in, room);

		if (!in)
			return hang_up(k, "out of memory for its answer");
		k->in = in;
		k->room = room;
	}
	n = recv(k->fd, k->in + k->size, k->room - k->size, 0);
	if (n < 0 && errno == EINTR)
		return 1;
	if (n <= 0)
		return hang_up(k, n ? strerror(errno) : "it has closed");
	k->size += (size_t)n;
	return 1;
}

/* The next line as an object; *j is NULL when there is none in time. */
static int next_line(struct osrk *k, double until, json_t **j)
{
	char *end;
	size_t n;

	*j = NULL;
	while (!k->size || !(end = memchr(k->in, '\n', k->size))) {
		int st = k->fd < 0 ? -1 : more(k, until);

		if (st <= 0)
			return st;
	}
	n = (size_t)(end - k->in);
	*j = json_loadb(k->in, n, 0, NULL);
	k->size -= n + 1;
	memmove(k->in, end + 1, k->size);
	return *j ? 1 : hang_up(k, "its answer cannot be understood");
}

/* What is known of keys ------------------------------------------------------------------------ */

static void key_name(char name[48], json_int_t app, json_int_t key)
{
	snprintf(name, 48, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT, app, key);
}

static void learn_key(struct osrk *k, json_int_t app, json_t *key)
{
	char name[48];

	key_name(name, app, json_integer_value(json_object_get(key, "key")));
	json_object_set(k->keys, name, key);
}

static void learn(struct osrk *k, json_t *said)
{
	json_int_t app = json_integer_value(json_object_get(said, "app"));
	json_t *key;
	size_t i;

	if (json_object_get(said, "state"))
		learn_key(k, app, said);
	json_array_foreach(json_object_get(said, "keys"), i, key) learn_key(k, app, key);
}

/* Asking --------------------------------------------------------------------------------------- */

/* Takes the object. An answer that says no is an error. */
static json_t *keyclient_ask(struct osrk *k, json_t *object)
{
	json_t *said = NULL;
	double until;
	char *text;
	int st = -1;

	if (!osrk_ok(k)) {
		json_decref(object);
		return NULL;
	}
	json_object_set_new(object, "id", json_integer(++k->n_asked));
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (text) {
		st = send_line(k, text, strlen(text)) ? -1 : send_line(k, "\n", 1);
		free(text);
	} else {
		fail(k, "out of memory");
	}
	/* The answer with this number; events on the way are learnt. */
	until = osr_clock_ms(CLOCK_MONOTONIC) + ANSWER_MS;
	while (!st && !said) {
		const json_t *id;

		st = next_line(k, until, &said);
		if (!st)
			hang_up(k, "it does not answer");
		if (st <= 0)
			return NULL;
		st = 0;
		learn(k, said);
		id = json_object_get(said, "id");
		if (!json_object_get(said, "ok") || (id && json_integer_value(id) != k->n_asked)) {
			json_decref(said);
			said = NULL;
		}
	}
	if (said && !json_is_true(json_object_get(said, "ok"))) {
		const char *why = json_string_value(json_object_get(said, "error"));

		fail(k, "%s", why && *why ? why : "refused without a word");
		json_decref(said);
		said = NULL;
	}
	return said;
}

char *osrk_ask(struct osrk *k, const char *line)
{
	json_t *object = json_loads(line, 0, NULL), *said;
	char *text = NULL;
	size_t n;

	if (!json_is_object(object)) {
		json_decref(object);
		fail(k, "expected a JSON object");
		return NULL;
	}
	said = keyclient_ask(k, object);
	if (!said)
		return NULL;
	/* json_dumps() may leave out a piece when memory is short (jansson 2.14). */
	n = json_dumpb(said, NULL, 0, JSON_COMPACT);
	text = n ? calloc(1, n + 1) : NULL;
	if (!text || json_dumpb(said, text, n, JSON_COMPACT) != n) {
		free(text);
		text = NULL;
		fail(k, "out of memory");
	}
	json_decref(said);
	return text;
}

/* An operation on an application, or on one of its keys. */
static int simple(struct osrk *k, const char *op, uint32_t app, const uint32_t *key)
{
	json_t *line = json_pack("{s:s, s:I}", "op", op, "app", (json_int_t)app), *said;

	if (key)
		json_object_set_new(line, "key", json_integer(*key));
	said = keyclient_ask(k, line);
	json_decref(said);
	return said ? 0 : -1;
}

int osrk_attach(struct osrk *k, uint32_t app)
{
	return simple(k, "attach", app, NULL);
}

int osrk_withdraw(struct osrk *k, uint32_t app)
{
	return simple(k, "withdraw", app, NULL);
}

int osrk_done(struct osrk *k, uint32_t app, uint32_t key)
{
	return simple(k, "done", app, &key);
}

bool osrk_key(const struct osrk *k, uint32_t app, uint32_t key, struct osrk_key *what)
{
	static const char *const states[] = { "prepared", "waiting", "active", "withdrawn" };
	char name[48];
	const json_t *json;
	const char *state;

	key_name(name, app, key);
	json = json_object_get(k->keys, name);
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

int osrk_request(struct osrk *k, uint32_t app, uint32_t key, int ms)
{
	double until = ms < 0 ? -1 : osr_clock_ms(CLOCK_MONOTONIC) + ms;
	struct osrk_key what = { .state = OSRK_WITHDRAWN };

	if (simple(k, "request", app, &key))
		return -1;
	while (osrk_key(k, app, key, &what) && what.state == OSRK_WAITING && ms) {
		json_t *said;
		int st = next_line(k, until, &said);

		if (st < 0)
			return -1;
		if (!st)
			return fail(k, "the switches do not have key %" PRIu32 " after %d ms", key,
				    ms);
		learn(k, said);
		json_decref(said);
	}
	if (what.state == OSRK_ACTIVE || (!ms && what.state == OSRK_WAITING))
		return 0;
	return fail(k, "key %" PRIu32 " was withdrawn, the base routing serves its traffic", key);
}
