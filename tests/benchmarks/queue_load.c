/* How long the operator's loop is held by its queue: looks at it, with so many jobs that wait.
 *
 *     queue-load VIPU_CONTROLLER JOBS
 *
 * The jobs have sizes from 1 to 64 IPUs, in eight namespaces, half of them with a deadline. Prints one JSON
 * line; times are milliseconds of the processor, so that other programs do not count. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/kube/auth/client_config.h"
#include "operator/reconcile/grants.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/state/claim_window.h"
#include "operator/reconcile/state/reconciler_state.h"

#define LOOKS 100
#define LOOK_EVERY_MS 20

struct load {
    struct loop *loop;
    struct reconciler *r;
    uint32_t jobs, looks;
    struct loop_timer look, turn;
    double look_ms[LOOKS], longest_turn_ms, turned_ms;
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

static void add_job(struct load *load, uint32_t number)
{
    AUTO(mem) char *key = mem_printf("team-%u/job-%u", number % 8, number);
    AUTO(mem) char *uid = mem_printf("%08x-0000-4000-8000-000000000000", number * 2654435761u);
    struct job_cache *cache = job_cache_get(load->r, key, uid);
    AUTO(indexset) struct indexset first = {0};

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

static void on_look(struct loop_timer *timer)
{
    struct load *load = CONTAINER_OF(timer, struct load, look);
    double before;

    loop_timer_start(load->loop, timer, LOOK_EVERY_MS, on_look);
    if (!pool_controller(load->r->pool, 0)->is_known)
        return;
    if (!load->r->with_claims.count) {
        for (uint32_t i = 0; i < load->jobs; i++)
            add_job(load, i);
        load->turned_ms = cpu_ms();
        loop_timer_start(load->loop, &load->turn, 0, on_turn);
        return;
    }
    before = cpu_ms();
    grants_refresh(load->r);
    if (load->r->claim_window.jobs.count <=
        CLAIM_WINDOW_MAX) /* else it waits for the first jobs to be found */
        load->look_ms[load->looks++] = cpu_ms() - before;
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
    printf("{\"jobs\": %u, \"medianLookMs\": %.3f, \"longestLookMs\": %.3f, \"longestTurnMs\": %.3f}\n",
           load.jobs, load.look_ms[LOOKS / 2], load.look_ms[LOOKS - 1], load.longest_turn_ms);
    return 0; /* the process ends with all that it holds */
}
