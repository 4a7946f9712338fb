/* ipu-operator: wiring only. The leader runs a reconciler; a process that loses the lease exits and is
 * restarted. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/options/opts_completion.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/admin/adopt.h"
#include "operator/admin/apply_crd.h"
#include "operator/admin/before_uninstall.h"
#include "operator/admin/create_vipu_keys.h"
#include "operator/admin/partitions.h"
#include "operator/admin/release.h"
#include "operator/admin/self_check.h"
#include "operator/api/leader_note.h"
#include "operator/history/history_object.h"
#include "operator/kube/client/client.h"
#include "operator/kube/client/counters.h"
#include "operator/kube/events/events.h"
#include "operator/kube/auth/config_loader.h"
#include "operator/kube/leader_election/lease.h"
#include "options.h"
#include "operator/reconcile/report/listing.h"
#include "operator/reconcile/report/progress_board.h"
#include "operator/reconcile/report/queue.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/report/usage.h"
#include "operator/serve/metrics/metrics.h"
#include "operator/serve/pages/pages.h"
#include "operator/vipucontroller/controller_objects.h"
#include "servers.h"

enum { EXIT_OK = 0, EXIT_LOST_LEASE = 1, EXIT_BAD_USAGE = 2 };
enum { DRAIN_MS = 3000, TIDY_MS = 10 * 1000, KEY_BYTES = 16 };

struct app {
    struct options options;
    struct strv pull_secrets, priority_classes;
    struct client_config client_config;
    struct loop *loop;
    struct kube *kube;
    struct events *events;
    struct lease *lease;
    char *address;               /* "host:port" for the other replicas, or NULL */
    char key[2 * KEY_BYTES + 1]; /* as in leader_note.h */
    struct pages *pages;
    struct servers *servers;
    struct reconciler *reconciler;                 /* while leading */
    struct controller_objects *controller_objects; /* likewise; NULL with --watch-namespace */
    struct progress_board *board;                  /* likewise */
    struct history_object *history;                /* likewise; NULL without --history */
    struct loop_timer drain;                       /* at the end */
    struct loop_timer tidy;                        /* now and then */
    int64_t start_us;
    bool stopping;
    int exit_code;
};

static const char *env_of(const char *name)
{
    return getenv(name);
}

/* ---- leading ---- */

static bool may_write(void *ctx)
{
    struct app *app = ctx;

    return lease_is_held(app->lease, loop_clock_ms());
}

static const char *operator_ns(const struct app *app)
{
    return app->options.ns ? app->options.ns : app->client_config.ns;
}

static struct queue_limits queue_limits(const struct options *o)
{
    return (struct queue_limits){.per_namespace = o->max_waiting_per_namespace, .total = o->max_waiting};
}

static struct forecast_settings forecast_settings(const struct options *o)
{
    struct forecast_settings settings = FORECAST_SETTINGS_DEFAULT;

    settings.depth = o->reservations;
    settings.close_after_s = o->close_after_s;
    settings.max_slide_s = o->max_slide_s;
    settings.has_shares = o->share_half_life_s > 0;
    settings.guard_after_s = o->guard_after_s ? o->guard_after_s : FORECAST_UNKNOWN;
    return settings;
}

