/* Time of a collective, from a barrier until its last rank has finished.
 * Arguments: bcast, alltoall or reduce (of doubles); bytes (per pair for alltoall); samples.
 * Prints nanoseconds, one sample per line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argv[1];
    int bytes = atoi(argv[2]), samples = atoi(argv[3]);
    size_t room = (size_t)bytes * (strcmp(what, "alltoall") == 0 ? size : 1);
    char *in = malloc(room), *out = malloc(room);
    memset(in, 0, room);
    memset(out, 0, room);
    for (int s = -1; s < samples; s++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (strcmp(what, "bcast") == 0)
            MPI_Bcast(in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        else if (strcmp(what, "alltoall") == 0)
            MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD);
        else
            MPI_Reduce(in, out, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        double took = MPI_Wtime() - start, longest;
        MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0 && s >= 0) printf("%.1f\n", longest * 1e9);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
