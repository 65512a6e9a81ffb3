/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-credits: do packets get through? A simulator of links with credits, for tables as switches hold them.
 *
 *	osr-credits [--packets=N] [--buffer=N] [--load=0..1] [--seed=N] [--any-sl] [--change=CYCLES]
 *		[--length=CYCLES] FABRIC...
 *
 * It shares nothing with the project: its input is what was read back out of the switches (credits.py), and it knows no
 * certificates. Its rules:
 *
 * - All links have one rate: a packet takes LENGTH cycles, its header is at the other end DELAY cycles after it began.
 * - The receiver of a link has a buffer for each VL, a first-in first-out queue of BUFFER packets. A link begins a
 *   packet only with a credit for the VL there; the credit comes back when the packet has left that buffer whole.
 * - Virtual cut-through: the head of a queue may leave as soon as its header is there. Its port comes from the LFT, its
 *   next VL from the SL2VL table of (port it came by, port it leaves by).
 * - A link serves the heads that wait for it in turn, over all input ports and VLs (round robin); one that has no
 *   credit is passed over.
 * - Hosts take what arrives. Each has one packet at a time to send. A packet that tables send nowhere, or to VL 15, is
 *   lost.
 * - Several FABRICs are tables of later times, on the switches of the first. What cables are gone dies when its
 *   time begins, with what waits for it; each switch takes the new tables at a moment of its own.
 *
 * A run ends when nothing is under way. What has not arrived by then never will: it is stuck, and the queues that wait
 * for each other in a circle are printed. Everything is drawn from one seed.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_VLS = 16, NONE = -1, DROP = 255, MAX_PORTS = 64, MAX_BUFFER = 64, MAX_TABLES = 8 };

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
	int turn; /* the request to be looked at first */
	int credits[N_VLS];
	struct queue queue[N_VLS]; /* at its far end */
	uint64_t request[(MAX_PORTS + 1) * N_VLS / 64 +
			 1]; /* a bit for each input port and VL of `from` */
};

struct host {
	uint8_t vl[N_VLS];
	char *sl; /* [max_lid + 1] digits */
	int *to;  /* LIDs it sends to */
	int n_to;
	bool ready; /* packet is drawn */
	struct packet packet;
};

struct tables {
	int n_ports;
	uint8_t *lft; /* [max_lid + 1] */
	uint8_t *vl;  /* [(n_ports + 1) * (n_ports + 1) * 16] */
	bool *alive;  /* [n_ports + 1] a cable is there */
};

enum kind { ARRIVES, LEAVES, DELIVERED };

struct event {
	enum kind kind;
	int link, vl;
	struct packet packet;
};

struct bucket {
	struct event *event;
	int n, room;
	int *attempt, n_attempts, attempts_room;
};

static struct {
	int n_switches, n_hosts, max_lid, n_links, n_tables, senders;
	int *row;                          /* [n_switches + 1] link of port 0 */
	int *using;                        /* [n_switches] which tables */
	long *moment;                      /* [n_switches] when it takes new ones */
	struct tables *tables[MAX_TABLES]; /* [n_switches] each */
	struct link *link;
	struct host *host;
	int **into; /* [n_switches][port] link that comes in there */
	struct bucket *ring;
	long now, pending;
	long packets, generated, delivered, lost;
	long wait, latency; /* sums over packets */
	long began_at, ended_at,
		ended; /* measured is from a fifth of the packets to the last that was sent */
	uint64_t seed;
} s;

static int length = 8, delay = 2, buffer = 4, ring_size;
static long change = 20000;
static double load = 1;
static bool any_sl;

