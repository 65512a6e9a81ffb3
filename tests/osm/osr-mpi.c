/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An MPI program with two phases, an all-to-all and an allreduce, that knows nothing of routing
 * keys. When a phase's operation is over rank 0 makes the file DIR/phase-N and waits until it is
 * gone: the test has a look.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void show(const char *dir, int phase, int rank)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/phase-%d", dir, phase);
	if (!rank) {
		fclose(fopen(path, "w"));
		while (!access(path, F_OK))
			usleep(10000);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, n, sum = 0, *in, *out;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	in = calloc((size_t)n, sizeof(*in));
	out = calloc((size_t)n, sizeof(*out));
	for (int i = 0; i < n; i++)
		in[i] = rank;
	for (int i = 0; i < 3; i++)
		MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
	show(argv[1], 0, rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	show(argv[1], 1, rank);
	MPI_Pcontrol(1);
	show(argv[1], 2, rank);
	MPI_Pcontrol(0);
	show(argv[1], 3, rank);
	for (int i = 0; i < n; i++)
		if (out[i] != i || sum != n * (n - 1) / 2)
			return 1;
	free(in);
	free(out);
	MPI_Finalize();
	return 0;
}
