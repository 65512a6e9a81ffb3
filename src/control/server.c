/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One thread, one poll(). A turn reads what clients have sent, answers at most one line of each,
 * tells them what became of their keys, and lets the owner of this work (control.h: turn()).
 *
 * A user whose line took t seconds waits four times as long for the next one to be looked at, on all
 * his connections; until then his bytes stay in the kernel, and his writes block. So no user takes
 * more than a fifth of a processor. Who does not read his answers gets none of his lines read.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_CLIENTS 128
#define MAX_OF_USER 16
#define FOR_MASTERS 8   /* connections that are left to root */
#define FOR_FILES 16    /* descriptors that are left to files, as that of the book */
#define NO_ACCEPT_S 1.0 /* after there was no descriptor, or no memory, for a client */
#define MAX_WAITING (8u * 1024 * 1024) /* bytes of a user's lines that are not answered yet */
#define HALF_LINE_S 30.0               /* to send the rest of a line */
#define LAST_WORD_S 5.0                /* to read why the connection is closed */
#define GRACE_S 60.0                   /* to attach to what was held before a restart */

struct osr_control {
	struct osr_control_in in;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int listening, wake;
	pthread_t thread;
	bool runs;
	atomic_bool ends;

	/* The scheduler; who makes tables goes first. */
	pthread_mutex_t mutex;
	pthread_cond_t free;
	atomic_uint first; /* those who wait to make tables */
	struct osr_sched *sched;
	atomic_uint_fast64_t version;

