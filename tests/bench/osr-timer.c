/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libosrtimer.so: what a routing engine costs inside OpenSM. A second plugin, behind osmroutes:
 *
 *	event_plugin_name osmroutes osrtimer
 *
 * It wraps build_lid_matrices and ucast_build_fwd_tables of the engine that OSR_TIMER_ENGINE names,
 * once osmroutes has taken over what it serves (events reach plugins in the order of
 * event_plugin_name). One line of JSON per heavy sweep goes to the file named by OSR_TIMER_OUT:
 *
 *	cpu_ms          over both callbacks, CPU of the sweep's thread, of threads that end meanwhile,
 *	and of those
 *			of osmroutes that last (osr-control). Not counted is what OpenSM's other threads do (send
 *			MADs; with -o the first one polls), nor osr-file: the log says what storing tables cost.
 *	grown_kb	peak resident memory over both callbacks, beyond what was resident before. The
 *			kernel's mark is reset first, so that an earlier peak hides nothing.
 *	events_ms	CPU of the thread in the event handler of osmroutes since the sweep before
 *	sent_ms		the same from the begin of the callbacks to the end of the routing, with the sending
 *			of all tables, and the event handler: nothing can hide from it
 *	threads		more threads alive after the callbacks than before
 *
 * OSR_TIMER_LFTS names a file for the tables as they are then, in the form of opensm-lfts.dump;
 * they are written outside of everything that is measured.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "osm/compat.h"
#include "osm/layout.h"

static struct {
	struct osm_opensm *osm;
	unsigned int n_sweeps;
	/* The engine that is measured, and its own callbacks */
	struct osm_routing_engine *re;
	int (*build_lid_matrices)(void *context);
	int (*ucast_build_fwd_tables)(void *context);
	bool called;
	double start, cpu_ms;
	long resident_kb, grown_kb, threads;
	/* osmroutes, whose report() is wrapped as well */
	osm_event_plugin_t *impl, timed_impl;
	double events_ms;
} timer;

static double cpu_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A thread that OpenSM has, or osr-file */
static bool is_others(pid_t tid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	file = fopen(path, "r");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = 0;
	if (file)
		fclose(file);
	return tid != gettid() && (strncmp(name, "osr-", 4) != 0 || !strcmp(name, "osr-file\n"));
}

/* CPU of the process without those. */
static double own_ms(void)
{
	double own = cpu_ms(CLOCK_PROCESS_CPUTIME_ID);
	DIR *dir = opendir("/proc/self/task");

	for (struct dirent *d; dir && (d = readdir(dir));) {
		pid_t tid = atoi(d->d_name);

		/* The clock of a thread by its number, as pthread_getcpuclockid() makes it */
		if (tid && is_others(tid))
			own -= cpu_ms((clockid_t)(~(unsigned)tid << 3 | 6));
	}
	if (dir)
		closedir(dir);
	return own;
}

/* A number of /proc/self/status; -1 if the kernel does not say. */
static long status_of(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	size_t len = strlen(name);
	char line[128];
	long value = -1;

	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, len) && line[len] == ':')
			value = atol(line + len + 1);
	if (file)
		fclose(file);
	return value;
}

/* The callbacks -------------------------------------------------------------------------------- */

static int timed_lid(void *context)
{
	int status, fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	timer.called = true;
	timer.threads = status_of("Threads");
	timer.resident_kb = status_of("VmRSS");
	if (fd < 0 || write(fd, "5", 1) != 1)
		fputs("osrtimer: the kernel does not reset the peak of resident memory\n", stderr);
	if (fd >= 0)
		close(fd);
	timer.start = own_ms() - timer.events_ms;
	/* As OpenSM does: a positive answer asks for the matrices of minhop. */
	status = timer.build_lid_matrices ? timer.build_lid_matrices(context) : 1;
	if (status > 0)
		status = osm_ucast_mgr_build_lid_matrices(&timer.osm->sm.ucast_mgr);
	timer.cpu_ms = own_ms() - timer.start - timer.events_ms;
	timer.grown_kb = status_of("VmHWM") - timer.resident_kb;
	return status < 0 ? status : 0;
}

static int timed_fwd(void *context)
{
	double start = own_ms();
	int status = timer.ucast_build_fwd_tables(context);

	timer.cpu_ms += own_ms() - start;
	timer.grown_kb = status_of("VmHWM") - timer.resident_kb;
	timer.threads = status_of("Threads") - timer.threads;
	return status;
}

/* Engines that leave the tables to OpenSM's own, static function cannot be measured. */
static void wrap(struct osm_routing_engine *re, const char *wanted)
{
	if (timer.re || strcmp(re->name, wanted) || !re->ucast_build_fwd_tables)
		return;
	timer.re = re;
	timer.build_lid_matrices = re->build_lid_matrices;
	timer.ucast_build_fwd_tables = re->ucast_build_fwd_tables;
	re->build_lid_matrices = timed_lid;
	re->ucast_build_fwd_tables = timed_fwd;
}

