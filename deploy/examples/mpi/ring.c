/* A token travels once around all processes, and every process tells where it runs:
 *
 *     mpirun /examples/ring
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG, TOKEN = 1000 };

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "none";
}

static int pass_token(int rank, int size)
{
    int token = TOKEN;

    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token++;
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&token, 1, MPI_INT, size - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return token;
}

int main(int argc, char **argv)
{
    int rank, size, token;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    token = pass_token(rank, size);
    printf("rank %d of %d: worker %s, partition %s, GCD %s\n", rank, size, variable("IPU_JOB_WORKER_INDEX"),
           variable("IPUOF_VIPU_API_PARTITION_ID"), variable("IPUOF_VIPU_API_GCD_ID"));
    if (rank == 0)
        printf("the token came back as %d\n", token);
    return MPI_Finalize();
}
