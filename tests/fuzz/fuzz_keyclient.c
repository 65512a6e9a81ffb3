/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a subnet manager answers to libosrkeys: a call succeeds, or fails with a sentence. The
 * first byte says what is called first, and the second where the rest is cut in two: one piece
 * comes before the calls, and one is there when they ask for more.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

/* A connection that nobody had to connect to. */
#include "keyclient/keyclient.c"

static void call(struct osrk *client, unsigned which)
{
	struct osrk_key key;
	int st = 0;

	if (which == 0) {
		char *said = osrk_ask(client,
				      "{\"op\":\"place\",\"ranks\":2,\"patterns\":[\"0>1 1>0\"]}");

		insist(said || client->error[0], "place", "fails without a sentence");
		free(said);
	} else if (which == 1)
		st = osrk_attach(client, 1);
	else if (which == 2)
		st = osrk_request(client, 1, 0, 0);
	else if (which == 3)
		st = osrk_request(client, 1, 0, 1000000);
	else if (which == 4)
		st = osrk_done(client, 1, 0);
	else
		st = osrk_withdraw(client, 1);
	insist(!st || client->error[0], "a call", "fails without a sentence");
	if (osrk_key(client, 1, 0, &key))
		insist(key.state >= OSRK_PREPARED && key.state <= OSRK_WITHDRAWN, "a key",
		       "in no state");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned which = size ? data[0] % 6 : 0;
	struct osrk *client = calloc(1, sizeof(*client));
	size_t first;
	int fd[2];

	insist(client != NULL, "no memory", "");
	if (size < 2) {
		free(client);
		return 0;
	}
	first = data[1] * (size - 2) / 256;
	insist(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "socket", "none");
	client->keys = json_object();
	client->fd = fd[0];
	insist(send(fd[1], data + 2, first, 0) == (ssize_t)first, "socket", "full");
	if (which & 1 && first) {
		json_t *said;

		/* As if a call had timed out meanwhile. */
		if (next_line(client, 0, &said) > 0)
			learn(client, said);
		json_decref(said);
	}
	if (osrk_ok(client))
		insist(send(fd[1], data + 2 + first, size - 2 - first, 0) ==
			       (ssize_t)(size - 2 - first),
		       "socket", "full");
	shutdown(fd[1], SHUT_WR);
	for (unsigned i = 0; i < 7 && osrk_ok(client); i++)
		call(client, (which + i) % 7);
	osrk_close(client);
	close(fd[1]);
	return 0;
}
