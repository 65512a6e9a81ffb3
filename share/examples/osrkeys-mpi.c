/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libosrkeys-mpi: says for an MPI program when its phases begin and end, so that the program need
 * not be changed. It stands between the program and MPI by the standard's profiling interface (MPI
 * 4.0, chapter 15.2). Build it with the MPI of the program, then link it before MPI, or LD_PRELOAD
 * it:
 *
 *	mpicc -O2 -shared -fPIC -fvisibility=hidden -o libosrkeys-mpi.so osrkeys-mpi.c -losrkeys
 *
 *	OSMROUTES_APP=7					the application, as `osmroutes key place --env` says
 *	OSMROUTES_PHASES="MPI_Alltoall=0 MPI_Allreduce=1"	which key an operation has
 *	OSMROUTES_WAIT=1000				milliseconds to wait for the switches, 0: not at all
 *
 * Rank 0 asks when one of these operations begins and the key in use is another: requests take some
 * ten milliseconds, so a key stays in use until another one is wanted, or MPI_Finalize(). A program
 * that knows its phases says MPI_Pcontrol(1 + key) when one begins and MPI_Pcontrol(0) when it is
 * over.
 *
 * Instead of phases, one key for the whole job, from MPI_Init() to MPI_Finalize():
 *
 *	OSMROUTES_JOB="n3 n1 n7"			the hosts by rank, each once
 *	UCX_IB_LID_PATH_BITS=1				the LID offset that the program uses
 *
 * Ranks have to follow the tree, as `osmroutes key job` orders them; otherwise a line says so.
 *
 * Without OSMROUTES_APP and OSMROUTES_JOB nothing happens. Whatever fails is one line on standard error, and the
 * program goes on: the base routing leads every packet at any offset.
 */
#include <osmroutes/keyclient.h>

#include <mpi.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program without MPI (a shell before mpirun) may have this library in its LD_PRELOAD. */
#pragma weak PMPI_Allgather
#pragma weak PMPI_Allreduce
#pragma weak PMPI_Alltoall
#pragma weak PMPI_Alltoallv
#pragma weak PMPI_Bcast
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Finalize
#pragma weak PMPI_Init
#pragma weak PMPI_Init_thread
#pragma weak PMPI_Reduce_scatter
#ifdef OPEN_MPI
#pragma weak ompi_mpi_comm_world
#endif

#define API __attribute__((visibility("default")))
#define NO_KEY (-1L)
#define DEFAULT_WAIT_MS 1000

/*
 * Of rank 0; the others keep keys.client NULL. One thread: MPI calls by several are the program's
 * to order.
 */
static struct {
	struct osrk *client;
	uint32_t app;
	long in_use;
	int is_job; /* its key is given back at the end */
	int wait_ms;
	const char *phases;
} keys;

static void complain(void)
{
	fprintf(stderr, "osrkeys-mpi: no routing keys: %s\n", osrk_error(keys.client));
	osrk_close(keys.client);
	keys.client = NULL;
}

/* A key for all that the program does, on the hosts of this list. */
static void keympi_job(const char *list)
{
	const char *bits = getenv("UCX_IB_LID_PATH_BITS");
	uint32_t offset = bits ? (uint32_t)strtoul(bits, NULL, 10) : 0, n = 0, n_moved = 0;
	char *text = strdup(list), *rest = NULL;
	const char **hosts = calloc(strlen(list) + 1, sizeof(*hosts));
	uint32_t *place = calloc(strlen(list) + 1, sizeof(*place));
	struct osrk_job job = { 0 };
	int failed = !text || !hosts || !place;

	if (!failed)
		for (char *host = strtok_r(text, " ,\n", &rest); host;
		     host = strtok_r(NULL, " ,\n", &rest))
			hosts[n++] = host;
	if (!failed)
		failed = osrk_job(keys.client, hosts, n, offset, keys.wait_ms, &job, place);
	for (uint32_t i = 0; i < n && !failed; i++)
		n_moved += place[i] != i;
	if (n_moved)
		fprintf(stderr, "osrkeys-mpi: ranks do not follow the tree: no key helps\n");
	if (!failed && job.offset != offset)
		fprintf(stderr, "osrkeys-mpi: the key needs UCX_IB_LID_PATH_BITS=%u\n",
			(unsigned)job.offset);
	if (!failed && !job.fits)
		fprintf(stderr, "osrkeys-mpi: up to %u flows on a cable\n",
			(unsigned)job.contention);
	free(text);
	free(hosts);
	free(place);
	/* Too late is no reason to give up: the routes come. */
	keys.app = job.app;
	keys.is_job = job.app;
	if (failed && !job.app)
		complain();
}

