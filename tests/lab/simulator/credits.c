/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-credits: do packets get through? A simulator of links with credits, for tables as switches
 * hold them.
 *
 *	osr-credits [--packets=N] [--buffer=N] [--load=0..1] [--seed=N] [--any-sl] [--change=CYCLES]
 *		[--length=CYCLES] FABRIC...
 *
 * It shares nothing with the project: its input is what was read back out of the switches
 * (credits.py), and it knows no certificates. Its rules:
 *
 * - All links have one rate: a packet takes LENGTH cycles, its header is at the other end DELAY
 *   cycles after it began.
 * - The receiver of a link has a buffer for each VL, a first-in first-out queue of BUFFER packets.
 *   A link begins a packet only with a credit for the VL there; the credit comes back when the
 *   packet has left that buffer whole.
 * - Virtual cut-through: the head of a queue may leave as soon as its header is there. Its port
 *   comes from the LFT, its next VL from the SL2VL table of (port it came by, port it leaves by).
 * - A link serves the heads that wait for it in turn, over all input ports and VLs (round robin);
 *   one that has no credit is passed over.
 * - Hosts take what arrives. Each has one packet at a time to send. A packet that tables send
 *   nowhere, or to VL 15, is lost.
 * - Several FABRICs are tables of later times, on the switches of the first. What cables are gone
 *   dies when its time begins, with what waits for it; each switch takes the new tables at a moment
 *   of its own.
 *
 * A run ends when nothing is under way. What has not arrived by then never will: it is stuck, and
 * the queues that wait for each other in a circle are printed. Everything is drawn from one seed.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_VLS = 16, NONE = -1, NO_SL = 255, MAX_PORTS = 64, MAX_BUFFER = 64, MAX_TABLES = 8 };

struct packet {
	int dest, sl; /* LID */
	long born;
};

struct queue {
	struct packet packet[MAX_BUFFER];
	int first, n;
	bool leaving; /* its head is on the next link already */
	int out, vl;  /* link and VL that its head waits for */
};

/* One direction of a cable. Those of switch ports come first, those from hosts last. */
struct link {
	int from, to, to_port, to_host; /* switch and its port, or host; NONE */
	bool alive;
	long free_at;
	int turn; /* the request to be looked at first: port * 16 + VL */
	int credits[N_VLS];
	struct queue queue[N_VLS];       /* at its far end */
	uint16_t request[MAX_PORTS + 1]; /* VLs of each input port of `from` whose heads wait */
};

struct host {
	uint8_t vl[N_VLS], *sl; /* [max_lid + 1] */
	int n_to, *to;          /* LIDs it sends to */
	bool ready;             /* packet is drawn */
	struct packet packet;
};

struct tables {
	uint8_t *lft; /* [max_lid + 1] */
	uint8_t *vl;  /* [ports * ports * 16], with port 0 */
	bool *alive;  /* [ports] a cable is there */
};

/* Of a cycle, tries come last. */
struct event {
	enum { ARRIVES, LEAVES, DELIVERED, TRY } kind;
	int link, vl;
	struct packet packet;
};

static struct {
	int n_switches, n_hosts, max_lid, n_links, n_tables;
	int *row;                          /* [n_switches + 1] link of port 0 */
	int *using;                        /* [n_switches] which tables */
	long *moment;                      /* [n_switches] when it takes new ones */
	struct tables *tables[MAX_TABLES]; /* [n_switches] each */
	struct link *link;
	struct host *host;
	int *into; /* [links of switches] link that comes in at this port */
	struct {
		struct event *event;
		int n, room;
	} * ring;
	long now, pending;
	long generated, delivered, lost;
	long wait, latency; /* sums over packets */
	long began_at, ended_at,
		ended; /* measured is from a fifth of the packets to the last that was sent */
} s;

static int length = 8, delay = 2, buffer = 4, ring_size;
static long change = 20000, packets = 100000;
static double load = 1;
static uint64_t seed;
static bool any_sl;

