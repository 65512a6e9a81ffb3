/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever comes through the control socket of routing keys: every line is answered with a JSON
 * object, and what is in the scheduler afterwards can be used. Bytes go through a real pair of
 * sockets and the server's own buffers, without its thread and its clock.
 */
#include <sys/socket.h>

#include "control/protocol.h"
#include "fuzz.h"
#include "keytree.h"
#include "sweeps.h"

/*
 * Two spines, four leaves with two hosts each: GUIDs 0x100 + n of hosts, LIDs 16 + 4 n, LMC 2. Made
 * once, as are its tables.
 */
static const struct osr_fabric *keyring_fabric(void)
{
	static struct osr_arena arena;
	static struct osr_fabric fabric;

	if (!fabric.n_switches)
		insist(!key_tree(4, 2, -1, &arena, &fabric), "the fabric", "");
	return &fabric;
}

static const struct osr_routing *base_tables(void)
{
	static struct osr_arena arena;
	static struct osr_result base;
	const struct osr_request req = { .max_vls = 1 };
	struct osr_diag diag = { "" };
	struct osr_sweep sweep;

	if (base.routing.lft)
		return &base.routing;
	base.fabric = *keyring_fabric();
	insist(!test_route("dmodk", "", req, NULL, &arena, &base, &sweep, &diag), "the base",
	       diag.text);
	return &base.routing;
}

static void answer(struct osr_sched *sched, struct osr_client *client)
{
	size_t n = osr_client_line(client);
	struct osr_effect effect;
	json_t *said = osr_protocol(sched, &client->peer, client->in.text, n, &effect);

	insist(json_is_boolean(json_object_get(said, "ok")), "no answer", "");
	insist(json_is_true(json_object_get(said, "ok")) ||
		       json_is_string(json_object_get(said, "error")),
	       "no sentence", "");
	if (effect.attach)
		osr_client_watch(client, osr_sched_find(sched, effect.attach), effect.key);
	if (effect.detach)
		osr_client_forget(client, effect.detach);
	osr_client_say(client, said);
	osr_buffer_shift(&client->in, n + 1);
	osr_client_tell(client, sched);
	client->peer.uid ^= n % 3 == 0; /* another user from time to time */
}

/* All that was said is lines, each of them an object. */
static void listen_to(int fd)
{
	static char text[64 * 1024];
	ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
	char *at = text, *end;

	for (; n > 0 && (end = memchr(at, '\n', (size_t)(text + n - at))); at = end + 1) {
		json_t *said = json_loadb(at, (size_t)(end - at), 0, NULL);

		insist(json_is_object(said), "an answer", "that is no object");
		json_decref(said);
	}
	insist(n < 0 || at == text + n || n == sizeof(text), "an answer", "that does not end");
}

/* One connection for all inputs, with its buffers, as if it had just come. */
static struct osr_client *connected(int *other)
{
	static struct osr_client *client;
	static int fd[2];

	if (!client) {
		client = calloc(1, sizeof(*client));
		insist(client && !socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "socket", "none");
		client->fd = fd[0];
	}
	while (client->n_watched)
		osr_client_forget(client, client->watched[0].app);
	client->in.size = client->out.size = 0;
	client->gone = false;
	client->peer.uid = 1000;
	*other = fd[1];
	return client;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct osr_sched_limits limits = { 64, 8, 64, 4096, OSR_KEY_FINE, 0, 0, { 0 } };
	struct osr_sched *sched = osr_sched_new(&limits);
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_overlay_entry *entry;
	struct osr_diag diag = { "" };
	struct osr_routing out;
	uint32_t n_entries;
	size_t first = size ? data[0] * size / 256 : 0;
	int fd;
	struct osr_client *client = connected(&fd);

	insist(sched && !osr_sched_fabric(sched, keyring_fabric(), NULL, &diag), "the fabric",
	       diag.text);
	/* In two pieces, somewhere. */
	for (unsigned piece = 0; piece < 2; piece++) {
		size_t n = piece ? size - first : first;

		insist(!n || send(fd, data + (piece ? first : 0), n, MSG_DONTWAIT) == (ssize_t)n,
		       "socket", "full");
		insist(!n || osr_client_read(client), "reading", "ends");
		while (osr_client_has_line(client))
			answer(sched, client);
		while (client->out.size && !client->gone) {
			osr_client_write(client);
			listen_to(fd);
		}
	}
	/*
	 * Whatever is in the scheduler: its entries can be laid over tables, or that is refused
	 * with a sentence.
	 */
	insist(!osr_sched_collect(sched, &scratch, &entry, &n_entries, &diag), "the entries",
	       diag.text);
	if (osr_overlay_apply(keyring_fabric(), base_tables(), entry, n_entries, &scratch, &result,
			      &out, &diag))
		insist(diag.text[0] != 0, "refused without a sentence", "");
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	osr_sched_free(sched);
	return 0;
}