static void on_started(void *ctx)
{
    struct app *app = ctx;
    const struct options *o = &app->options;

    log_info("leading", KV("lease", o->lease_name), KV("holder", lease_holder(app->lease)));
    app->reconciler =
        reconciler_new(app->loop, app->kube, app->events,
                       &(struct reconciler_options){
                           .controllers = &o->controllers,
                           .credentials = o->credentials,
                           .operator_ns = operator_ns(app),
                           .watch_ns = o->watch_ns,
                           .partition_prefix = o->partition_prefix,
                           .priority_classes = &app->priority_classes,
                           .queue_limits = queue_limits(o),
                           .quotas = o->queue_quotas ? &o->quotas : NULL,
                           .instance_quotas = o->queue_instance_quotas ? &o->instance_quotas : NULL,
                           .share_weights = &o->share_weights,
                           .share_half_life_s = o->share_half_life_s,
                           .queue_policy = (enum forecast_policy)o->queue_policy,
                           .forecast = forecast_settings(o),
                           .preempts = o->preempts,
                           .exempt_s = o->exempt_s,
                           .pods = {.launcher_image = o->launcher_image,
                                    .launcher_pull_policy = o->launcher_pull_policy,
                                    .pull_secrets = (const char *const *)strv_argv(&app->pull_secrets),
                                    .host_network = o->host_network,
                                    .network_policy = o->network_policy,
                                    .mpi_network = o->mpi_network,
                                    .progress = servers_progress(app->servers)},
                           .hold_ms = (int64_t)o->hold_s * 1000,
                           .requeue_ms = (int64_t)o->requeue_s * 1000,
                           .partition_failure_ms = (int64_t)o->partition_failure_s * 1000,
                           .awaits_cordons = !o->watch_ns,
                           .may_write = may_write,
                           .ctx = app,
                       });
    if (!o->watch_ns) /* these objects belong to no namespace */
        app->controller_objects = controller_objects_new(
            app->loop, app->kube, app->reconciler,
            &(struct controller_objects_options){
                .controllers = &o->controllers,
                .operator_ns = operator_ns(app),
                .publication = {.visibility = (enum controller_visibility)o->controller_visibility,
                                .hides_address = o->hide_controller_addresses}});
    app->board = progress_board_new(app->reconciler);
    if (o->history)
        app->history =
            history_object_new(app->kube, reconciler_history(app->reconciler), operator_ns(app), o->history);
}

/* Nothing may be sent any more, and all caches are stale by the time the lease could be acquired again. */
static void on_lost(void *ctx)
{
    struct app *app = ctx;

    log_error("leader election lost; exiting to be restarted", KV("lease", app->options.lease_name),
              KV("holder", lease_seen_holder(app->lease)));
    reconciler_abort(app->reconciler);
    app->exit_code = EXIT_LOST_LEASE;
    loop_stop(app->loop);
}

static struct webhooks *webhooks(const struct app *app)
{
    return servers_webhooks(app->servers);
}

/* ---- what all replicas know ---- */

static uint32_t largest_partition(void *ctx)
{
    struct app *app = ctx;

    return app->reconciler ? reconciler_largest_partition(app->reconciler)
                           : leader_note_largest_partition(lease_other_note(app->lease));
}

static void count_waiting(void *ctx, const char *ns, struct queue_counts *ret)
{
    struct app *app = ctx;

    if (app->reconciler)
        queue_count(app->reconciler, ns, ret);
    else
        leader_note_read_counts(lease_other_note(app->lease), ns, &ret->in_namespace, &ret->total,
                                &ret->template_kib);
}

static char *leader_note(void *ctx)
{
    struct app *app = ctx;
    AUTO(mem) char *counts = app->reconciler ? queue_sum_up(app->reconciler) : mem_strdup("0");

    return leader_note_print(largest_partition(ctx), counts, app->key);
}

/* ---- health ---- */

static const char *is_well(void *ctx)
{
    struct app *app = ctx;

    return lease_is_healthy(app->lease, loop_clock_ms()) ? NULL : "failed to renew the lease in time";
}

static const char *is_ready(void *ctx)
{
    struct app *app = ctx;

    if (!lease_is_known(app->lease, loop_clock_ms()))
        return "no known leader: cannot read or acquire the lease";
    if (webhooks(app) && !webhooks_are_trusted(webhooks(app)))
        return "the API server does not trust the admission webhooks yet";
    if (!app->reconciler) /* a standby that sees the lease is ready */
        return NULL;
    return reconciler_is_synced(app->reconciler) ? NULL : "caches not synced: jobs, pods, records, nodes";
}

/* A stale watch does not make the process unready: webhooks work without watches, and with one replica nobody
 * could create jobs. Report it in the response body only. */
static char *remark(void *ctx)
{
    struct app *app = ctx;

    return app->reconciler ? reconciler_trouble(app->reconciler) : NULL;
}

static bool leader(void *ctx, struct leader_endpoint *ret)
{
    struct app *app = ctx;

    *ret = (struct leader_endpoint){.address = lease_other_address(app->lease),
                                    .key = leader_note_key(lease_other_note(app->lease))};
    return ret->address != NULL;
}