static void keympi_end_phase(void)
{
	if (!keys.client || keys.in_use == NO_KEY)
		return;
	if (osrk_done(keys.client, keys.app, (uint32_t)keys.in_use))
		complain();
	keys.in_use = NO_KEY;
}

static void keympi_begin_phase(long key)
{
	if (!keys.client || keys.is_job || key == NO_KEY || key == keys.in_use)
		return;
	keympi_end_phase();
	if (!keys.client)
		return;
	/* Too late is no reason to give up: the routes come, and until then the base leads. */
	if (osrk_request(keys.client, keys.app, (uint32_t)key, keys.wait_ms)) {
		struct osrk_key what;

		if (!osrk_key(keys.client, keys.app, (uint32_t)key, &what) ||
		    what.state != OSRK_WAITING) {
			complain();
			return;
		}
	}
	keys.in_use = key;
}

/* "NAME=KEY NAME=KEY" */
static long keympi_key_of(const char *operation)
{
	size_t length = strlen(operation);

	for (const char *at = keys.phases; at && *at;) {
		at += strspn(at, " ,");
		if (!strncmp(at, operation, length) && at[length] == '=')
			return strtol(at + length + 1, NULL, 10);
		at += strcspn(at, " ,");
	}
	return NO_KEY;
}

static void keympi_open(void)
{
	const char *app = getenv("OSMROUTES_APP"), *wait = getenv("OSMROUTES_WAIT");
	const char *job = getenv("OSMROUTES_JOB");
	int rank;

	if ((!app && !job) || PMPI_Comm_rank(MPI_COMM_WORLD, &rank) || rank)
		return;
	keys.app = app ? (uint32_t)strtoul(app, NULL, 10) : 0;
	keys.wait_ms = wait ? (int)strtol(wait, NULL, 10) : DEFAULT_WAIT_MS;
	keys.phases = getenv("OSMROUTES_PHASES");
	keys.in_use = NO_KEY;
	keys.client = osrk_open(NULL);
	if (osrk_ok(keys.client) && job)
		keympi_job(job);
	else if (!osrk_ok(keys.client) || osrk_attach(keys.client, keys.app))
		complain();
}

API int MPI_Init(int *argc, char ***argv)
{
	int failed = PMPI_Init(argc, argv);

	if (!failed)
		keympi_open();
	return failed;
}

API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int failed = PMPI_Init_thread(argc, argv, required, provided);

	if (!failed)
		keympi_open();
	return failed;
}

API int MPI_Finalize(void)
{
	keympi_end_phase();
	if (keys.client && keys.is_job && osrk_withdraw(keys.client, keys.app))
		complain();
	osrk_close(keys.client);
	keys.client = NULL;
	return PMPI_Finalize();
}

API int MPI_Pcontrol(const int level, ...)
{
	if (level > 0)
		keympi_begin_phase(level - 1L);
	else
		keympi_end_phase();
	return MPI_SUCCESS;
}

API int MPI_Alltoall(const void *from, int n, MPI_Datatype type, void *to, int n_to,
		     MPI_Datatype type_to, MPI_Comm comm)
{
	keympi_begin_phase(keympi_key_of("MPI_Alltoall"));
	return PMPI_Alltoall(from, n, type, to, n_to, type_to, comm);
}

API int MPI_Alltoallv(const void *from, const int n[], const int at[], MPI_Datatype type, void *to,
		      const int n_to[], const int at_to[], MPI_Datatype type_to, MPI_Comm comm)
{
	keympi_begin_phase(keympi_key_of("MPI_Alltoallv"));
	return PMPI_Alltoallv(from, n, at, type, to, n_to, at_to, type_to, comm);
}

API int MPI_Allgather(const void *from, int n, MPI_Datatype type, void *to, int n_to,
		      MPI_Datatype type_to, MPI_Comm comm)
{
	keympi_begin_phase(keympi_key_of("MPI_Allgather"));
	return PMPI_Allgather(from, n, type, to, n_to, type_to, comm);
}

API int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op,
		      MPI_Comm comm)
{
	keympi_begin_phase(keympi_key_of("MPI_Allreduce"));
	return PMPI_Allreduce(from, to, n, type, op, comm);
}

API int MPI_Reduce_scatter(const void *from, void *to, const int n[], MPI_Datatype type, MPI_Op op,
			   MPI_Comm comm)
{
	keympi_begin_phase(keympi_key_of("MPI_Reduce_scatter"));
	return PMPI_Reduce_scatter(from, to, n, type, op, comm);
}

API int MPI_Bcast(void *buffer, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
	keympi_begin_phase(keympi_key_of("MPI_Bcast"));
	return PMPI_Bcast(buffer, n, type, root, comm);
}
