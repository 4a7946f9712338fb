#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/io/file.h"
#include "operator/kube/leader_election/lease.h"
#include "operator/kube/watch/watch.h"
#include "probe.h"

/* A view is the text of data.v. */
static bool view_of(void *ctx, const cJSON *item, void **ret)
{
    (void)ctx;
    *ret = mem_strdup(json_str(item, "data/v", "?"));
    return true;
}

static const char *text_of(const void *view)
{
    return view != NULL ? view : "-";
}

struct watch_run {
    struct probe *probe;
    struct watch *watch;
    bool was_in_trouble;
    struct loop_timer poll;
    int64_t polled_ms, longest_turn_ms; /* of processor time: others may keep us waiting */
};

static void on_change(void *ctx, const struct store_change *change)
{
    const struct watch_run *run = ctx;

    if (run->probe->options->quiet)
        return;
    printf("change %s %s %.40s > %.40s%s\n", change->key, change->uid, text_of(change->old),
           text_of(change->new), change->final_state_unknown ? " unseen" : "");
}

static void on_synced(void *ctx)
{
    struct watch_run *run = ctx;

    printf("synced %zu\n", store_count(watch_store(run->watch)));
}

/* A sanitizer's shadow is not our memory. */
#if defined(__SANITIZE_ADDRESS__)
#define PEAK_IS_OURS false
#elif defined(__has_feature)
#define PEAK_IS_OURS (!__has_feature(address_sanitizer))
#else
#define PEAK_IS_OURS true
#endif

/* Of this program alone: getrusage counts what the process was before exec, too. 0: not known. */
static int64_t peak_kb(void)
{
    AUTO(str) struct str status = {0};
    struct err err;
    int64_t peak = 0;
    const char *at;

    if (!PEAK_IS_OURS || !file_read("/proc/self/status", 65536, &status, &err))
        return 0;
    at = strstr(str_text(&status), "VmHWM:");
    if (at != NULL) {
        AUTO(mem) char *digits = NULL;

        at += strcspn(at, "0123456789");
        digits = mem_strndup(at, strspn(at, "0123456789"));
        (void)parse_i64(digits, 0, INT64_MAX, &peak);
    }
    return peak;
}

static void print_end(const struct watch_run *run)
{
    const struct watch_counters *c = watch_counters(run->watch);
    printf("end count %zu lists %llu pages %llu streams %llu items %llu skipped %llu expired %llu silent "
           "%llu rss_kb %lld turn_ms %lld\n",
           store_count(watch_store(run->watch)), (unsigned long long)c->lists, (unsigned long long)c->pages,
           (unsigned long long)c->streams, (unsigned long long)c->items, (unsigned long long)c->skipped,
           (unsigned long long)c->expired, (unsigned long long)c->silent, (long long)peak_kb(),
           (long long)run->longest_turn_ms);
}

enum { POLL_MS = 5 };

/* How long the loop was busy with other things since the last time. */
static void measure_turn(struct watch_run *run)
{
    int64_t now_ms = clock() / (CLOCKS_PER_SEC / 1000);

    if (run->polled_ms > 0 && now_ms - run->polled_ms > run->longest_turn_ms)
        run->longest_turn_ms = now_ms - run->polled_ms;
    run->polled_ms = now_ms;
}

static void print_trouble(struct loop_timer *timer)
{
    struct watch_run *run = CONTAINER_OF(timer, struct watch_run, poll);
    int64_t since_ms;
    const struct err *trouble = watch_trouble(run->watch, &since_ms);

    if ((trouble != NULL) != run->was_in_trouble)
        printf("%s\n", trouble != NULL ? "trouble" : "well");
    run->was_in_trouble = trouble != NULL;
    measure_turn(run);
    loop_timer_start(run->probe->loop, timer, POLL_MS, print_trouble);
}

void probe_watch(struct probe *probe)
{
    struct watch_run run = {.probe = probe};

    run.watch = watch_new(probe->kube, &(struct watch_options){
                                           .resource = probe_resource(probe->words->items[0]),
                                           .ns = probe->options->ns,
                                           .label_selector = probe->options->selector,
                                           .view = view_of,
                                           .view_free = mem_free,
                                           .on_change = on_change,
                                           .on_synced = on_synced,
                                           .idle_timeout_ms = probe->options->idle_timeout_ms,
                                           .ctx = &run,
                                       });
    loop_timer_start(probe->loop, &run.poll, 0, print_trouble);
    loop_run(probe->loop);
    print_end(&run);
    probe_print_counters(probe);
    loop_timer_stop(&run.poll);
    watch_free(run.watch);
}

static void on_started(void *ctx)
{
    (void)ctx;
    printf("started\n");
}

static void on_lost(void *ctx)
{
    (void)ctx;
    printf("lost\n");
}

static void on_given_back(void *ctx)
{
    printf("given back\n");
    loop_stop(ctx);
}

/* The first SIGTERM ends the first run of the loop; giving the lease back needs a second one. */
void probe_lease(struct probe *probe)
{
    struct lease *lease = lease_new(probe->kube, &(struct lease_options){
                                                     .ns = probe->options->ns,
                                                     .name = probe->words->items[0],
                                                     .duration_ms = 6000,
                                                     .renew_deadline_ms = 3000,
                                                     .retry_ms = 300,
                                                     .on_started = on_started,
                                                     .on_lost = on_lost,
                                                     .ctx = probe->loop,
                                                 });

    printf("holder %s\n", lease_holder(lease));
    loop_run(probe->loop);
    printf("held %d healthy %d\n", lease_is_held(lease, loop_clock_ms()),
           lease_is_healthy(lease, loop_clock_ms()));
    lease_release(lease, on_given_back, probe->loop);
    loop_run(probe->loop);
    probe_print_counters(probe);
    lease_free(lease);
}