static cJSON *list(void *ctx, enum page_list which, const struct page_request *request)
{
    struct app *app = ctx;

    return app->reconciler ? listing_print(app->reconciler, which, request) : NULL;
}

/* A pod that the watches do not show yet counts as known. */
static bool report(void *ctx, const struct token_pod *pod, struct slice body, bool *ret_is_known)
{
    struct app *app = ctx;

    if (!app->board)
        return false;
    *ret_is_known = progress_board_report(app->board, pod, body) || !reconciler_is_synced(app->reconciler);
    return true;
}

static cJSON *stats(void *ctx)
{
    struct app *app = ctx;

    return app->reconciler ? usage_stats(app->reconciler) : NULL;
}

static cJSON *query(void *ctx, uint32_t size)
{
    struct app *app = ctx;

    return app->reconciler ? usage_query(app->reconciler, size) : NULL;
}

static struct what_if *what_if(void *ctx, const struct what_if_request *request)
{
    struct app *app = ctx;

    return app->reconciler && reconciler_is_synced(app->reconciler) ? what_if_begin(app->reconciler, request)
                                                                    : NULL;
}

static void count_requests(const struct app *app, struct counters *ret)
{
    const struct kube_counter *rows;
    size_t count = kube_counters(app->kube, &rows);

    counters_add(ret, rows, count);
    count = servers_counters(app->servers, &rows);
    counters_add(ret, rows, count);
}

static void metrics(void *ctx, struct str *out)
{
    struct app *app = ctx;
    AUTO(counters) struct counters requests = {0};
    AUTO(metrics_snapshot) struct metrics_snapshot snapshot = {0};
    struct metrics_view view = {.is_leader = app->reconciler != NULL,
                                .process = process_stats_read(),
                                .start_s = (double)app->start_us / 1e6};

    if (app->reconciler) {
        metrics_snapshot_take(app->reconciler, loop_unix_micros() / 1000000, &snapshot);
        view.snapshot = &snapshot;
        view.counters = reconciler_counters(app->reconciler);
        view.history = reconciler_history(app->reconciler);
    }
    if (webhooks(app)) {
        view.webhooks = webhooks_counters(webhooks(app));
        view.webhooks_certificate_end_s = webhooks_certificate_end_s(webhooks(app));
    }
    if (servers_metrics(app->servers))
        view.metrics_certificate_end_s = metrics_server_certificate_expiry_s(servers_metrics(app->servers));
    if (servers_live_page(app->servers))
        view.live_page_certificate_end_s = live_page_certificate_end_s(servers_live_page(app->servers));
    count_requests(app, &requests);
    view.requests = requests.rows;
    view.request_count = requests.count;
    view.events_dropped = events_dropped(app->events);
    view.what_ifs = pages_what_ifs(app->pages);
    metrics_print(&view, out);
}

/* ---- shutdown ---- */

static void on_drained(struct loop_timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct app, drain)->loop);
}

/* The API server keeps connections to the webhooks open; each is closed with its next response. */
static void on_lease_released(void *ctx)
{
    struct app *app = ctx;

    if (webhooks(app))
        loop_timer_start(app->loop, &app->drain, DRAIN_MS, on_drained);
    else
        loop_stop(app->loop);
}

static void on_stop_signal(void *ctx, int signum)
{
    struct app *app = ctx;

    if (app->stopping)
        return;
    app->stopping = true;
    log_info("shutting down", KVF("signal", "%d", signum));
    if (app->reconciler)
        reconciler_abort(app->reconciler);
    if (webhooks(app))
        webhooks_drain(webhooks(app));
    lease_release(app->lease, on_lease_released, app);
}

/* ---- housekeeping ---- */

static void on_tidy(struct loop_timer *timer)
{
    struct app *app = CONTAINER_OF(timer, struct app, tidy);

    mem_trim();
    loop_timer_start(app->loop, &app->tidy, TIDY_MS, on_tidy);
}

/* ---- start ---- */

static void make_key(struct app *app)
{
    unsigned char bytes[KEY_BYTES];
    AUTO(str) struct str text = {0};

    loop_random(bytes, sizeof bytes);
    (void)str_add_hex(&text, bytes, sizeof bytes);
    memcpy(app->key, str_text(&text), sizeof app->key);
}