	struct osr__client *client[MAX_CLIENTS];
	uint32_t n_clients;
	double began, no_accept;
	bool graced;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The lock ------------------------------------------------------------------------------------- */

void osr_control_wake(struct osr_control *c)
{
	uint64_t one = 1;

	if (write(c->wake, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

struct osr_sched *osr_control_lock(struct osr_control *c)
{
	atomic_fetch_add(&c->first, 1);
	pthread_mutex_lock(&c->mutex);
	atomic_fetch_sub(&c->first, 1);
	return c->sched;
}

void osr_control_unlock(struct osr_control *c)
{
	atomic_fetch_add(&c->version, 1);
	pthread_cond_signal(&c->free);
	pthread_mutex_unlock(&c->mutex);
	osr_control_wake(c);
}

static void lock_after_others(struct osr_control *c)
{
	pthread_mutex_lock(&c->mutex);
	while (atomic_load(&c->first))
		pthread_cond_wait(&c->free, &c->mutex);
}

static void take_for_thread(void *ctx)
{
	lock_after_others(ctx);
}

static void leave_for_thread(void *ctx)
{
	struct osr_control *c = ctx;

	pthread_mutex_unlock(&c->mutex);
}

static bool thread_ends(void *ctx)
{
	struct osr_control *c = ctx;

	return atomic_load(&c->ends);
}

bool osr_control_pending(struct osr_control *c)
{
	bool pending;

	lock_after_others(c);
	pending = osr_sched_present(c->sched) && osr_sched_dirty(c->sched);
	pthread_mutex_unlock(&c->mutex);
	return pending;
}

bool osr_control_used(struct osr_control *c)
{
	bool used;

	lock_after_others(c);
	used = osr_sched_row(c->sched, 0);
	pthread_mutex_unlock(&c->mutex);
	return used;
}

uint64_t osr_control_version(struct osr_control *c)
{
	return atomic_load(&c->version);
}

/* Clients come and go -------------------------------------------------------------------------- */

static uint32_t n_of_user(const struct osr_control *c, uint32_t uid)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_clients; i++)
		n += c->client[i]->peer.uid == uid;
	return n;
}

static void refuse_client(int fd)
{
	static const char text[] = "{\"ok\": false, \"code\": \"busy\", \"error\": \"there are too "
				   "many connections\"}\n";

	if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		shutdown(fd, SHUT_WR);
	close(fd);
}

static void accept_client(struct osr_control *c)
{
	int fd = accept4(c->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred cred;
	socklen_t size = sizeof(cred);
	struct osr__client *client;
	struct rlimit files;
	bool master;

	if (fd < 0) {
		c->no_accept = now() + NO_ACCEPT_S;
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size)) {
		close(fd);
		return;
	}
	master = !cred.uid || cred.uid == geteuid();
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur != RLIM_INFINITY &&
	    (rlim_t)fd + FOR_FILES >= files.rlim_cur) {
		refuse_client(fd);
		return;
	}
	if (c->n_clients >= (master ? MAX_CLIENTS : MAX_CLIENTS - FOR_MASTERS) ||
	    (!master && n_of_user(c, cred.uid) >= MAX_OF_USER)) {
		refuse_client(fd);
		return;
	}
	client = calloc(1, sizeof(*client));
	if (!client) {
		close(fd);
		return;
	}
	client->fd = fd;
	client->peer.uid = cred.uid;
	client->peer.master = master;
	c->client[c->n_clients++] = client;
}

/* Does another connection tell of this application, too? */
static bool attached_elsewhere(const struct osr_control *c, const struct osr__client *but,
			       uint32_t app)
{
	for (uint32_t i = 0; i < c->n_clients; i++)
		if (c->client[i] != but && osr__client_watches(c->client[i], app))
			return true;
	return false;
}

static void drop_client(struct osr_control *c, uint32_t i)
{
	struct osr__client *client = c->client[i];

	lock_after_others(c);
	for (uint32_t w = 0; w < client->n_watched; w++) {
		struct osr_sched_app *app = osr_sched_find(c->sched, client->watched[w].app);

		if (!app || !app->held || attached_elsewhere(c, client, app->id))
			continue;
		osr_sched_release(c->sched, app);
		atomic_fetch_add(&c->version, 1);
	}
	pthread_mutex_unlock(&c->mutex);
	osr__client_free(client);
	c->client[i] = c->client[--c->n_clients];
}

/* What was held before a restart goes unless somebody has come for it. */
static void end_grace(struct osr_control *c)
{
	struct osr_sched_app *app;

	if (c->graced || now() - c->began < GRACE_S)
		return;
	c->graced = true;
	lock_after_others(c);
	for (uint32_t i = 0; (app = osr_sched_row(c->sched, i));) {
		if (!app->held || attached_elsewhere(c, NULL, app->id)) {
			i++;
			continue;
		}
		osr_sched_release(c->sched, app);
		atomic_fetch_add(&c->version, 1);
	}
	pthread_mutex_unlock(&c->mutex);
}

/* Lines ---------------------------------------------------------------------------------------- */

/* Nothing of this user before that time. */
static void hold_back(struct osr_control *c, uint32_t uid, double until)
{
	for (uint32_t i = 0; i < c->n_clients; i++)
		if (c->client[i]->peer.uid == uid && c->client[i]->not_before < until)
			c->client[i]->not_before = until;
}

static void answer_line(struct osr_control *c, struct osr__client *client)
{
	size_t size = osr__client_line(client);
	struct osr__effect effect;
	double begin = now();
	json_t *answer;

	answer = osr__protocol(c->sched, &client->peer, client->in.text, size, &effect);
	if (effect.changed)
		atomic_fetch_add(&c->version, 1);
	if (effect.attach)
		osr__client_watch(client, osr_sched_find(c->sched, effect.attach), effect.key);
	pthread_mutex_unlock(&c->mutex);
	if (effect.detach)
		osr__client_forget(client, effect.detach);
	osr__client_say(client, answer);
	osr__buffer_shift(&client->in, size + 1);
	client->half_since = now();
	hold_back(c, client->peer.uid, now() + 4 * (now() - begin));
}

/* The last word, and a while to read it. */
static void end_client(struct osr__client *client, const char *why)
{
	osr__client_say(client, osr__refusal(OSR_INVAL, why));
	client->closing = true;
	client->half_since = now();
}

static size_t waiting_of_user(const struct osr_control *c, uint32_t uid)
{
	size_t n = 0;

	for (uint32_t i = 0; i < c->n_clients; i++)
		if (c->client[i]->peer.uid == uid)
			n += c->client[i]->in.size;
	return n;
}

static void read_client(struct osr_control *c, struct osr__client *client)
{
	if (!client->in.size)
		client->half_since = now();
	if (client->in.size && waiting_of_user(c, client->peer.uid) >= MAX_WAITING)
		end_client(client, "too much of this user waits already");
	else if (!osr__client_read(client))
		client->gone = true;
}

static void serve_client(struct osr_control *c, struct osr__client *client)
{
	double since = now() - client->half_since;

	if (client->closing)
		client->gone |= !client->out.size || since > LAST_WORD_S;
	else if (client->gone || !client->in.size)
		return;
	else if (!osr__client_has_line(client) && client->in.size > OSR_CONTROL_MAX_LINE)
		end_client(client, "the line is too long");
	else if (!osr__client_has_line(client) && since > HALF_LINE_S)
		end_client(client, "the line does not end");
	else if (osr__client_has_line(client) && client->out.size < OSR__OUT_ENOUGH &&
		 now() >= client->not_before)
		answer_line(c, client);
}

/* The turn ------------------------------------------------------------------------------------- */

static short wanted_events(const struct osr__client *client)
{
	short events = client->out.size ? POLLOUT : 0;

	if (!client->closing && !osr__client_has_line(client) &&
	    client->out.size < OSR__OUT_ENOUGH && client->not_before <= now())
		events |= POLLIN;
	return events;
}

/* Milliseconds until somebody who was held back has his turn, or who sends half a line has had his. */
static int patience(const struct osr_control *c, int ms)
{
	double least = ms < 0 ? 3600 : ms / 1e3, t = now();

	if (!c->graced && c->began + GRACE_S - t < least)
		least = c->began + GRACE_S - t;
	if (c->no_accept > t && c->no_accept - t < least)
		least = c->no_accept - t;
	for (uint32_t i = 0; i < c->n_clients; i++) {
		const struct osr__client *client = c->client[i];
		double wait = least;

		if (client->closing)
			wait = client->half_since + LAST_WORD_S - t;
		else if (client->not_before > t)
			wait = client->not_before - t;
		else if (client->in.size && client->out.size < OSR__OUT_ENOUGH)
			wait = osr__client_has_line(client) ? 0
							    : client->half_since + HALF_LINE_S - t;
		if (wait < least)
			least = wait;
	}
	return least <= 0 ? 0 : (int)(least * 1e3) + 1;
}

static void drain(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) < 0)
		return; /* nobody woke us */
}

