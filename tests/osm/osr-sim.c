/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libosrsim.so: preloaded into ibsim. Counts management packets, gives switches the wildcard form
 * of SL2VL MADs, and has them refuse SL2VL tables.
 *
 *	OSR_SIM_COUNTS=FILE     native u64 [256][2]: Gets and Sets of each attribute, and Gets of path
 *	records, whose
 *				number no attribute of a switch has; then ms of the first and
 *				the last SL2VL Set by CLOCK_MONOTONIC, as doubles. The reader may write zeros.
 *	OSR_SIM_WILDCARDS=N	switches have IsOptimizedSLtoVLMappingProgrammingSupported, and N ports each
 *	OSR_SIM_REFUSE=HOW:IN:OUT       what is sent for this pair of ports (-1: any) is not stored.
 *	HOW: status (an
 *				error status), kept (the answer has what is stored), lie (it has what was sent),
 *				lost (no answer)
 *	OSR_SIM_TABLES=FILE     as long as there is this file, with lines "ATTRIBUTE HOW HOPS", the
 *	attribute in hex: Sets of it
 *				to nodes so many hops away (0: any) are not stored; HOW as above
 *	OSR_SIM_MUTE=FILE       as long as there is this file, with lines "ATTRIBUTE PERCENT", the
 *	attribute in hex: so
 *				many Sets of it are carried out and not answered for
 *	OSR_SIM_SILENT=FILE     as long as there is this file, with lines "ATTRIBUTE MODIFIER", both in
 *	hex: such Gets are not
 *				answered; traps, attribute 2, are lost
 *	OSR_SIM_HALT=FILE       there may be this file, with one line "METHOD ATTRIBUTE N PID": this
 *	process is stopped with
 *				the Nth such request from then on, which is answered, and the file is removed
 *	OSR_SIM_LACKS=sl2vl|vls|operational     ports say that they have no SL2VL tables, one virtual
 *	lane, or
 *				nothing about operational lanes, as ports whose PortInfo was lost
 *	OSR_SIM_VLS=CODE[:PORT]	ports, or those of this number, have this VLCap: 5 for 15 VLs
 *	OSR_SIM_VLS=/FILE	the same as long as there is this file, with the code in it
 *	OSR_SIM_LIE=WHAT:NODE:BY        nodes whose GUID ends in the byte NODE, in hex, say that BY is
 *	its last byte (WHAT is
 *				guid), or add BY to the number of the port at which they are asked (port)
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>

enum { GET = 1, SET = 2 };
enum { NODE_INFO = 0x11, SWITCH_INFO = 0x12, PORT_INFO = 0x15, SLVL = 0x17 };
enum { SA_CLASS = 3, PATH_RECORD = 0x35 };
enum {
	METHOD = 3,
	STATUS = 4,
	HOPS = 7,
	ATTR = 16,
	MODIFIER = 20,
	DATA = 64,
	SWITCH_INFO_FLAGS = DATA + 11
};
enum {
	NODE_GUID_END = DATA + 19,
	LOCAL_PORT = DATA + 36,
	CAPABILITIES = DATA + 23,
	VL_CAP = DATA + 37,
	OPER_VLS = DATA + 43
};

struct packet { /* struct sim_request of ibsim.h */
	uint32_t dlid, slid, dqp, sqp, status;
	uint64_t length;
	uint8_t mad[256];
};

struct counts {
	uint64_t n[256][2];
	double ms[2];
};

static struct {
	ssize_t (*read)(int fd, void *buf, size_t n);
	ssize_t (*write)(int fd, const void *buf, size_t n);
	int (*select)(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t);
	struct counts *counts;
	const char *tables, *mute, *silent, *halt, *vls_file; /* NULL: never */
	unsigned n_halting; /* requests that the file of halt means */
	unsigned n_ports;   /* of wildcards */
	char how, lacks, lie;
	unsigned vls, vls_port, liar, lie_by; /* vls_port: 0: any */
	int refuse_in, refuse_out;

	/* The packet that is being answered. */
	struct packet asked;
	char refused; /* how; 0: it is not */

	/* A wildcard, one pair of ports after the other. */
	struct packet wild;
	int wild_fd; /* -1: none */
	unsigned next, n;
} sim = { .wild_fd = -1 };

/* A letter that no other word for it has. */
static char how_of(const char *word)
{
	return word[0] == 'l' ? word[1] : word[0];
}