/* "host:port" of the endpoints of this replica; NULL if --pod-address is not set. */
static char *own_address(const struct app *app)
{
    const char *address = app->options.pod_address;

    if (!address || !*address)
        return NULL;
    if (strchr(address, ':'))
        return mem_printf("[%s]:%u", address, (unsigned)pages_port(app->pages));
    return mem_printf("%s:%u", address, (unsigned)pages_port(app->pages));
}

static bool start(struct app *app, struct err *err)
{
    const struct options *o = &app->options;
    const struct client_config_options from = {
        .kubeconfig = o->kubeconfig, .context = o->context, .env = env_of};

    if (!client_config_load(&from, &app->client_config, err))
        return false;
    app->loop = loop_new();
    app->start_us = loop_unix_micros();
    make_key(app);
    app->kube =
        kube_new(app->loop, &app->client_config, &(struct kube_options){.program = "ipu-operator"}, err);
    if (!app->kube)
        return false;
    kube_set_write_gate(app->kube, may_write, app);
    app->events = events_new(
        app->kube, &(struct events_options){.controller = "graphcore.ai/ipu-operator",
                                            .instance = o->pod_name ? o->pod_name : "ipu-operator"});
    app->pages =
        pages_new(app->loop,
                  &(struct pages_options){.port = (uint16_t)o->health_port,
                                          .is_well = is_well,
                                          .is_ready = is_ready,
                                          .remark = remark,
                                          .list = list,
                                          .stats = stats,
                                          .query = query,
                                          .what_if = what_if,
                                          .leader = leader,
                                          .key = app->key,
                                          .metrics = options_metrics(o) == METRICS_PLAIN ? metrics : NULL,
                                          .progress = report,
                                          .ctx = app},
                  err);
    if (!app->pages)
        return false;
    app->address = own_address(app);
    app->lease = lease_new(app->kube, &(struct lease_options){.ns = operator_ns(app),
                                                              .name = o->lease_name,
                                                              .address = app->address,
                                                              .note = leader_note,
                                                              .on_started = on_started,
                                                              .on_lost = on_lost,
                                                              .ctx = app});
    app->servers = servers_new(app->loop,
                               &(struct servers_options){.options = o,
                                                         .ns = operator_ns(app),
                                                         .client_config = &from,
                                                         .metrics = metrics,
                                                         .pages = app->pages,
                                                         .report = report,
                                                         .leader = leader,
                                                         .largest_partition = largest_partition,
                                                         .priority_classes = &app->priority_classes,
                                                         .queue_limits = queue_limits(o),
                                                         .count_waiting = count_waiting,
                                                         .ctx = app},
                               err);
    return app->servers != NULL;
}

/* Requests to the API server by method and resource; tests/bench reads them. */
static void log_requests(const struct app *app)
{
    const struct kube_counter *rows;
    size_t count = kube_counters(app->kube, &rows);

    for (size_t i = 0; i < count; i++)
        log_info("requests", KV("method", rows[i].method), KV("resource", rows[i].resource),
                 KVF("sent", "%llu", (unsigned long long)rows[i].sent),
                 KVF("failed", "%llu", (unsigned long long)rows[i].failed));
}

static void finish(struct app *app)
{
    loop_timer_stop(&app->drain);
    loop_timer_stop(&app->tidy);
    /* Freeing a server runs the loop, and the remaining servers still answer with data of the rest: free that
     * later. */
    servers_stop_metrics(app->servers); /* it answers with the pages, too, and they report on the webhooks */
    pages_free(app->pages);
    servers_free(app->servers);
    controller_objects_free(app->controller_objects);
    progress_board_free(app->board);
    history_object_free(app->history);
    reconciler_free(app->reconciler);
    if (app->lease)
        lease_free(app->lease);
    if (app->events)
        events_free(app->events);
    if (app->kube)
        kube_free(app->kube);
    if (app->loop)
        loop_free(app->loop);
    client_config_release(&app->client_config);
    strv_release(&app->pull_secrets);
    strv_release(&app->priority_classes);
    mem_free(app->address);
    options_release(&app->options);
}

