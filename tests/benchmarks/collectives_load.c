/* PopDist's collectives beside the same calls of plain MPI, in turns, so that both see the same machine. Run
 * it by mpirun; rank 0 prints "NAME SIZE MPI POPDIST" lines: seconds of a call in the best round, since
 * whatever else runs on the machine only adds to them. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "popdist/popdist.h"

#define SMALL 2                  /* floats: 8 bytes */
#define LARGE ((size_t)16 << 20) /* floats: 64 MiB */
#define SMALL_CALLS 500
#define LARGE_CALLS 3
#define ROUNDS_MAX 1000
#define LARGE_ROUNDS_MAX 5

typedef void (*call_fn)(float *data, size_t count);

static uint32_t instances;
static int root; /* of the next broadcast: each is the root in turn, so that none runs ahead */

static void must(enum popdist_status status, const struct popdist_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void mpi_all_reduce(float *data, size_t count)
{
    MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void popdist_reduce(float *data, size_t count)
{
    struct popdist_error error;

    must(popdist_all_reduce_sum(data, count, POPDIST_FLOAT, "sum", &error), &error);
}

static void mpi_broadcast(float *data, size_t count)
{
    MPI_Bcast(data, (int)count, MPI_FLOAT, root++ % (int)instances, MPI_COMM_WORLD);
}

static void popdist_cast(float *data, size_t count)
{
    struct popdist_error error;

    must(
        popdist_broadcast(data, count, POPDIST_FLOAT, (uint32_t)(root++ % (int)instances), "weights", &error),
        &error);
}

static void mpi_all_gather(float *data, size_t count)
{
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_FLOAT, data, (int)(count / instances), MPI_FLOAT, MPI_COMM_WORLD);
}

static void popdist_gather(float *data, size_t count)
{
    struct popdist_error error;

    must(popdist_all_gather(NULL, data, count / instances, POPDIST_FLOAT, "parts", &error), &error);
}

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds of one call. */
static double measure(call_fn call, float *data, size_t count, int calls)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = now();
    for (int i = 0; i < calls; i++)
        call(data, count);
    MPI_Barrier(MPI_COMM_WORLD);
    return (now() - begin) / calls;
}

static void compare_calls(const char *name, call_fn plain, call_fn ours, float *data, bool large, int rounds)
{
    size_t count = large ? LARGE : SMALL;
    int calls = large ? LARGE_CALLS : SMALL_CALLS;
    double theirs = INFINITY, mine = INFINITY;
    uint32_t index = 0;

    (void)popdist_backend_place(&instances, &index, NULL);
    for (int round = 0; round < rounds && !(large && round >= LARGE_ROUNDS_MAX); round++) {
        theirs = fmin(theirs, measure(plain, data, count, calls));
        mine = fmin(mine, measure(ours, data, count, calls));
    }
    if (index == 0)
        printf("%s %s %.9f %.9f\n", name, large ? "large" : "small", theirs, mine);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 40;
    float *data = calloc(LARGE, sizeof *data);
    struct popdist_error error;

    if (!data || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: collectives-load [ROUNDS, 1 to %d]\n", ROUNDS_MAX);
        return 2;
    }
    must(popdist_init(&error), &error);
    for (int large = 0; large < 2; large++) {
        compare_calls("all-reduce", mpi_all_reduce, popdist_reduce, data, large, rounds);
        compare_calls("broadcast", mpi_broadcast, popdist_cast, data, large, rounds);
        compare_calls("all-gather", mpi_all_gather, popdist_gather, data, large, rounds);
    }
    must(popdist_finalize_backend(&error), &error);
    free(data);
    return 0;
}
