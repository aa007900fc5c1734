/* One-way time between ranks 0 and 1 while all other ranks wait in a barrier.
 * Arguments: bytes, messages per sample, samples. Prints nanoseconds, one sample per line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int bytes = atoi(argv[1]), rounds = atoi(argv[2]), samples = atoi(argv[3]);
    char *buffer = calloc(1, bytes + 1);
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
        if (rank == 0 && s >= 0) printf("%.1f\n", (MPI_Wtime() - start) * 1e9 / rounds / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(buffer);
    MPI_Finalize();
    return 0;
}
