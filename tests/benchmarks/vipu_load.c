/* Puts load on a V-IPU controller through our client, with so many calls in flight as told:
 *
 *     vipu-load HOST PORT IN_FLIGHT COUNT status ID     asks for the state of one partition
 *     vipu-load HOST PORT IN_FLIGHT COUNT list          asks for all partitions
 *     vipu-load HOST PORT IN_FLIGHT COUNT create PREFIX  makes PREFIX0, PREFIX1 ... of one IPU each
 *
 * Prints one JSON line: {"count":N,"seconds":S,"partitions":P,"before_kib":B,"peak_kib":K}. partitions is the
 * length of the last list; the last two are the largest resident memory before the first call and in all. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/client/client.h"

#define DEADLINE_MS 60000

struct load {
    struct loop *loop;
    struct vipu_client *client;
    const char *kind, *name;
    uint32_t wanted, sent, done;
    size_t partitions;
    bool failed;
};

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long peak_kib(void)
{
    struct rusage usage = {0};

    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void send_next(struct load *load);

static void end_one(struct load *load, const struct vipu_result *result)
{
    if (result->err.kind != ERR_NONE) {
        (void)fprintf(stderr, "vipu-load: %s\n", result->err.msg);
        load->failed = true;
        loop_stop(load->loop);
    } else if (++load->done == load->wanted) {
        loop_stop(load->loop);
    } else {
        send_next(load);
    }
}

static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    (void)status;
    end_one(ctx, result);
}

static void on_list(void *ctx, const struct vipu_result *result, struct vipu_partitions *list)
{
    struct load *load = ctx;

    load->partitions = list->count;
    end_one(load, result);
}

static void on_created(void *ctx, const struct vipu_result *result, const char *id)
{
    (void)id;
    end_one(ctx, result);
}

static void send_next(struct load *load)
{
    AUTO(mem) char *id = NULL;

    if (load->sent == load->wanted)
        return;
    load->sent++;
    if (strcmp(load->kind, "status") == 0) {
        vipu_get_partition_status(load->client, load->name, DEADLINE_MS, on_status, load);
    } else if (strcmp(load->kind, "list") == 0) {
        vipu_list_partitions(load->client, NULL, DEADLINE_MS, on_list, load);
    } else {
        id = mem_printf("%s%u", load->name, load->sent - 1);
        vipu_create_partition(load->client, &(struct vipu_requirements){.id = id, .size = 1}, DEADLINE_MS,
                              on_created, load);
    }
}

static bool is_kind(int argc, char **argv)
{
    return (argc == 6 && strcmp(argv[5], "list") == 0) ||
           (argc == 7 && (strcmp(argv[5], "status") == 0 || strcmp(argv[5], "create") == 0));
}

int main(int argc, char **argv)
{
    struct load load = {0};
    uint32_t port, in_flight;
    double begin;
    long before_kib;

    if (argc < 6 || !is_kind(argc, argv) || !parse_u32(argv[2], 1, 65535, &port) ||
        !parse_u32(argv[3], 1, VIPU_CLIENT_MAX_IN_FLIGHT, &in_flight) ||
        !parse_u32(argv[4], 1, UINT32_MAX, &load.wanted)) {
        (void)fputs("Usage: vipu-load HOST PORT IN_FLIGHT COUNT (status ID | list | create PREFIX)\n",
                    stderr);
        return 2;
    }
    load.kind = argv[5];
    load.name = argv[6];
    load.loop = loop_new();
    load.client = vipu_client_new(load.loop,
                                  &(struct vipu_client_options){.endpoint = {.host = argv[1], .port = port}});
    before_kib = peak_kib();
    begin = now_s();
    for (uint32_t i = 0; i < in_flight; i++)
        send_next(&load);
    loop_run(load.loop);
    if (!load.failed)
        (void)printf(
            "{\"count\":%u,\"seconds\":%.6f,\"partitions\":%zu,\"before_kib\":%ld,\"peak_kib\":%ld}\n",
            load.done, now_s() - begin, load.partitions, before_kib, peak_kib());
    vipu_client_free(load.client);
    loop_free(load.loop);
    return load.failed;
}