static void give_up(const char *what)
{
	fprintf(stderr, "osr-credits: %s\n", what);
	exit(2);
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		give_up("out of memory");
	return p;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t draw(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static int draw_below(int n)
{
	return (int)(draw() % (uint64_t)n);
}

static void at(long when, struct event event)
{
	int k = (int)(when % ring_size);

	if (s.ring[k].n == s.ring[k].room) {
		s.ring[k].room = 2 * s.ring[k].room + 16;
		s.ring[k].event = realloc(s.ring[k].event, (size_t)s.ring[k].room * sizeof(event));
		if (!s.ring[k].event)
			give_up("out of memory");
	}
	s.ring[k].event[s.ring[k].n++] = event;
	s.pending++;
}

/* Looks at a link: may it begin a packet? */
static void try_at(long when, int link)
{
	at(when, (struct event){ .kind = TRY, .link = link });
}

/* ---- switches -------------------------------------------------------------------------------- */

static int n_ports(int sw)
{
	return s.row[sw + 1] - s.row[sw];
}

/* The head of a queue has left it: there is room for another one. */
static void drop_head(int in, int vl)
{
	struct queue *queue = &s.link[in].queue[vl];

	queue->first = (queue->first + 1) % MAX_BUFFER;
	queue->n--;
	queue->leaving = false;
	s.link[in].credits[vl]++;
	try_at(s.now, in);
}

/*
 * Where the head of a queue goes; it is thrown away, and the next one looked at, if that is
 * nowhere.
 */
static void look_at_head(int in, int vl)
{
	struct queue *queue = &s.link[in].queue[vl];
	int sw = s.link[in].to, port = s.link[in].to_port;

	while (queue->n && !queue->leaving) {
		const struct packet *packet = &queue->packet[queue->first];
		const struct tables *tables = &s.tables[s.using[sw]][sw];
		int out = tables->lft[packet->dest];

		queue->out = out < n_ports(sw) ? s.row[sw] + out : NONE;
		if (queue->out != NONE && s.link[queue->out].alive) {
			queue->vl = tables->vl[(port * n_ports(sw) + out) * N_VLS + packet->sl];
			if (queue->vl < N_VLS - 1) {
				s.link[queue->out].request[port] |= (uint16_t)(1 << vl);
				try_at(s.now, queue->out);
				return;
			}
		}
		s.lost++;
		drop_head(in, vl);
	}
}

/* A packet takes its way over a link. */
static void begin(int link, const struct packet *packet, int vl)
{
	struct link *l = &s.link[link];

	l->free_at = s.now + length;
	try_at(l->free_at, link);
	if (l->to_host != NONE) {
		at(s.now + delay + length, (struct event){ DELIVERED, link, vl, *packet });
		return;
	}
	l->credits[vl]--;
	at(s.now + delay, (struct event){ ARRIVES, link, vl, *packet });
}

/* The next request in turn that has a credit. */
static void serve(int link)
{
	struct link *l = &s.link[link];
	int n = n_ports(l->from);

	for (int k = 0; k <= n; k++) {
		int port = (l->turn / N_VLS + k) % n, in = s.into[s.row[l->from] + port];
		unsigned vls = l->request[port];

		if (!k)
			vls &= ~0u << l->turn % N_VLS;
		for (; vls; vls &= vls - 1) {
			int vl = __builtin_ctz(vls);
			struct queue *queue = &s.link[in].queue[vl];

			if (l->to_host == NONE && !l->credits[queue->vl])
				continue;
			l->request[port] &= (uint16_t) ~(1 << vl);
			l->turn = (port * N_VLS + vl + 1) % (n * N_VLS);
			queue->leaving = true;
			begin(link, &queue->packet[queue->first], queue->vl);
			at(s.now + length, (struct event){ .kind = LEAVES, .link = in, .vl = vl });
			return;
		}
	}
}

/* Cables that are not there in these tables are dead, with what waits for them; the others live. */
static void cables_of(int which)
{
	for (int sw = 0; sw < s.n_switches; sw++)
		for (int p = 0; p < n_ports(sw); p++) {
			struct link *link = &s.link[s.row[sw] + p];

			link->alive = s.tables[which][sw].alive[p];
			for (int bit = 0; !link->alive && bit < n_ports(sw) * N_VLS; bit++) {
				int port = bit / N_VLS, vl = bit % N_VLS,
				    in = s.into[s.row[sw] + port];

				if (!(link->request[port] >> vl & 1))
					continue;
				link->request[port] &= (uint16_t) ~(1 << vl);
				s.lost++;
				drop_head(in, vl);
				look_at_head(in, vl);
			}
		}
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void send(int link)
{
	struct host *host = &s.host[link - s.row[s.n_switches]];
	struct packet *packet = &host->packet;

	while (host->ready || (host->n_to && s.generated < packets)) {
		int vl;

		if (!host->ready) {
			s.generated++;
			s.ended_at = s.now;
			s.ended = s.delivered;
			packet->born = load < 1 ? packet->born + 1 : s.now;
			/* Geometric: each cycle brings one with load / length. */
			while (load < 1 && (double)(draw() >> 11) * 0x1p-53 >= load / length)
				packet->born++;
			packet->dest = host->to[draw_below(host->n_to)];
			packet->sl = any_sl ? draw_below(N_VLS) : host->sl[packet->dest];
			host->ready = true;
		}
		vl = packet->sl == NO_SL ? N_VLS - 1 : host->vl[packet->sl];
		if (packet->born > s.now) {
			try_at(packet->born - s.now < ring_size - 1 ? packet->born
								    : s.now + ring_size - 1,
			       link);
			return;
		}
		if (vl < N_VLS - 1 && !s.link[link].credits[vl])
			return;
		host->ready = false;
		if (vl < N_VLS - 1) {
			s.wait += s.now - packet->born;
			begin(link, packet, vl);
			return;
		}
		s.lost++;
	}
}

/* ---- time ------------------------------------------------------------------------------------ */

static void happen(const struct event *event)
{
	struct link *link = &s.link[event->link];
	struct queue *queue = &link->queue[event->vl];

	switch (event->kind) {
	case ARRIVES:
		queue->packet[(queue->first + queue->n++) % MAX_BUFFER] = event->packet;
		if (queue->n == 1)
			look_at_head(event->link, event->vl);
		break;
	case LEAVES:
		drop_head(event->link, event->vl);
		look_at_head(event->link, event->vl);
		break;
	case DELIVERED:
		s.delivered++;
		s.latency += s.now - event->packet.born;
		if (s.delivered == packets / 5)
			s.began_at = s.now;
		break;
	case TRY:
		if (link->free_at > s.now)
			break;
		if (event->link >= s.row[s.n_switches])
			send(event->link);
		else if (link->alive)
			serve(event->link);
	}
}

static void run(void)
{
	ring_size = length + delay + 2;
	s.ring = get((size_t)ring_size, sizeof(*s.ring));
	cables_of(0);
	for (int h = 0; h < s.n_hosts; h++)
		try_at(0, s.row[s.n_switches] + h);
	for (s.now = 0; s.pending; s.now++) {
		int now = (int)(s.now % ring_size);
		long which = s.now / change;

		/*
		 * Cables go when the time of new tables begins; each switch takes them at a moment
		 * of its first half.
		 */
		if (which && which < s.n_tables && s.now % change == 0) {
			cables_of((int)which);
			for (int sw = 0; sw < s.n_switches; sw++)
				s.moment[sw] = s.now + draw_below((int)change / 2);
		}
		for (int sw = 0; which && which < s.n_tables && sw < s.n_switches; sw++)
			if (s.moment[sw] == s.now)
				s.using[sw] = (int)which;
		/* What happens asks for more tries of this cycle. */
		for (int tries = 0; tries < 2; tries++)
			for (int i = 0; i < s.ring[now].n; i++) {
				struct event event = s.ring[now].event[i];

				if ((event.kind == TRY) == tries)
					happen(&event);
			}
		s.pending -= s.ring[now].n;
		s.ring[now].n = 0;
	}
}

/* ---- what is stuck --------------------------------------------------------------------------- */

/*
 * The queue at whose head a packet waits waits for the queue behind its next link. Followed until
 * one comes again.
 */
static void print_circle(void)
{
	int *seen = get((size_t)s.n_links * N_VLS, sizeof(*seen)), first = NONE, at = NONE;
	const struct queue *queue;

	for (int k = 0; k < s.row[s.n_switches] * N_VLS && first == NONE; k++) {
		for (at = k;
		     queue = &s.link[at / N_VLS].queue[at % N_VLS], queue->n && !seen[at];) {
			seen[at] = k + 1;
			at = queue->out * N_VLS + queue->vl;
		}
		if (queue->n && seen[at] == k + 1)
			first = at;
	}
	printf(", \"circle\": [");
	for (bool more = first != NONE; more;) {
		int link = at / N_VLS, sw = s.link[link].from;

		if (sw == NONE)
			printf("[\"host %d\", %d]", link - s.row[s.n_switches], at % N_VLS);
		else
			printf("[[%d, %d], %d]", sw, link - s.row[sw], at % N_VLS);
		queue = &s.link[link].queue[at % N_VLS];
		at = queue->out * N_VLS + queue->vl;
		more = at != first;
		fputs(more ? ", " : "", stdout);
	}
	printf("]");
	free(seen);
}

static int print_result(void)
{
	long stuck = s.generated - s.delivered - s.lost, time = s.ended_at - s.began_at;
	long sent = s.delivered + stuck > 0 ? s.delivered + stuck : 1;
	double measured = time > 0 && s.began_at
				  ? (double)(s.ended - packets / 5) * length / (double)time
				  : 0;
	int senders = 0;

	for (int h = 0; h < s.n_hosts; h++)
		senders += s.host[h].n_to > 0;
	/* Of those that never left their host nothing is in the way but the others. */
	printf("{\"sent\": %ld, \"delivered\": %ld, \"lost\": %ld, \"stuck\": %ld, \"cycles\": "
	       "%ld, \"throughput\": %.6f, \"wait\": %.4f, \"latency\": %.4f",
	       s.generated, s.delivered, s.lost, stuck, s.now, senders ? measured / senders : 0,
	       (double)s.wait / (double)sent,
	       s.delivered ? (double)s.latency / (double)s.delivered : 0);
	if (stuck)
		print_circle();
	printf("}\n");
	return stuck ? 1 : 0;
}

/* ---- input ----------------------------------------------------------------------------------- */

static int number(FILE *file, int most)
{
	int n;

	if (fscanf(file, "%d", &n) != 1 || n < -1 || n > most)
		give_up("a number is missing, or too large");
	return n;
}

/* n numbers of one hexadecimal digit, or two. */
static void digits(FILE *file, const char *format, int n, uint8_t *to)
{
	for (int i = 0; i < n; i++) {
		unsigned value;

		if (fscanf(file, format, &value) != 1)
			give_up("a table is missing, or too short");
		to[i] = (uint8_t)value;
	}
}

/* fabric SWITCHES HOSTS MAX_LID, then the number of ports of each switch */
static void read_sizes(FILE *file)
{
	int first = !s.n_tables++;
	int n = number(file, 49151), hosts = number(file, 49151), max_lid = number(file, 49151);
	struct tables *tables;

	if (s.n_tables > MAX_TABLES ||
	    (!first && (n != s.n_switches || hosts != s.n_hosts || max_lid != s.max_lid)))
		give_up("too many tables, or of another fabric");
	tables = s.tables[s.n_tables - 1] = get((size_t)n, sizeof(*tables));
	if (first) {
		s.n_switches = n;
		s.n_hosts = hosts;
		s.max_lid = max_lid;
		s.row = get((size_t)n + 1, sizeof(*s.row));
		s.using = get((size_t)n, sizeof(*s.using));
		s.moment = get((size_t)n, sizeof(*s.moment));
		s.host = get((size_t)hosts, sizeof(*s.host));
	}
	for (int sw = 0; sw < n; sw++) {
		int ports = number(file, MAX_PORTS) + 1;

		s.row[sw + 1] = first ? s.row[sw] + ports : s.row[sw + 1];
		tables[sw].lft = memset(get((size_t)max_lid + 1, 1), 0xff, (size_t)max_lid + 1);
		tables[sw].vl = get((size_t)n_ports(sw) * (size_t)n_ports(sw) * N_VLS, 1);
		tables[sw].alive = get((size_t)n_ports(sw), sizeof(bool));
	}
	if (!first)
		return;
	s.into = get((size_t)s.row[n], sizeof(*s.into));
	s.n_links = s.row[n] + hosts;
	s.link = get((size_t)s.n_links, sizeof(*s.link));
	for (int k = 0; k < s.n_links; k++) {
		s.link[k].from = s.link[k].to = s.link[k].to_host = NONE;
		for (int vl = 0; vl < N_VLS; vl++)
			s.link[k].credits[vl] = buffer;
	}
	for (int sw = 0; sw < n; sw++)
		for (int k = s.row[sw]; k < s.row[sw + 1]; k++)
			s.link[k].from = sw;
}

/* SWITCH PORT, where link k ends; returns the link that begins there. */
static int read_end(FILE *file, int k)
{
	int sw = number(file, s.n_switches - 1), port = number(file, n_ports(sw) - 1);

	if (k != NONE) {
		s.link[k].to = sw;
		s.link[k].to_port = port;
		s.into[s.row[sw] + port] = k;
	}
	return s.row[sw] + port;
}

/* A line of this word. */
static void read_line(FILE *file, const char *word)
{
	struct tables *tables = s.tables[s.n_tables - 1];

	if (!strcmp(word, "cable")) { /* SWITCH PORT SWITCH PORT, one direction */
		int k = read_end(file, NONE), sw = s.link[k].from;

		read_end(file, k);
		tables[sw].alive[k - s.row[sw]] = true;
	} else if (!strcmp(word,
			   "host")) { /* HOST SWITCH PORT, VL of each SL, SL towards each LID */
		int i = number(file, s.n_hosts - 1), up = s.row[s.n_switches] + i;
		int down = read_end(file, up), sw = s.link[up].to;
		struct host *host = &s.host[i];

		s.link[down].to_host = i;
		s.link[up].alive = tables[sw].alive[down - s.row[sw]] = true;
		digits(file, " %1x", N_VLS, host->vl);
		host->sl = host->sl ? host->sl : get((size_t)s.max_lid + 1, 1);
		digits(file, " %2x", s.max_lid + 1, host->sl);
	} else if (!strcmp(word, "vl")) { /* SWITCH IN OUT, VL of each SL; -1: all ports */
		int sw = number(file, s.n_switches - 1), n = n_ports(sw);
		int in = number(file, n - 1), out = number(file, n - 1);
		uint8_t vl[N_VLS];

		digits(file, " %1x", N_VLS, vl);
		for (int i = 0; i < n; i++)
			for (int o = 0; o < n; o++)
				if ((in == -1 || in == i) && (out == -1 || out == o))
					memcpy(tables[sw].vl + (i * n + o) * N_VLS, vl, N_VLS);
	} else if (!strcmp(word, "lft")) { /* SWITCH, port for each LID */
		digits(file, " %2x", s.max_lid + 1, tables[number(file, s.n_switches - 1)].lft);
	} else if (!strcmp(word, "send")) {
		/* HOST N LID..: to whom it sends, of the last tables that say so */
		struct host *host = &s.host[number(file, s.n_hosts - 1)];

		host->n_to = number(file, 49151);
		free(host->to);
		host->to = get((size_t)host->n_to, sizeof(int));
		for (int i = 0; i < host->n_to; i++)
			host->to[i] = number(file, s.max_lid);
	} else {
		give_up("a line begins with an unknown word");
	}
}

int main(int argc, char **argv)
{
	int first = 1;
	char word[16];

	for (; first < argc && argv[first][0] == '-'; first++)
		if (!strcmp(argv[first], "--any-sl"))
			any_sl = true;
		else if (sscanf(argv[first], "--packets=%ld", &packets) != 1 &&
			 sscanf(argv[first], "--buffer=%d", &buffer) != 1 &&
			 sscanf(argv[first], "--load=%lf", &load) != 1 &&
			 sscanf(argv[first], "--seed=%" SCNu64, &seed) != 1 &&
			 sscanf(argv[first], "--change=%ld", &change) != 1 &&
			 sscanf(argv[first], "--length=%d", &length) != 1)
			give_up("options: --packets=N --buffer=PACKETS --load=0..1 --seed=N "
				"--any-sl --change=CYCLES --length=CYCLES");
	if (first == argc || buffer < 1 || buffer > MAX_BUFFER || length < 1 || load <= 0 ||
	    change < 2)
		give_up("a fabric is missing, or a number makes no sense");
	for (; first < argc; first++) {
		FILE *file = fopen(argv[first], "r");

		if (!file || fscanf(file, "%15s", word) != 1 || strcmp(word, "fabric"))
			give_up("no fabric");
		read_sizes(file);
		while (fscanf(file, "%15s", word) == 1)
			read_line(file, word);
		fclose(file);
	}
	run();
	return print_result();
}
