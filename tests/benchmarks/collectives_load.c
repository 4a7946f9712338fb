/* PopDist's collectives beside the same calls of plain MPI, in turns, so that both see the same machine. Run
 * it by mpirun; rank 0 prints "NAME SIZE MPI POPDIST" lines, one for each round: seconds of a call. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "popdist/popdist.h"

#define ROUNDS_MAX 1000

typedef void (*call_fn)(float *data, size_t count);

struct operation {
    const char *name;
    call_fn plain, ours;
};

struct size {
    const char *name;
    size_t count; /* floats */
    int calls;    /* of a round */
};

static uint32_t instances, index_of_this;
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

static const struct operation operations[] = {
    {"all-reduce", mpi_all_reduce, popdist_reduce},
    {"broadcast", mpi_broadcast, popdist_cast},
    {"all-gather", mpi_all_gather, popdist_gather},
};

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds of one call. */
static double measure(call_fn call, float *data, const struct size *size)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = now();
    for (int i = 0; i < size->calls; i++)
        call(data, size->count);
    MPI_Barrier(MPI_COMM_WORLD);
    return (now() - begin) / size->calls;
}

/* Round 0 finds cold memory and connections and does not count. Which is first changes from round to round.
 */
static void compare_calls(const struct operation *operation, float *data, const struct size *size, int rounds)
{
    for (int round = 0; round <= rounds; round++) {
        double plain = 0, ours;

        if (round % 2)
            plain = measure(operation->plain, data, size);
        ours = measure(operation->ours, data, size);
        if (round % 2 == 0)
            plain = measure(operation->plain, data, size);
        if (round && index_of_this == 0)
            printf("%s %s %.9f %.9f\n", operation->name, size->name, plain, ours);
    }
}

static int number(const char *text)
{
    long found = text ? strtol(text, NULL, 10) : 0;

    return found > 0 && found <= ROUNDS_MAX ? (int)found : 0;
}

int main(int argc, char **argv)
{
    static const struct size small = {"small", 2, 200}, large = {"large", (size_t)16 << 20, 1};
    int small_rounds = number(argc == 3 ? argv[1] : NULL), large_rounds = number(argc == 3 ? argv[2] : NULL);
    float *data = calloc(large.count, sizeof *data);
    struct popdist_error error;

    if (!data || !small_rounds || !large_rounds) {
        fprintf(stderr, "usage: collectives-load ROUNDS-OF-8-BYTES ROUNDS-OF-64-MIB (1 to %d)\n", ROUNDS_MAX);
        return 2;
    }
    must(popdist_init(&error), &error);
    must(popdist_backend_place(&instances, &index_of_this, &error), &error);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        compare_calls(&operations[i], data, &small, small_rounds);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        compare_calls(&operations[i], data, &large, large_rounds);
    must(popdist_finalize_backend(&error), &error);
    free(data);
    return 0;
}