static int run(struct app *app)
{
    struct err err = {0};

    if (!start(app, &err)) {
        log_error(err.msg);
        return EXIT_BAD_USAGE;
    }
    loop_on_signal(app->loop, SIGTERM, on_stop_signal, app);
    loop_on_signal(app->loop, SIGINT, on_stop_signal, app);
    log_info("ipu-operator " IPU_OPERATOR_VERSION, KV("api_server", app->client_config.server),
             KV("identity", app->client_config.origin), KV("namespace", operator_ns(app)),
             KVF("vipu_controllers", "%zu", app->options.controllers.count),
             KVF("health_port", "%u", (unsigned)pages_port(app->pages)));
    on_tidy(&app->tidy);
    loop_run(app->loop);
    log_requests(app);
    /* After the lease is lost, exit immediately. A clean shutdown runs the loop for some more turns, and only
     * the end of the process guarantees that nothing is sent in them. */
    if (app->exit_code == EXIT_LOST_LEASE)
        _Exit(EXIT_LOST_LEASE);
    return app->exit_code;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv, const char *(*env)(const char *));
} SUBCOMMANDS[] = {
    {"adopt", adopt_main},
    {"apply-crd", apply_crd_main},
    {"before-uninstall", before_uninstall_main},
    {"create-vipu-keys", create_vipu_keys_main},
    {"partitions", partitions_main},
    {"release", release_main},
    {"self-check", self_check_main},
};

static int print_help(void)
{
    AUTO(str) struct str text = {0};

    opts_help(&OPTIONS_SPEC, &text);
    return fputs(str_text(&text), stdout) < 0 ? EXIT_BAD_USAGE : EXIT_OK;
}

static bool print_completion(int argc, char **argv)
{
    AUTO(str) struct str text = {0};
    struct opts_command commands[COUNT_OF(SUBCOMMANDS) + 1] = {0};

    for (size_t i = 0; i < COUNT_OF(SUBCOMMANDS); i++)
        commands[i] = (struct opts_command){SUBCOMMANDS[i].name, ""};
    return opts_completion_answer(&OPTIONS_SPEC, commands, argc, argv, &text) &&
           fputs(str_text(&text), stdout) >= 0;
}

static int print_problems(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "ipu-operator: %s\n", problems->items[i]);
    return EXIT_BAD_USAGE;
}

/* Some nodes start containers with a soft limit below the number of connections that the ports allow. */
static void allow_connections(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
    struct app app = {0};
    AUTO(strv) struct strv problems = {0};
    enum log_level level = LOG_INFO;
    int code = EXIT_BAD_USAGE;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)setrlimit(RLIMIT_CORE, &(const struct rlimit){0}); /* keys in memory are to stay there */
    allow_connections();
    for (size_t i = 0; argc > 1 && i < COUNT_OF(SUBCOMMANDS); i++) {
        if (str_eq(argv[1], SUBCOMMANDS[i].name))
            return SUBCOMMANDS[i].run(argc - 1, argv + 1, env_of);
        /* "ipu-operator __complete partitions WORD...": its options are its own. */
        if (argc > 3 && str_eq(argv[1], "__complete") && str_eq(argv[2], SUBCOMMANDS[i].name)) {
            argv[2] = argv[1];
            return SUBCOMMANDS[i].run(argc - 1, argv + 1, env_of);
        }
    }
    if (print_completion(argc, argv))
        return EXIT_OK;
    switch (options_read(argc, argv, env_of, &app.options, &problems)) {
    case OPTS_HELP:
        code = print_help();
        break;
    case OPTS_VERSION:
        code = puts("ipu-operator " IPU_OPERATOR_VERSION) < 0 ? EXIT_BAD_USAGE : EXIT_OK;
        break;
    case OPTS_BAD:
        code = print_problems(&problems);
        break;
    case OPTS_RUN:
        log_parse_level(app.options.log_level, &level);
        log_setup(level, str_eq(app.options.log_format, "json"));
        strv_split(app.options.pull_secrets, ',', &app.pull_secrets);
        strv_split(app.options.priority_classes, ',', &app.priority_classes);
        code = run(&app);
        break;
    }
    finish(&app);
    return code;
}