static void *get(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

static void give_up(const char *what)
{
	fprintf(stderr, "osr-credits: %s\n", what);
	exit(2);
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t draw(void)
{
	uint64_t z = s.seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static int draw_below(int n)
{
	return (int)(draw() % (uint64_t)n);
}

/* ---- what happens when ----------------------------------------------------------------------- */

/* Room for one more behind n of this size. */
static void *grown(void *list, int n, int *room, size_t size)
{
	if (n < *room)
		return list;
	*room = 2 * *room + 16;
	list = realloc(list, (size_t)*room * size);
	if (!list)
		abort();
	return list;
}

static void at(long when, const struct event *event)
{
	struct bucket *b = &s.ring[when % ring_size];

	b->event = grown(b->event, b->n, &b->room, sizeof(*b->event));
	b->event[b->n++] = *event;
	s.pending++;
}

/* Looks at a link: may it begin a packet? */
static void try_at(long when, int link)
{
	struct bucket *b = &s.ring[when % ring_size];

	b->attempt = grown(b->attempt, b->n_attempts, &b->attempts_room, sizeof(*b->attempt));
	b->attempt[b->n_attempts++] = link;
	s.pending++;
}

/* ---- switches -------------------------------------------------------------------------------- */

static void give_back(int link, int vl)
{
	s.link[link].credits[vl]++;
	try_at(s.now, link);
}

/* Where the head of a queue goes; it is thrown away, and the next one looked at, if that is nowhere. */
static void look_at_head(int in, int vl)
{
	struct queue *q = &s.link[in].queue[vl];
	int sw = s.link[in].to, port = s.link[in].to_port;

	while (q->n && !q->leaving) {
		const struct packet *p = &q->packet[q->first];
		const struct tables *t = &s.tables[s.using[sw]][sw];
		int out = t->lft[p->dest];

		q->out = out <= t->n_ports ? s.row[sw] + out : NONE;
		if (q->out != NONE && s.link[q->out].alive) {
			q->vl = t->vl[(port * (t->n_ports + 1) + out) * N_VLS + p->sl];
			if (q->vl < N_VLS - 1) {
				int bit = port * N_VLS + vl;

				s.link[q->out].request[bit / 64] |= UINT64_C(1) << bit % 64;
				try_at(s.now, q->out);
				return;
			}
		}
		s.lost++;
		q->first = (q->first + 1) % MAX_BUFFER;
		q->n--;
		give_back(in, vl);
	}
}

/* A packet takes its way over a link. */
static void begin(int link, const struct packet *p, int vl)
{
	struct link *l = &s.link[link];

	l->free_at = s.now + length;
	try_at(l->free_at, link);
	if (l->to_host != NONE) {
		at(s.now + delay + length, &(struct event){ DELIVERED, link, vl, *p });
		return;
	}
	l->credits[vl]--;
	at(s.now + delay, &(struct event){ ARRIVES, link, vl, *p });
}

/* The next request in turn that has a credit. */
static void serve(int link)
{
	struct link *l = &s.link[link];
	const int n = (s.row[l->from + 1] - s.row[l->from]) * N_VLS, first_word = l->turn / 64;

	for (int k = 0; k <= n / 64 + 1; k++) {
		int word = (first_word + k) % (n / 64 + 1);
		uint64_t bits = l->request[word];

		if (!k)
			bits &= ~UINT64_C(0) << l->turn % 64;
		for (; bits; bits &= bits - 1) {
			int bit = word * 64 + __builtin_ctzll(bits), vl = bit % N_VLS;
			int in = s.into[l->from][bit / N_VLS];
			struct queue *q = &s.link[in].queue[vl];

			if (l->to_host == NONE && !l->credits[q->vl])
				continue;
			l->request[word] &= ~(UINT64_C(1) << bit % 64);
			l->turn = (bit + 1) % n;
			q->leaving = true;
			begin(link, &q->packet[q->first], q->vl);
			at(s.now + length, &(struct event){ .kind = LEAVES, .link = in, .vl = vl });
			return;
		}
	}
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Cycles until the next packet is born: geometric, so that each cycle brings one with load / length. */
static long until_next(void)
{
	long n = 0;

	if (load >= 1)
		return 0;
	do
		n++;
	while ((double)(draw() >> 11) * 0x1p-53 >= load / length);
	return n;
}

static bool next_packet(struct host *h)
{
	struct packet *p = &h->packet;

	if (!h->n_to || s.generated == s.packets)
		return false;
	s.generated++;
	s.ended_at = s.now;
	s.ended = s.delivered;
	p->born = load < 1 ? p->born + until_next() : s.now;
	p->dest = h->to[draw_below(h->n_to)];
	p->sl = h->sl[p->dest] == '-'   ? NONE
		: h->sl[p->dest] <= '9' ? h->sl[p->dest] - '0'
					: h->sl[p->dest] - 'a' + 10;
	if (any_sl)
		p->sl = draw_below(N_VLS);
	return h->ready = true;
}

static void send(int link)
{
	struct host *h = &s.host[link - s.row[s.n_switches]];
	struct packet *p = &h->packet;

	while (h->ready || next_packet(h)) {
		int vl = p->sl == NONE ? N_VLS - 1 : h->vl[p->sl];

		if (p->born > s.now) {
			try_at(p->born - s.now < ring_size - 1 ? p->born : s.now + ring_size - 1,
			       link);
			return;
		}
		if (vl == N_VLS - 1) {
			s.lost++;
			h->ready = false;
			continue;
		}
		if (!s.link[link].credits[vl])
			return;
		s.wait += s.now - p->born;
		h->ready = false;
		begin(link, p, vl);
		return;
	}
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Cables that are not there in these tables are dead, with what waits for them; the others live. */
static void cables_of(int which)
{
	for (int sw = 0; sw < s.n_switches; sw++)
		for (int p = 0; p < s.row[sw + 1] - s.row[sw]; p++) {
			struct link *l = &s.link[s.row[sw] + p];

			l->alive = s.tables[which][sw].alive[p];
			for (int bit = 0; !l->alive && bit < (MAX_PORTS + 1) * N_VLS; bit++) {
				struct queue *q;

				if (!(l->request[bit / 64] >> bit % 64 & 1))
					continue;
				l->request[bit / 64] &= ~(UINT64_C(1) << bit % 64);
				q = &s.link[s.into[sw][bit / N_VLS]].queue[bit % N_VLS];
				q->first = (q->first + 1) % MAX_BUFFER;
				q->n--;
				s.lost++;
				give_back(s.into[sw][bit / N_VLS], bit % N_VLS);
				look_at_head(s.into[sw][bit / N_VLS], bit % N_VLS);
			}
		}
}

static void happen(const struct event *e)
{
	struct queue *q = &s.link[e->link].queue[e->vl];

	switch (e->kind) {
	case ARRIVES:
		q->packet[(q->first + q->n++) % MAX_BUFFER] = e->packet;
		if (q->n == 1)
			look_at_head(e->link, e->vl);
		break;
	case LEAVES:
		q->first = (q->first + 1) % MAX_BUFFER;
		q->n--;
		q->leaving = false;
		give_back(e->link, e->vl);
		look_at_head(e->link, e->vl);
		break;
	case DELIVERED:
		s.delivered++;
		s.latency += s.now - e->packet.born;
		if (s.delivered == s.packets / 5)
			s.began_at = s.now;
		break;
	}
}

static void attempt(int link)
{
	struct link *l = &s.link[link];

	if (l->free_at > s.now)
		return;
	if (link >= s.row[s.n_switches])
		send(link);
	else if (l->alive)
		serve(link);
}

/* Cables go when the time of new tables begins; each switch takes them at a moment of its first half. */
static void change_tables(void)
{
	int which = (int)(s.now / change);

	if (!which || which >= s.n_tables)
		return;
	if (s.now % change == 0) {
		cables_of(which);
		for (int sw = 0; sw < s.n_switches; sw++)
			s.moment[sw] = s.now + draw_below((int)change / 2);
	}
	for (int sw = 0; sw < s.n_switches; sw++)
		if (s.moment[sw] == s.now)
			s.using[sw] = which;
}

static void run(void)
{
	for (int h = 0; h < s.n_hosts; h++)
		try_at(0, s.row[s.n_switches] + h);
	for (s.now = 0; s.pending; s.now++) {
		struct bucket *b = &s.ring[s.now % ring_size];

		if (s.n_tables > 1)
			change_tables();
		for (int i = 0; i < b->n; i++)
			happen(&b->event[i]);
		for (int i = 0; i < b->n_attempts; i++)
			attempt(b->attempt[i]);
		s.pending -= b->n + b->n_attempts;
		b->n = b->n_attempts = 0;
	}
}

/* ---- what is stuck --------------------------------------------------------------------------- */

static const char *name_of(int link, char text[32])
{
	int sw = s.link[link].from;

	if (sw == NONE)
		snprintf(text, 32, "\"host %d\"", link - s.row[s.n_switches]);
	else
		snprintf(text, 32, "[%d, %d]", sw, link - s.row[sw]);
	return text;
}

/* The queue at whose head a packet waits waits for the queue behind its next link. Followed until one comes again. */
static void print_circle(void)
{
	int *seen = get((size_t)s.n_links * N_VLS, sizeof(*seen)), round = 0, at_link = NONE,
	    at_vl = 0;
	char text[32];

	for (int k = 0; k < s.row[s.n_switches] * N_VLS && at_link == NONE; k++) {
		int link = k / N_VLS, vl = k % N_VLS;

		round++;
		while (s.link[link].queue[vl].n && !seen[link * N_VLS + vl]) {
			const struct queue *q = &s.link[link].queue[vl];

			seen[link * N_VLS + vl] = round;
			link = q->out;
			vl = q->vl;
		}
		if (s.link[link].queue[vl].n && seen[link * N_VLS + vl] == round) {
			at_link = link;
			at_vl = vl;
		}
	}
	printf(", \"circle\": [");
	for (int link = at_link, vl = at_vl; at_link != NONE;) {
		const struct queue *q = &s.link[link].queue[vl];

		printf("[%s, %d]", name_of(link, text), vl);
		link = q->out;
		vl = q->vl;
		if (link == at_link && vl == at_vl)
			break;
		printf(", ");
	}
	printf("]");
	free(seen);
}

static int print_result(void)
{
	long stuck = s.generated - s.delivered - s.lost, time = s.ended_at - s.began_at;
	long sent = s.delivered + stuck > 0 ? s.delivered + stuck : 1;
	double measured = time > 0 && s.began_at
				  ? (double)(s.ended - s.packets / 5) * length / (double)time
				  : 0;

	for (int h = 0; h < s.n_hosts; h++)
		s.senders += s.host[h].n_to > 0;
	/* Of those that never left their host nothing is in the way but the others. */
	printf("{\"sent\": %ld, \"delivered\": %ld, \"lost\": %ld, \"stuck\": %ld, \"cycles\": "
	       "%ld, "
	       "\"throughput\": %.6f, \"wait\": %.4f, \"latency\": %.4f",
	       s.generated, s.delivered, s.lost, stuck, s.now, s.senders ? measured / s.senders : 0,
	       (double)s.wait / (double)sent,
	       s.delivered ? (double)s.latency / (double)s.delivered : 0);
	if (stuck)
		print_circle();
	printf("}\n");
	return stuck ? 1 : 0;
}

/* ---- input ----------------------------------------------------------------------------------- */

static int digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : NONE;
}

static int number(FILE *file, int most)
{
	int n;

	if (fscanf(file, "%d", &n) != 1 || n < -1 || n > most)
		give_up("a number is missing, or too large");
	return n;
}

static char *word(FILE *file, size_t size)
{
	char *text;

	if (fscanf(file, "%ms", &text) != 1 || strlen(text) != size)
		give_up("a table is missing, or has another length");
	return text;
}

static void read_vls(FILE *file, uint8_t vl[N_VLS])
{
	char *text = word(file, N_VLS);

	for (int sl = 0; sl < N_VLS; sl++)
		vl[sl] = (uint8_t)digit(text[sl]);
	free(text);
}

/* fabric SWITCHES HOSTS MAX_LID, then the number of ports of each switch */
static void read_sizes(FILE *file)
{
	int first = !s.n_tables++;
	int n = number(file, 49151), hosts = number(file, 49151), max_lid = number(file, 49151);

	if (s.n_tables > MAX_TABLES ||
	    (!first && (n != s.n_switches || hosts != s.n_hosts || max_lid != s.max_lid)))
		give_up("too many tables, or of another fabric");
	s.tables[s.n_tables - 1] = get((size_t)n, sizeof(struct tables));
	if (first) {
		s.n_switches = n;
		s.n_hosts = hosts;
		s.max_lid = max_lid;
		s.row = get((size_t)n + 1, sizeof(int));
		s.using = get((size_t)n, sizeof(int));
		s.moment = get((size_t)n, sizeof(long));
		s.into = get((size_t)n, sizeof(int *));
		s.host = get((size_t)hosts, sizeof(struct host));
	}
	for (int sw = 0; sw < n; sw++) {
		struct tables *t = &s.tables[s.n_tables - 1][sw];
		size_t ports = (size_t)number(file, MAX_PORTS) + 1;

		t->n_ports = (int)ports - 1;
		t->lft = memset(get((size_t)max_lid + 1, 1), DROP, (size_t)max_lid + 1);
		t->vl = get(ports * ports * N_VLS, 1);
		t->alive = get(ports, sizeof(bool));
		if (first) {
			s.row[sw + 1] = s.row[sw] + (int)ports;
			s.into[sw] = get(ports, sizeof(int));
		}
	}
	if (!first)
		return;
	s.n_links = s.row[n] + hosts;
	s.link = get((size_t)s.n_links, sizeof(struct link));
	for (int k = 0; k < s.n_links; k++) {
		s.link[k].from = s.link[k].to = s.link[k].to_host = NONE;
		for (int vl = 0; vl < N_VLS; vl++)
			s.link[k].credits[vl] = buffer;
	}
	for (int sw = 0; sw < n; sw++)
		for (int k = s.row[sw]; k < s.row[sw + 1]; k++)
			s.link[k].from = sw;
}

static int read_port(FILE *file, int *sw)
{
	*sw = number(file, s.n_switches - 1);
	return number(file, s.tables[s.n_tables - 1][*sw].n_ports);
}

/* cable SWITCH PORT SWITCH PORT, one direction */
static void read_cable(FILE *file)
{
	int from, to, p = read_port(file, &from), q = read_port(file, &to);
	struct link *l = &s.link[s.row[from] + p];

	l->to = to;
	l->to_port = q;
	s.into[to][q] = s.row[from] + p;
	s.tables[s.n_tables - 1][from].alive[p] = true;
}

/* host HOST SWITCH PORT, VL of each SL, SL towards each LID from 0 on */
static void read_host(FILE *file)
{
	int k = number(file, s.n_hosts - 1), sw, port = read_port(file, &sw),
	    up = s.row[s.n_switches] + k;
	struct host *h = &s.host[k];

	s.link[s.row[sw] + port].to_host = k;
	s.link[up].to = sw;
	s.link[up].to_port = port;
	s.link[up].alive = true;
	s.into[sw][port] = up;
	s.tables[s.n_tables - 1][sw].alive[port] = true;
	read_vls(file, h->vl);
	free(h->sl);
	h->sl = word(file, (size_t)s.max_lid + 1);
}

/* vl SWITCH IN OUT, VL of each SL; -1: all ports */
static void read_vl(FILE *file)
{
	int sw = number(file, s.n_switches - 1), in = number(file, MAX_PORTS),
	    out = number(file, MAX_PORTS);
	struct tables *t = &s.tables[s.n_tables - 1][sw];
	uint8_t vl[N_VLS];

	read_vls(file, vl);
	for (int i = 0; i <= t->n_ports; i++)
		for (int o = 0; o <= t->n_ports; o++)
			if ((in == -1 || in == i) && (out == -1 || out == o))
				memcpy(t->vl + (i * (t->n_ports + 1) + o) * N_VLS, vl, N_VLS);
}

static void read_lft(FILE *file)
{
	int sw = number(file, s.n_switches - 1);
	char *text = word(file, 2 * (size_t)s.max_lid + 2);

	for (int lid = 0; lid <= s.max_lid; lid++)
		s.tables[s.n_tables - 1][sw].lft[lid] =
			(uint8_t)(16 * digit(text[2 * lid]) + digit(text[2 * lid + 1]));
	free(text);
}

/* send HOST N LID..: to whom it sends; of the last tables, if they say so */
static void read_send(FILE *file)
{
	struct host *h = &s.host[number(file, s.n_hosts - 1)];

	h->n_to = number(file, 49151);
	free(h->to);
	h->to = get((size_t)h->n_to, sizeof(int));
	for (int i = 0; i < h->n_to; i++)
		h->to[i] = number(file, s.max_lid);
}

static void read_fabric(const char *path)
{
	static const struct {
		const char *word;
		void (*read)(FILE *file);
	} lines[] = { { "fabric", read_sizes }, { "cable", read_cable }, { "host", read_host },
		      { "vl", read_vl },        { "lft", read_lft },     { "send", read_send } };
	FILE *file = fopen(path, "r");
	char first[16];

	if (!file)
		give_up("cannot open the fabric");
	while (fscanf(file, "%15s", first) == 1) {
		size_t k = 0;

		while (k < 6 && strcmp(lines[k].word, first))
			k++;
		if (k == 6)
			give_up("a line begins with an unknown word");
		lines[k].read(file);
	}
	fclose(file);
}

static bool take_option(const char *arg)
{
	if (!strcmp(arg, "--any-sl"))
		return any_sl = true;
	return sscanf(arg, "--packets=%ld", &s.packets) == 1 ||
	       sscanf(arg, "--buffer=%d", &buffer) == 1 || sscanf(arg, "--load=%lf", &load) == 1 ||
	       sscanf(arg, "--seed=%" SCNu64, &s.seed) == 1 ||
	       sscanf(arg, "--change=%ld", &change) == 1 ||
	       sscanf(arg, "--length=%d", &length) == 1;
}

int main(int argc, char **argv)
{
	int first = 1;

	s.packets = 100000;
	while (first < argc && argv[first][0] == '-')
		if (!take_option(argv[first++]))
			give_up("options: --packets=N --buffer=PACKETS --load=0..1 --seed=N "
				"--any-sl --change=CYCLES --length=CYCLES");
	if (first == argc || buffer < 1 || buffer > MAX_BUFFER || length < 1 || load <= 0 ||
	    change < 2)
		give_up("a fabric is missing, or a number makes no sense");
	ring_size = length + delay + 2;
	s.ring = get((size_t)ring_size, sizeof(struct bucket));
	while (first < argc)
		read_fabric(argv[first++]);
	cables_of(0);
	run();
	return print_result();
}