static bool accepts(const struct osr_control *c)
{
	return c->n_clients < MAX_CLIENTS && now() >= c->no_accept;
}

static void wait_for_clients(struct osr_control *c, int ms)
{
	struct pollfd p[MAX_CLIENTS + 2] = {
		{ .fd = c->wake, .events = POLLIN },
		{ .fd = accepts(c) ? c->listening : -1, .events = POLLIN },
	};
	uint32_t n = c->n_clients;

	for (uint32_t i = 0; i < n; i++)
		p[i + 2] = (struct pollfd){ .fd = c->client[i]->fd,
					    .events = wanted_events(c->client[i]) };
	if (poll(p, n + 2, patience(c, ms)) < 0)
		return;
	if (p[0].revents)
		drain(c->wake);
	for (uint32_t i = 0; i < n; i++) {
		struct osr__client *client = c->client[i];

		if (p[i + 2].revents & POLLOUT)
			osr__client_write(client);
		if (p[i + 2].revents & POLLIN)
			read_client(c, client);
		else if (p[i + 2].revents & (POLLHUP | POLLERR | POLLNVAL))
			client->gone = true;
	}
	if (p[1].revents)
		accept_client(c);
}

static void tell_all(struct osr_control *c)
{
	lock_after_others(c);
	for (uint32_t i = 0; i < c->n_clients; i++)
		osr__client_tell(c->client[i], c->sched);
	pthread_mutex_unlock(&c->mutex);
}

/* What a sweep has left to do; what clients have said comes in between. */
static bool work(struct osr_control *c)
{
	bool some;

	lock_after_others(c);
	some = osr_sched_work(c->sched);
	pthread_mutex_unlock(&c->mutex);
	if (some)
		atomic_fetch_add(&c->version, 1);
	return some;
}

static void *serve(void *arg)
{
	struct osr_control *c = arg;
	bool busy;
	int ms = 0;

	while (!atomic_load(&c->ends)) {
		wait_for_clients(c, ms);
		for (uint32_t i = 0; i < c->n_clients; i++)
			serve_client(c, c->client[i]);
		busy = work(c);
		tell_all(c);
		for (uint32_t i = c->n_clients; i--;) {
			struct osr__client *client = c->client[i];

			osr__client_write(client);
			if (client->gone)
				drop_client(c, i);
		}
		end_grace(c);
		ms = c->in.turn ? c->in.turn(c->in.ctx) : -1;
		ms = busy ? 0 : ms;
	}
	return NULL;
}

/* Opening and closing -------------------------------------------------------------------------- */

/* Is anybody there? A socket that a process left behind has nobody. */
static enum osr_status make_room(const struct sockaddr_un *a, struct osr_diag *diag)
{
	struct stat st;
	int fd, error;

