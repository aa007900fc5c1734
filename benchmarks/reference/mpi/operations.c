/* Measures the time of an operation between processes of one machine.
 * Arguments: the operation, then BYTES:ROUNDS:SAMPLES for each size. Prints a line for each
 * sample: bytes and nanoseconds.
 * - one-way: between ranks 0 and 1 while all other ranks wait in a barrier; ROUNDS round trips.
 * - broadcast, all-to-all (BYTES for each pair), reduce (of doubles): from a barrier until the
 *   last rank has finished, once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void one_way(int bytes, int rounds, int samples) {
    char *buffer = calloc(1, bytes);
    for (int s = -1; s < samples && rank < 2; s++) {
        double start = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            if (rank == 0) {
                MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
            }
        }
        double took = MPI_Wtime() - start;
        if (rank == 0 && s >= 0) printf("%d %.1f\n", bytes, took * 1e9 / rounds / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(buffer);
}

static void collective(const char *what, int bytes, int samples) {
    int to_all = strcmp(what, "all-to-all") == 0;
    size_t room = (size_t)bytes * (to_all ? size : 1);
    char *in = malloc(room), *out = malloc(room);
    memset(in, 0, room);
    memset(out, 0, room);
    for (int s = -1; s < samples; s++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (to_all)
            MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD);
        else if (strcmp(what, "broadcast") == 0)
            MPI_Bcast(in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        else
            MPI_Reduce(in, out, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        double took = MPI_Wtime() - start, longest;
        MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0 && s >= 0) printf("%d %.1f\n", bytes, longest * 1e9);
    }
    free(in);
    free(out);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 2; i < argc; i++) {
        int bytes, rounds, samples;
        if (sscanf(argv[i], "%d:%d:%d", &bytes, &rounds, &samples) != 3) return 2;
        if (strcmp(argv[1], "one-way") == 0)
            one_way(bytes, rounds, samples);
        else
            collective(argv[1], bytes, samples);
    }
    MPI_Finalize();
    return 0;
}