__attribute__((constructor)) static void sim_init(void)
{
	const char *counts = getenv("OSR_SIM_COUNTS"), *ports = getenv("OSR_SIM_WILDCARDS");
	const char *refuse = getenv("OSR_SIM_REFUSE"), *lacks = getenv("OSR_SIM_LACKS");
	const char *vls = getenv("OSR_SIM_VLS"), *lie = getenv("OSR_SIM_LIE");
	char how[8];
	int fd;

	*(void **)&sim.read = dlsym(RTLD_NEXT, "read");
	*(void **)&sim.write = dlsym(RTLD_NEXT, "write");
	*(void **)&sim.select = dlsym(RTLD_NEXT, "select");
	sim.n_ports = ports ? (unsigned)atoi(ports) : 0;
	if (refuse && sscanf(refuse, "%7[a-z]:%d:%d", how, &sim.refuse_in, &sim.refuse_out) == 3)
		sim.how = how_of(how);
	if (vls && *vls == '/')
		sim.vls_file = vls;
	else if (vls)
		sscanf(vls, "%u:%u", &sim.vls, &sim.vls_port);
	if (lie && sscanf(lie, "%7[a-z]:%x:%x", how, &sim.liar, &sim.lie_by) == 3)
		sim.lie = how[0];
	sim.tables = getenv("OSR_SIM_TABLES");
	sim.lacks = lacks ? *lacks : 0;
	sim.mute = getenv("OSR_SIM_MUTE");
	sim.silent = getenv("OSR_SIM_SILENT");
	sim.halt = getenv("OSR_SIM_HALT");
	if (!counts)
		return;
	fd = open(counts, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*sim.counts)))
		abort();
	sim.counts = mmap(NULL, sizeof(*sim.counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (sim.counts == MAP_FAILED)
		abort();
}

static uint32_t modifier(const struct packet *packet)
{
	uint32_t mod;

	memcpy(&mod, packet->mad + MODIFIER, sizeof(mod));
	return ntohl(mod);
}

static void set_modifier(struct packet *packet, uint32_t mod)
{
	mod = htonl(mod);
	memcpy(packet->mad + MODIFIER, &mod, sizeof(mod));
}

static bool is_smp(const struct packet *packet, unsigned attr)
{
	return (packet->mad[1] == 0x81 || packet->mad[1] == 0x01) && !packet->mad[ATTR] &&
	       packet->mad[ATTR + 1] == attr;
}

static void count(const struct packet *packet)
{
	struct timespec t;
	double ms;
	bool is_path = packet->mad[1] == SA_CLASS && !packet->mad[ATTR] &&
		       packet->mad[ATTR + 1] == PATH_RECORD;

	if (!sim.counts || !(is_path || is_smp(packet, packet->mad[ATTR + 1])) ||
	    !packet->mad[METHOD] || packet->mad[METHOD] > SET)
		return;
	sim.counts->n[packet->mad[ATTR + 1]][packet->mad[METHOD] - 1]++;
	if (!is_smp(packet, SLVL) || packet->mad[METHOD] != SET)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
	if (sim.counts->ms[0] == 0)
		sim.counts->ms[0] = ms;
	sim.counts->ms[1] = ms;
}

static void halt(const struct packet *packet)
{
	FILE *file = sim.halt ? fopen(sim.halt, "r") : NULL;
	unsigned method, attr, n;
	int pid;

	if (!file)
		return;
	if (fscanf(file, "%u %x %u %d", &method, &attr, &n, &pid) == 4 && is_smp(packet, attr) &&
	    packet->mad[METHOD] == method && ++sim.n_halting == n) {
		kill(pid, SIGSTOP);
		unlink(sim.halt);
		sim.n_halting = 0;
	}
	fclose(file);
}

/* By the file of tables. */
static char refused_table(const struct packet *packet)
{
	FILE *file = sim.tables ? fopen(sim.tables, "r") : NULL;
	unsigned attr, hops;
	char how[8], is = 0;

	while (file && fscanf(file, "%x %7s %u", &attr, how, &hops) == 3)
		if (is_smp(packet, attr) && (!hops || packet->mad[HOPS] == hops))
			is = how_of(how);
	if (file)
		fclose(file);
	return is;
}

/* What is refused reaches ibsim as a question. */
static void refuse(struct packet *packet)
{
	int in = (int)(modifier(packet) >> 8 & 0xff), out = (int)(modifier(packet) & 0xff);

	sim.asked = *packet;
	sim.refused = 0;
	if (packet->mad[METHOD] != SET)
		return;
	sim.refused = refused_table(packet);
	if (sim.how && is_smp(packet, SLVL) && (sim.refuse_in < 0 || sim.refuse_in == in) &&
	    (sim.refuse_out < 0 || sim.refuse_out == out))
		sim.refused = sim.how;
	if (sim.refused)
		packet->mad[METHOD] = GET;
}

static void next_pair(struct packet *packet)
{
	uint32_t mod = modifier(&sim.wild), n = sim.n_ports + 1, in, out;

	in = mod & 0x20000 ? sim.next % n : mod >> 8 & 0xff;
	out = mod & 0x10000 ? sim.next / (mod & 0x20000 ? n : 1) : mod & 0xff;
	*packet = sim.wild;
	set_modifier(packet, in << 8 | out);
	sim.next++;
}

__attribute__((visibility("default"))) ssize_t read(int fd, void *buf, size_t n)
{
	struct packet *packet = buf;
	ssize_t got;

	if (fd == sim.wild_fd) {
		next_pair(packet);
		refuse(packet);
		return sizeof(*packet);
	}
	got = sim.read(fd, buf, n);
	if (got != sizeof(*packet))
		return got;
	count(packet);
	halt(packet);
	if (sim.n_ports && is_smp(packet, SLVL) && packet->mad[METHOD] == SET &&
	    modifier(packet) & 0x30000) {
		sim.wild = *packet;
		sim.wild_fd = fd;
		sim.next = 0;
		sim.n = (sim.n_ports + 1) *
			((modifier(packet) & 0x30000) == 0x30000 ? sim.n_ports + 1 : 1);
		next_pair(packet);
	}
	refuse(packet);
	return got;
}

static bool is_mute(void)
{
	FILE *file = sim.mute && sim.asked.mad[METHOD] == SET ? fopen(sim.mute, "r") : NULL;
	unsigned attr, percent;
	bool mute = false;

	while (file && fscanf(file, "%x %u", &attr, &percent) == 2)
		mute |= is_smp(&sim.asked, attr) && (unsigned)rand() % 100 < percent;
	if (file)
		fclose(file);
	return mute;
}

static bool is_silent(const struct packet *packet)
{
	FILE *file = sim.silent && packet->mad[METHOD] != SET ? fopen(sim.silent, "r") : NULL;
	unsigned attr, mod;
	bool silent = false;

	while (file && fscanf(file, "%x %x", &attr, &mod) == 2)
		silent |= is_smp(packet, attr) && modifier(packet) == mod;
	if (file)
		fclose(file);
	return silent;
}

/* The VLCap of a port; 0: as it is. */
static unsigned vls_now(const struct packet *packet)
{
	FILE *file = sim.vls_file ? fopen(sim.vls_file, "r") : NULL;
	unsigned vls = sim.vls;

	if (file && fscanf(file, "%u", &vls) != 1)
		vls = 0;
	if (file)
		fclose(file);
	return sim.vls_port && sim.vls_port != modifier(packet) ? 0 : vls;
}

static void answer(struct packet *packet)
{
	unsigned vls = is_smp(packet, PORT_INFO) ? vls_now(packet) : 0;

	if (sim.n_ports && is_smp(packet, SWITCH_INFO))
		packet->mad[SWITCH_INFO_FLAGS] |= 1;
	if (is_smp(packet, NODE_INFO) && packet->mad[NODE_GUID_END] == sim.liar) {
		if (sim.lie == 'g')
			packet->mad[NODE_GUID_END] = (uint8_t)sim.lie_by;
		if (sim.lie == 'p')
			packet->mad[LOCAL_PORT] += (uint8_t)sim.lie_by;
	}
	if (is_smp(packet, PORT_INFO)) {
		if (vls)
			packet->mad[VL_CAP] = (uint8_t)((packet->mad[VL_CAP] & 0x0f) | vls << 4);
		if (sim.lacks == 's')
			packet->mad[CAPABILITIES] &= 0xbf;
		if (sim.lacks == 'v')
			packet->mad[VL_CAP] = (packet->mad[VL_CAP] & 0x0f) | 0x10;
		if (sim.lacks == 'v' || sim.lacks == 'o')
			packet->mad[OPER_VLS] = (packet->mad[OPER_VLS] & 0x0f) | (sim.lacks == 'v')
											 << 4;
	}
	if (sim.refused == 's')
		packet->mad[STATUS + 1] = 0x1c;
	if (sim.refused == 's' || sim.refused == 'i')
		memcpy(packet->mad + DATA, sim.asked.mad + DATA, 64);
	if (is_mute() || is_silent(&sim.asked) || sim.refused == 'o')
		packet->status = htonl(110);
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *buf, size_t n)
{
	struct packet packet;

	if (n != sizeof(packet))
		return sim.write(fd, buf, n);
	memcpy(&packet, buf, n);
	if (fd == sim.wild_fd) {
		if (sim.next < sim.n)
			return (ssize_t)n;
		sim.wild_fd = -1;
		packet.mad[STATUS + 1] = 0;
		packet.status = 0;
		set_modifier(&packet, modifier(&sim.wild));
	}
	if (!(packet.mad[METHOD] & 0x80))
		return is_silent(&packet) ? (ssize_t)n : sim.write(fd, buf, n);
	answer(&packet);
	return sim.write(fd, &packet, n);
}

__attribute__((visibility("default"))) int select(int n, fd_set *r, fd_set *w, fd_set *e,
						  struct timeval *t)
{
	if (sim.wild_fd < 0)
		return sim.select(n, r, w, e, t);
	FD_ZERO(r);
	FD_SET(sim.wild_fd, r);
	return 1;
}
