/* How long the operator's loop is held by its queue: jobs that come, looks at the queue, pages of /queue and
 * metrics, with so many jobs that wait.
 *
 *     queue-load VIPU_CONTROLLER JOBS
 *
 * The jobs have sizes from 1 to 64 IPUs, in eight namespaces, half of them with a deadline. Prints one JSON
 * line; times are milliseconds of the processor, so that other programs do not count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/kube/auth/client_config.h"
#include "operator/reconcile/queue/grants.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/report/listing.h"
#include "operator/reconcile/report/metrics_snapshot.h"
#include "operator/reconcile/queue/claim_window.h"
#include "operator/reconcile/state/reconciler_state.h"

#define LOOKS 100
#define LOOK_EVERY_MS 20
#define COME_AT_ONCE 10 /* jobs, in a turn of the loop */

struct load {
    struct loop *loop;
    struct reconciler *r;
    uint32_t jobs, added, looks;
    struct loop_timer look, turn;
    double look_ms[LOOKS], longest_page_ms, longest_metrics_ms, longest_turn_ms, turned_ms;
    char *token; /* of the page before; NULL: the first page is next */
};

static double cpu_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}

static bool may_write(void *ctx)
{
    (void)ctx;
    return false;
}

/* As a watch does. */
static void store_job(struct load *load, const char *key, const char *uid, uint32_t number)
{
    AUTO(mem)
    char *text = mem_printf(
        "{\"metadata\":{\"namespace\":\"team-%u\",\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":"
        "\"%u\"},\"spec\":{\"jobInstances\":1,\"ipusPerJobInstance\":\"%u\",\"workers\":{\"template\":{"
        "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"main\"}]}}}}}",
        number % 8, strchr(key, '/') + 1, uid, number + 1, 1u << number % 7);
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    (void)store_put((struct store *)(uintptr_t)watch_store(load->r->jobs), object, strlen(text));
}

static void add_job(struct load *load, uint32_t number)
{
    AUTO(mem) char *key = mem_printf("team-%u/job-%u", number % 8, number);
    AUTO(mem) char *uid = mem_printf("%08x-0000-4000-8000-000000000000", number * 2654435761u);
    struct job_cache *cache;
    AUTO(indexset) struct indexset first = {0};

    store_job(load, key, uid, number);
    cache = job_cache_get(load->r, key, uid);
    indexset_add(&first, 0);
    cache->created_s = number;
    cache->ipus_per_instance = 1u << number % 7;
    cache->limit_s = number % 2 ? 3600 : 0;
    cache->eligible = grants_find_eligible(load->r, NULL);
    job_claims_set(&cache->claims, &first, true, number);
    claim_window_add(load->r, cache);
}

static void on_turn(struct loop_timer *timer)
{
    struct load *load = CONTAINER_OF(timer, struct load, turn);
    double now = cpu_ms();

    if (now - load->turned_ms > load->longest_turn_ms)
        load->longest_turn_ms = now - load->turned_ms;
    load->turned_ms = now;
    loop_timer_start(load->loop, timer, 0, on_turn);
}

static void note_longest(double before_ms, double *longest_ms)
{
    double took_ms = cpu_ms() - before_ms;

    if (took_ms > *longest_ms)
        *longest_ms = took_ms;
}

/* The next one; after the last one the first. */
static void read_page(struct load *load)
{
    AUTO(mem) char *query = mem_printf("continue=%s", load->token ? load->token : "");
    AUTO(page_request) struct page_request request = {0};
    struct err err = {0};
    double before = cpu_ms();

    if (!page_request_read(query, &request, &err)) /* the token is one that it has given */
        abort();
    AUTO(json) cJSON *page = listing_print(load->r, PAGE_QUEUE, &request);
    note_longest(before, &load->longest_page_ms);
    mem_set_str(&load->token, json_str(page, "continue", NULL));
}

static void read_metrics(struct load *load)
{
    AUTO(metrics_snapshot) struct metrics_snapshot snapshot = {0};
    double before = cpu_ms();

    metrics_snapshot_take(load->r, 0, &snapshot);
    note_longest(before, &load->longest_metrics_ms);
}

static void on_look(struct loop_timer *timer)
{
    struct load *load = CONTAINER_OF(timer, struct load, look);
    bool is_filled = load->added == load->jobs;
    double before;

    loop_timer_start(load->loop, timer, is_filled ? LOOK_EVERY_MS : 0, on_look);
    if (!pool_controller(load->r->pool, 0)->is_known)
        return;
    if (load->added == 0) {
        load->turned_ms = cpu_ms();
        loop_timer_start(load->loop, &load->turn, 0, on_turn);
    }
    for (unsigned i = 0; i < COME_AT_ONCE && load->added < load->jobs; i++)
        add_job(load, load->added++);
    if (!is_filled)
        return;
    before = cpu_ms();
    grants_refresh(load->r);
    if (load->r->claim_window.jobs.count <=
        CLAIM_WINDOW_MAX) /* else it waits for the first jobs to be found */
        load->look_ms[load->looks++] = cpu_ms() - before;
    if (load->looks % 2)
        read_page(load);
    else
        read_metrics(load);
    if (load->looks == LOOKS)
        loop_stop(load->loop);
}

static int compare_times(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
    struct load load = {.jobs = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0, .loop = loop_new()};
    struct client_config nowhere = {.server = mem_strdup("https://127.0.0.1:1"),
                                    .ns = mem_strdup("default"),
                                    .origin = mem_strdup("the benchmark")};
    struct pool_config controllers = {0};
    AUTO(strv) struct strv problems = {0};
    struct err err = {0};
    struct kube *kube = kube_new(load.loop, &nowhere, &(struct kube_options){.program = "queue-load"}, &err);

    log_setup(LOG_ERROR, false);
    pool_config_add_text(&controllers, argc == 3 ? argv[1] : "", &problems);
    if (!load.jobs || !controllers.count || !kube) {
        (void)fprintf(stderr, "usage: queue-load VIPU_CONTROLLER JOBS\n");
        return 2;
    }
    load.r = reconciler_new(load.loop, kube, NULL,
                            &(struct reconciler_options){.controllers = &controllers,
                                                         .operator_ns = "default",
                                                         .partition_prefix = "p",
                                                         .queue_policy = FORECAST_BOUNDED,
                                                         .forecast = FORECAST_SETTINGS_DEFAULT,
                                                         .may_write = may_write});
    load.r->all_seen = load.r->all_validated = true;
    loop_timer_start(load.loop, &load.look, 0, on_look);
    loop_run(load.loop);
    qsort(load.look_ms, LOOKS, sizeof(*load.look_ms), compare_times);
    printf("{\"jobs\": %u, \"medianLookMs\": %.3f, \"longestLookMs\": %.3f, \"longestPageMs\": %.3f, "
           "\"longestMetricsMs\": %.3f, \"longestTurnMs\": %.3f}\n",
           load.jobs, load.look_ms[LOOKS / 2], load.look_ms[LOOKS - 1], load.longest_page_ms,
           load.longest_metrics_ms, load.longest_turn_ms);
    return 0; /* the process ends with all that it holds */
}
