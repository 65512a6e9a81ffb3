/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One thread, one poll(). A turn reads the clients' bytes, answers at most one line of each, tells
 * them the new states of their keys, and lets the owner of this work (control.h: turn()).
 *
 * A user whose line took t seconds waits four times as long for the next one to be looked at, on
 * all his connections; until then his bytes stay in the kernel, and his writes block. So no user
 * takes more than a fifth of a processor. No line is read of a client that does not read its
 * answers.
 */
#include "protocol.h"

#include <errno.h>
#include <fcntl.h>
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
#include <unistd.h>

#include <osmroutes/invariant.h>
#include <osmroutes/clock.h>

#include "conf/posix_threads.h"

#define MAX_CLIENTS 128
#define MAX_OF_USER 16
#define FOR_MASTERS 8   /* connections that are left to root */
#define FOR_FILES 16    /* descriptors that are left to files */
#define NO_ACCEPT_S 1.0 /* after there was no descriptor, or no memory, for a client */
#define MAX_WAITING (8u * 1024 * 1024) /* bytes of a user's lines that are not answered yet */
#define HALF_LINE_S 30.0               /* to send the rest of a line */

struct osr_control {
	struct osr_control_in in;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int listening, wake;
	pthread_t thread;
	bool runs;
	atomic_bool ends;

	/* The scheduler; threads that make tables go first. */
	pthread_mutex_t mutex;
	pthread_cond_t free;
	atomic_uint first; /* threads that wait to make tables */
	struct osr_sched *sched;
	json_t *sm; /* osr_control_tell() */

	struct osr_client *client[MAX_CLIENTS];
	uint32_t n_clients;
	double no_accept;
};

static double server_now(void)
{
	return osr_clock_ms(CLOCK_MONOTONIC) * 1e-3;
}

/* The lock ------------------------------------------------------------------------------------- */