/* The event handler of osmroutes --------------------------------------------------------------- */

static void timed_report(void *plugin_data, osm_epi_event_id_t event, void *event_data)
{
	bool of_sweep =
		event == OSM_EVENT_ID_HEAVY_SWEEP_START || event == OSM_EVENT_ID_UCAST_ROUTING_DONE;
	double start = cpu_ms(CLOCK_THREAD_CPUTIME_ID);

	timer.impl->report(plugin_data, event, event_data);
	/* Other events come from other threads, several at once; osmroutes ignores them. */
	if (of_sweep)
		timer.events_ms += cpu_ms(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* What is written ------------------------------------------------------------------------------ */

static void write_tables(const char *path)
{
	cl_qmap_t *switches = &timer.osm->subn.sw_guid_tbl;
	FILE *out = fopen(path, "w");

	if (!out) {
		perror(path);
		return;
	}
	for (cl_map_item_t *i = cl_qmap_head(switches); i != cl_qmap_end(switches);
	     i = cl_qmap_next(i)) {
		const struct osm_switch *sw = (struct osm_switch *)i;
		uint32_t n = 0;

		fprintf(out, "Unicast lids [0-%u] of switch Lid %u guid 0x%016" PRIx64 " ('%s'):\n",
			sw->max_lid_ho, cl_ntoh16(osm_node_get_base_lid(sw->p_node, 0)),
			cl_ntoh64(osm_node_get_node_guid(sw->p_node)), sw->p_node->print_desc);
		for (uint32_t lid = 1; lid <= sw->max_lid_ho; lid++)
			if (sw->new_lft[lid] != OSM_NO_PATH) {
				fprintf(out, "0x%04x %03u\n", lid, sw->new_lft[lid]);
				n++;
			}
		fprintf(out, "%u lids dumped\n", n);
	}
	fclose(out);
}

static void write_line(const char *path, double sent_ms)
{
	const struct osm_routing_engine *used = timer.osm->routing_engine_used;
	FILE *out = fopen(path, "a");

	if (!out) {
		perror(path);
		return;
	}
	fprintf(out, "{\"sweep\": %u, \"used\": \"%s\", \"events_ms\": %.3f", timer.n_sweeps,
		used ? used->name : "", timer.events_ms);
	if (timer.called)
		fprintf(out,
			", \"cpu_ms\": %.3f, \"sent_ms\": %.3f, \"grown_kb\": %ld, \"threads\": "
			"%ld",
			timer.cpu_ms, sent_ms, timer.grown_kb, timer.threads);
	fputs("}\n", out);
	fclose(out);
}

/* The plugin ----------------------------------------------------------------------------------- */

static void report(void *plugin_data, osm_epi_event_id_t event, void *event_data)
{
	const char *wanted = getenv("OSR_TIMER_ENGINE"), *out = getenv("OSR_TIMER_OUT");
	const char *lfts = getenv("OSR_TIMER_LFTS");

	if (event == OSM_EVENT_ID_HEAVY_SWEEP_START) {
		for (struct osm_routing_engine *re = timer.osm->routing_engine_list; re;
		     re = re->next)
			wrap(re, wanted);
		if (timer.osm->default_routing_engine)
			wrap(timer.osm->default_routing_engine, wanted);
		timer.called = false;
		timer.n_sweeps++;
	} else if (event == OSM_EVENT_ID_UCAST_ROUTING_DONE) {
		double sent_ms = own_ms() - timer.start;

		if (lfts)
			write_tables(lfts);
		if (out)
			write_line(out, sent_ms);
		timer.events_ms = 0;
	}
}

static void *create(struct osm_opensm *osm)
{
	cl_list_item_t *item;

	if (osr_layout_contradiction(osm, false)) {
		fputs("osrtimer: this OpenSM was built with other options than its headers\n",
		      stderr);
		return NULL;
	}
	timer.osm = osm;
	for (item = cl_qlist_head(&osm->plugin_list); item != cl_qlist_end(&osm->plugin_list);
	     item = cl_qlist_next(item)) {
		osm_epi_plugin_t *p = (osm_epi_plugin_t *)item;

		if (strcmp(p->plugin_name, "osmroutes") || !p->impl->report)
			continue;
		timer.impl = p->impl;
		timer.timed_impl = *p->impl;
		timer.timed_impl.report = timed_report;
		p->impl = &timer.timed_impl;
	}
	return osm;
}

static void delete (void *plugin_data)
{
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
	.report = report,
};