	if (lstat(a->sun_path, &st))
		return OSR_OK; /* bind() says what is wrong */
	if (!S_ISSOCK(st.st_mode))
		return osr_fail(diag, OSR_INVAL, "%s is there and no socket", a->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	error = connect(fd, (const struct sockaddr *)a, sizeof(*a)) ? errno : 0;
	close(fd);
	if (error != ECONNREFUSED)
		return osr_fail(diag, OSR_INVAL, "another process serves %s", a->sun_path);
	unlink(a->sun_path);
	return OSR_OK;
}

/* Nobody can connect before listen(), and then the mode is right. */
static enum osr_status open_socket(struct osr_control *c, struct osr_diag *diag)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	enum osr_status st;

	memcpy(a.sun_path, c->path, sizeof(a.sun_path));
	st = make_room(&a, diag);
	if (st)
		return st;
	c->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listening < 0 || bind(c->listening, (struct sockaddr *)&a, sizeof(a)))
		return osr_fail(diag, OSR_INVAL, "%s: %s", c->path, strerror(errno));
	if (chmod(c->path, c->in.mode) || listen(c->listening, 64)) {
		unlink(c->path);
		return osr_fail(diag, OSR_INVAL, "%s: %s", c->path, strerror(errno));
	}
	return OSR_OK;
}

struct osr_control *osr_control_open(const struct osr_control_in *in, struct osr_diag *diag)
{
	struct osr_control *c = calloc(1, sizeof(*c));
	struct osr_sched_lock lock = { take_for_thread, leave_for_thread, thread_ends, c };

	if (!c) {
		osr_fail(diag, OSR_NOMEM, "out of memory for the control socket");
		return NULL;
	}
	c->in = *in;
	c->listening = -1;
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->free, NULL);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->sched = osr_sched_new(&in->limits);
	if (!c->sched || c->wake < 0)
		osr_fail(diag, OSR_NOMEM, "out of memory for the control socket");
	else if (snprintf(c->path, sizeof(c->path), "%s", in->path) >= (int)sizeof(c->path))
		osr_fail(diag, OSR_INVAL, "%.200s: a socket's path has %zu characters at most",
			 in->path, sizeof(c->path) - 1);
	else if (!open_socket(c, diag)) {
		osr_sched_share(c->sched, &lock);
		return c;
	}
	c->path[0] = '\0'; /* not ours */
	osr_control_close(c);
	return NULL;
}

enum osr_status osr_control_start(struct osr_control *c, struct osr_diag *diag)
{
	sigset_t all, before;

	/* Signals are for the threads that were there. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	c->began = now();
	c->runs = !pthread_create(&c->thread, NULL, serve, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (c->runs)
		return OSR_OK;
	/* Clients shall be refused, not wait. */
	close(c->listening);
	c->listening = -1;
	unlink(c->path);
	c->path[0] = '\0';
	return osr_fail(diag, OSR_NOMEM, "no thread for the control socket");
}

void osr_control_stop(struct osr_control *c)
{
	if (!c->runs)
		return;
	atomic_store(&c->ends, true);
	osr_control_wake(c);
	pthread_join(c->thread, NULL);
	c->runs = false;
}

void osr_control_close(struct osr_control *c)
{
	if (!c)
		return;
	osr_control_stop(c);
	for (uint32_t i = 0; i < c->n_clients; i++)
		osr__client_free(c->client[i]);
	if (c->listening >= 0)
		close(c->listening);
	if (c->wake >= 0)
		close(c->wake);
	if (c->path[0])
		unlink(c->path);
	osr_sched_free(c->sched);
	pthread_mutex_destroy(&c->mutex);
	pthread_cond_destroy(&c->free);
	free(c);
}

/* The book ------------------------------------------------------------------------------------- */

char *osr_control_save(struct osr_control *c)
{
	json_t *book;
	char *text;
	size_t size;

	book = osr__book(c->sched);
	text = book ? osr__dump(book, JSON_INDENT(1), &size) : NULL;
	json_decref(book);
	return text;
}

enum osr_status osr_control_restore(struct osr_control *c, const char *text, size_t size,
				    uint32_t *n, uint32_t *n_wrong, struct osr_diag *diag)
{
	json_error_t error;
	json_t *book = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	enum osr_status st;

	*n = *n_wrong = 0;
	if (!book)
		return osr_fail(diag, OSR_INVAL, "line %d: %s", error.line, error.text);
	osr_control_lock(c);
	st = osr__book_restore(c->sched, book, c->in.limits.max_pairs, n, n_wrong, diag);
	osr_control_unlock(c);
	json_decref(book);
	return st;
}