void osr_control_wake(struct osr_control *control)
{
	uint64_t one = 1;

	if (write(control->wake, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

struct osr_sched *osr_control_lock(struct osr_control *control)
{
	atomic_fetch_add(&control->first, 1);
	pthread_mutex_lock(&control->mutex);
	atomic_fetch_sub(&control->first, 1);
	return control->sched;
}

void osr_control_unlock(struct osr_control *control)
{
	pthread_cond_signal(&control->free);
	pthread_mutex_unlock(&control->mutex);
	osr_control_wake(control);
}

static void take_for_thread(void *ctx)
{
	struct osr_control *control = ctx;

	pthread_mutex_lock(&control->mutex);
	while (atomic_load(&control->first))
		pthread_cond_wait(&control->free, &control->mutex);
}

static void leave_for_thread(void *ctx)
{
	struct osr_control *control = ctx;

	pthread_mutex_unlock(&control->mutex);
}

static bool thread_ends(void *ctx)
{
	struct osr_control *control = ctx;

	return atomic_load(&control->ends);
}

bool osr_control_pending(struct osr_control *control)
{
	bool pending;

	take_for_thread(control);
	pending = osr_sched_present(control->sched) && osr_sched_dirty(control->sched);
	pthread_mutex_unlock(&control->mutex);
	return pending;
}

void osr_control_tell(struct osr_control *control, json_t *sm)
{
	pthread_mutex_lock(&control->mutex);
	json_decref(control->sm);
	control->sm = sm;
	pthread_mutex_unlock(&control->mutex);
}

/* Clients come and go -------------------------------------------------------------------------- */

static void accept_client(struct osr_control *control)
{
	int fd = accept4(control->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred cred;
	socklen_t size = sizeof(cred);
	struct osr_client *client;
	uint32_t n_of_user = 0;
	struct rlimit files;
	bool master, agent;

	if (fd < 0) {
		control->no_accept = server_now() + NO_ACCEPT_S;
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size)) {
		close(fd);
		return;
	}
	master = !cred.uid || cred.uid == geteuid();
	agent = master || cred.uid == control->in.agent;
	for (uint32_t i = 0; i < control->n_clients; i++)
		n_of_user += control->client[i]->peer.uid == cred.uid;
	if ((!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur != RLIM_INFINITY &&
	     (rlim_t)fd + FOR_FILES >= files.rlim_cur) ||
	    control->n_clients >= (agent ? MAX_CLIENTS : MAX_CLIENTS - FOR_MASTERS) ||
	    (!agent && n_of_user >= MAX_OF_USER)) {
		static const char text[] =
			"{\"ok\": false, \"code\": \"busy\", \"error\": \"there are too "
			"many connections\"}\n";

		/* A client that is refused is told why. */
		if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			shutdown(fd, SHUT_WR);
		close(fd);
		return;
	}
	client = calloc(1, sizeof(*client));
	if (!client) {
		close(fd);
		return;
	}
	client->fd = fd;
	client->peer = (struct osr_peer){ .uid = cred.uid,
					  .master = master,
					  .agent = agent,
					  .drains = control->in.drains,
					  .sm = &control->sm };
	control->client[control->n_clients++] = client;
}

/* Does a client other than number i watch the application? */
static bool is_watched_beside(const struct osr_control *control, uint32_t i, uint32_t app)
{
	for (uint32_t k = 0; k < control->n_clients; k++)
		if (k != i && osr_client_watches(control->client[k], app))
			return true;
	return false;
}

static void drop_client(struct osr_control *control, uint32_t i)
{
	struct osr_client *client = control->client[i];

	osr_invariant(i < control->n_clients);
	take_for_thread(control);
	/* An application that is held goes unless another connection tells of it. */
	for (uint32_t w = 0; w < client->n_watched; w++) {
		struct osr_sched_app *app = osr_sched_find(control->sched, client->watched[w].app);

		if (app && app->held && !is_watched_beside(control, i, app->id))
			osr_sched_release(control->sched, app);
	}
	pthread_mutex_unlock(&control->mutex);
	osr_client_free(client);
	control->client[i] = control->client[--control->n_clients];
}

/* Lines ---------------------------------------------------------------------------------------- */

static void answer_line(struct osr_control *control, struct osr_client *client)
{
	size_t size = osr_client_line(client);
	struct osr_effect effect;
	double begin = server_now(), until;
	json_t *answer;

	if (control->in.not_master)
		client->peer.not_master = control->in.not_master(control->in.ctx);
	answer = osr_protocol(control->sched, &client->peer, client->in.text, size, &effect);
	if (effect.attach)
		osr_client_watch(client, osr_sched_find(control->sched, effect.attach), effect.key);
	pthread_mutex_unlock(&control->mutex);
	if (effect.detach)
		osr_client_forget(client, effect.detach);
	osr_client_say(client, answer);
	osr_buffer_shift(&client->in, size + 1);
	client->half_since = server_now();
	/* Nothing of this user before that time. */
	until = server_now() + 4 * (server_now() - begin);
	for (uint32_t i = 0; i < control->n_clients; i++)
		if (control->client[i]->peer.uid == client->peer.uid &&
		    control->client[i]->not_before < until)
			control->client[i]->not_before = until;
}

/* The last word. It may be lost where the client sends on. */
static void end_client(struct osr_client *client, const char *why)
{
	osr_client_say(client, osr_refusal(OSR_INVAL, why));
	osr_client_write(client);
	shutdown(client->fd, SHUT_WR);
	client->gone = true;
}

/* The turn ------------------------------------------------------------------------------------- */

/*
 * Milliseconds until a client that was held back has its turn, or the time of half a line is over.
 */
static int patience(const struct osr_control *control, int ms)
{
	double least = ms < 0 ? 3600 : ms / 1e3, t = server_now();

	if (control->no_accept > t && control->no_accept - t < least)
		least = control->no_accept - t;
	for (uint32_t i = 0; i < control->n_clients; i++) {
		const struct osr_client *client = control->client[i];
		double wait = least;

		if (client->not_before > t)
			wait = client->not_before - t;
		else if (client->in.size && client->out.size < OSR_OUT_ENOUGH)
			wait = osr_client_has_line(client) ? 0
							   : client->half_since + HALF_LINE_S - t;
		if (wait < least)
			least = wait;
	}
	return least <= 0 ? 0 : (int)(least * 1e3) + 1;
}

static void wait_for_clients(struct osr_control *control, int ms)
{
	bool accepts = control->n_clients < MAX_CLIENTS && server_now() >= control->no_accept;
	struct pollfd pollfd[MAX_CLIENTS + 2] = {
		{ .fd = control->wake, .events = POLLIN },
		{ .fd = accepts ? control->listening : -1, .events = POLLIN },
	};
	uint32_t n = control->n_clients;
	uint64_t woken;

	for (uint32_t i = 0; i < n; i++) {
		const struct osr_client *client = control->client[i];
		short events = client->out.size ? POLLOUT : 0;

		if (!osr_client_has_line(client) && client->out.size < OSR_OUT_ENOUGH &&
		    client->not_before <= server_now())
			events |= POLLIN;
		pollfd[i + 2] = (struct pollfd){ .fd = client->fd, .events = events };
	}
	if (poll(pollfd, n + 2, patience(control, ms)) < 0)
		return;
	if (pollfd[0].revents && read(control->wake, &woken, sizeof(woken)) < 0)
		pollfd[0].revents = 0; /* nobody woke us */
	for (uint32_t i = 0; i < n; i++) {
		struct osr_client *client = control->client[i];
		size_t waiting = 0;

		for (uint32_t k = 0; k < n; k++)
			if (control->client[k]->peer.uid == client->peer.uid)
				waiting += control->client[k]->in.size;
		if (pollfd[i + 2].revents & POLLOUT)
			osr_client_write(client);
		if (pollfd[i + 2].revents & POLLIN) {
			if (!client->in.size)
				client->half_since = server_now();
			if (client->in.size && waiting >= MAX_WAITING)
				end_client(client, "too many requests of this user are pending");
			else if (!osr_client_read(client))
				client->gone = true;
		} else if (pollfd[i + 2].revents & (POLLHUP | POLLERR | POLLNVAL))
			client->gone = true;
	}
	if (pollfd[1].revents)
		accept_client(control);
}

static void *serve(void *arg)
{
	struct osr_control *control = arg;
	bool busy;
	int ms = 0;

	while (!atomic_load(&control->ends)) {
		wait_for_clients(control, ms);
		for (uint32_t i = 0; i < control->n_clients; i++) {
			struct osr_client *client = control->client[i];
			bool line = osr_client_has_line(client);

			if (client->gone || !client->in.size)
				continue;
			if (!line && client->in.size > OSR_CONTROL_MAX_LINE)
				end_client(client, "the line is too long");
			else if (!line && server_now() - client->half_since > HALF_LINE_S)
				end_client(client, "the line does not end");
			else if (line && client->out.size < OSR_OUT_ENOUGH &&
				 server_now() >= client->not_before)
				answer_line(control, client);
		}
		/* The work that a sweep has left; lines of clients are answered in between. */
		take_for_thread(control);
		busy = osr_sched_work(control->sched);
		pthread_mutex_unlock(&control->mutex);
		/* Clients are told the new states of their keys. */
		take_for_thread(control);
		for (uint32_t i = 0; i < control->n_clients; i++)
			osr_client_tell(control->client[i], control->sched);
		pthread_mutex_unlock(&control->mutex);
		for (uint32_t i = control->n_clients; i--;) {
			struct osr_client *client = control->client[i];

			osr_client_write(client);
			if (client->gone)
				drop_client(control, i);
		}
		ms = control->in.turn ? control->in.turn(control->in.ctx) : -1;
		ms = busy ? 0 : ms;
	}
	return NULL;
}

/* Opening and closing -------------------------------------------------------------------------- */

/* Nobody can connect before listen(), and then the mode is right. */
static enum osr_status open_socket(struct osr_control *control, struct osr_diag *diag)
{
	struct sockaddr_un sockaddr_un = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, error;

	memcpy(sockaddr_un.sun_path, control->path, sizeof(sockaddr_un.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Is anybody there? A socket that a process left behind has nobody. */
	if (!lstat(sockaddr_un.sun_path, &st)) {
		error = connect(fd, (const struct sockaddr *)&sockaddr_un, sizeof(sockaddr_un))
				? errno
				: 0;
		if (!S_ISSOCK(st.st_mode) || error != ECONNREFUSED) {
			close(fd);
			return osr_fail(diag, OSR_INVAL,
					S_ISSOCK(st.st_mode)
						? "another process serves %s; with %%g in "
						  "control_socket each port has one"
						: "%s exists and is not a socket",
					sockaddr_un.sun_path);
		}
		unlink(sockaddr_un.sun_path);
	}
	control->listening = fd;
	if (fd < 0 || bind(fd, (struct sockaddr *)&sockaddr_un, sizeof(sockaddr_un)))
		return osr_fail(diag, OSR_INVAL, "%s: %s", control->path, strerror(errno));
	if (chmod(control->path, control->in.mode) ||
	    (control->in.agent && chown(control->path, control->in.agent, -1)) || listen(fd, 64)) {
		unlink(control->path);
		return osr_fail(diag, OSR_INVAL, "%s: %s", control->path, strerror(errno));
	}
	return OSR_OK;
}

struct osr_control *osr_control_open(const struct osr_control_in *in, struct osr_diag *diag)
{
	struct osr_control *control = calloc(1, sizeof(*control));

	if (!control) {
		osr_fail(diag, OSR_NOMEM, "out of memory for the control socket");
		return NULL;
	}
	control->in = *in;
	control->in.limits.lock =
		(struct osr_sched_lock){ take_for_thread, leave_for_thread, thread_ends, control };
	control->listening = -1;
	pthread_mutex_init(&control->mutex, NULL);
	pthread_cond_init(&control->free, NULL);
	control->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	control->sched = osr_sched_new(&control->in.limits);
	if (!control->sched || control->wake < 0)
		osr_fail(diag, OSR_NOMEM, "out of memory for the control socket");
	else if (snprintf(control->path, sizeof(control->path), "%s", in->path) >=
		 (int)sizeof(control->path))
		osr_fail(diag, OSR_INVAL,
			 "%.200s: the path of a socket may have %zu characters at most", in->path,
			 sizeof(control->path) - 1);
	else if (!open_socket(control, diag))
		return control;
	control->path[0] = '\0'; /* not ours */
	osr_control_close(control);
	return NULL;
}

enum osr_status osr_control_start(struct osr_control *control, struct osr_diag *diag)
{
	control->runs = osr_thread_start(&control->thread, "osr-control", serve, control);
	if (control->runs)
		return OSR_OK;
	/* Clients shall be refused, not wait. */
	close(control->listening);
	control->listening = -1;
	unlink(control->path);
	control->path[0] = '\0';
	return osr_fail(diag, OSR_NOMEM, "no thread for the control socket");
}

void osr_control_close(struct osr_control *control)
{
	if (!control)
		return;
	if (control->runs) {
		atomic_store(&control->ends, true);
		osr_control_wake(control);
		pthread_join(control->thread, NULL);
	}
	for (uint32_t i = 0; i < control->n_clients; i++)
		osr_client_free(control->client[i]);
	if (control->listening >= 0)
		close(control->listening);
	if (control->wake >= 0)
		close(control->wake);
	if (control->path[0])
		unlink(control->path);
	osr_sched_free(control->sched);
	json_decref(control->sm);
	pthread_mutex_destroy(&control->mutex);
	pthread_cond_destroy(&control->free);
	free(control);
}
