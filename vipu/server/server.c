#include "vipu/server/server.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "vipu/server/api/admin.h"
#include "vipu/server/api/faults_admin.h"
#include "vipu/server/api/methods.h"
#include "vipu/server/calls/metrics.h"
#include "vipu/server/config/faults_doc.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/reconfigure.h"
#include "vipu/server/storage/store.h"
#include "vipu/wire/grpc/grpc_server.h"
#include "vipu/wire/transport/tls_context.h"

#define TIDY_MS 2000
#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)
#define EXPIRY_WARNING_DAYS 14
#define STOP_S 10
#define OTHER_DESCRIPTORS 320u /* storage, signals, and the connections of the admin endpoint */

struct server {
    const struct setup_source *source;
    struct server_config config;    /* without the clusters */
    struct vipu_clusters *clusters; /* their address is stable: the controller points there */
    struct tls_context *tls;        /* until the gRPC server takes it over */
    struct loop *loop;
    struct controller controller;
    struct store *store;
    struct metrics metrics;
    struct methods *methods;
    struct grpc_server *grpc;
    struct admin *admin; /* NULL when it is off */
    struct faults_admin faults;
    struct setup *next; /* of a reload that waits for a transaction; NULL: none */
    struct loop_timer tidy;
    int64_t next_expiry_check_ms;
    bool is_ending;
};

/* A handler of its own, as process 1 has no default ones. */
static void on_stop_limit(int signum)
{
    (void)signum;
    _exit(EXIT_FAILURE);
}

/* Whatever the disk does: what has a response is saved, as after a kill. */
static void on_end(void *ctx, int signum)
{
    struct server *server = ctx;

    log_info("shutting down", KV("signal", signum == SIGTERM ? "SIGTERM" : "SIGINT"));
    if (methods_is_busy(server->methods))
        log_warn("the storage is being written; its changes are lost if that takes too long",
                 KVF("limit_s", "%d", STOP_S));
    (void)signal(SIGALRM, on_stop_limit);
    (void)alarm(STOP_S);
    loop_stop(server->loop);
}

static void on_healthz(void *ctx, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    (void)ctx;
    (void)view;
    http_server_replyf(request, 200, "ok\n");
}

static void on_metrics(void *ctx, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    struct server *server = ctx;
    AUTO(str) struct str text = {0};

    (void)view;
    metrics_put(&server->metrics, &server->controller, &text);
    http_server_reply(request, 200, OPENMETRICS_CONTENT_TYPE, str_slice(&text));
}

static bool start_admin(struct server *server, struct err *err)
{
    if (!server->config.admin_listen)
        return true;
    server->admin = admin_new();
    admin_add(server->admin, &(struct http_server_route){.path = "/healthz", .fn = on_healthz});
    admin_add(server->admin,
              &(struct http_server_route){.path = "/metrics", .fn = on_metrics, .ctx = server});
    admin_add(server->admin, &(struct http_server_route){.path = "/faults",
                                                         .methods = "GET, HEAD, PUT",
                                                         .fn = faults_admin_answer,
                                                         .gone = faults_admin_gone,
                                                         .ctx = &server->faults,
                                                         .max_body = FAULTS_MAX_BYTES});
    if (!admin_listen(server->admin, server->loop, server->config.admin_listen, err))
        return false;
    log_info("serving the admin endpoint", KV("listen", server->config.admin_listen),
             KVF("port", "%u", admin_port(server->admin)));
    return true;
}

/* Not leaving the machine, where only root can read it. */
static bool is_loopback(const char *listen)
{
    return str_has_prefix(listen, "127.") || str_has_prefix(listen, "[::1]:") ||
           str_has_prefix(listen, "localhost:");
}

static void warn_of_cleartext(const struct server_config *config)
{
    if (config->secure && !config->tls_certificate && !is_loopback(config->listen))
        log_warn("access keys are sent unencrypted; configure tls");
}

/* At the start, after each reload, and once a day. */
static void warn_of_expiry(struct server *server)
{
    int64_t left_s = server->metrics.certificate_expiry_s - loop_unix_micros() / 1000000;
    AUTO(str) struct str left = {0};

    server->next_expiry_check_ms = loop_now_ms(server->loop) + DAY_MS;
    if (!server->metrics.certificate_expiry_s || left_s > EXPIRY_WARNING_DAYS * DAY_MS / 1000)
        return;
    str_add_count(&left, left_s > 0 ? (size_t)(left_s * 1000 / DAY_MS) : 0, "day", NULL);
    log_warn(left_s > 0 ? "the TLS certificate expires soon; renew it and send SIGHUP"
                        : "the TLS certificate has expired; renew it and send SIGHUP",
             KV("certificate", server->config.tls_certificate), KV("left", str_text(&left)));
}

/* Connections beyond the limit of descriptors would wait in the backlog unseen. */
static void allow_connections(uint32_t count)
{
    const rlim_t want = (rlim_t)count + OTHER_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want)
        return;
    limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < want)
        log_warn("the limit of open files is too low for limits.connections",
                 KVF("allowed", "%llu", (unsigned long long)limit.rlim_cur),
                 KVF("needed", "%llu", (unsigned long long)want));
}

static void on_idle(void *ctx);

static bool start_service(struct server *server, struct err *err)
{
    const struct server_limits *limits = &server->config.limits;
    const struct grpc_server_options options = {
        .kind_of = methods_kind,
        .max_request = limits->request_bytes,
        .max_connections = limits->connections,
        .max_calls = limits->calls,
        .max_unsent = limits->unread_bytes,
        .max_memory = limits->buffered_bytes,
        .stall_ms = limits->stall_ms,
    };

    allow_connections(limits->connections);
    server->methods =
        methods_new(server->loop, &server->config, &server->controller, server->store, &server->metrics);
    server->grpc = grpc_server_new(server->loop, &options, methods_answer, server->methods);
    methods_set_server(server->methods, server->grpc);
    server->metrics.certificate_expiry_s = tls_context_expiry_s(server->tls);
    if (server->tls)
        grpc_server_set_tls_take(server->grpc, TAKE(server->tls));
    server->faults = (struct faults_admin){.loop = server->loop,
                                           .controller = &server->controller,
                                           .methods = server->methods,
                                           .grpc = server->grpc};
    methods_on_idle(server->methods, on_idle, server);
    faults_admin_set_take(&server->faults, &server->config.faults);
    if (!grpc_server_listen(server->grpc, server->config.listen, err))
        return false;
    log_info("serving the V-IPU user API", KV("listen", server->config.listen),
             KVF("port", "%u", grpc_server_port(server->grpc)),
             KV("transport", server->config.tls_certificate ? "TLS" : "cleartext"),
             KV("users", server->config.secure ? "secure mode" : "all"),
             KVF("partitions", "%zu", server->controller.count));
    warn_of_cleartext(&server->config);
    warn_of_expiry(server);
    return true;
}

/* Memory that a flood of calls has taken is not kept. A certificate expires while nothing else happens. */
static void on_tidy(struct loop_timer *timer)
{
    struct server *server = CONTAINER_OF(timer, struct server, tidy);

    mem_trim();
    if (loop_now_ms(server->loop) >= server->next_expiry_check_ms)
        warn_of_expiry(server);
    loop_timer_start(server->loop, &server->tidy, TIDY_MS, on_tidy);
}

static bool start(struct server *server, struct err *err)
{
    server->store = store_open(server->config.storage, err);
    if (!server->store || !store_load(server->store, &server->controller, loop_now_ms(server->loop), err))
        return false;
    return start_admin(server, err) && start_service(server, err);
}

/* The struct is emptied; the caller owns the result. */
static struct vipu_clusters *clusters_take(struct vipu_clusters *clusters)
{
    struct vipu_clusters *taken = mem_dup(clusters, sizeof(*clusters));

    *clusters = (struct vipu_clusters){0};
    return taken;
}

static void clusters_free(struct vipu_clusters *clusters)
{
    vipu_clusters_release(clusters);
    mem_free(clusters);
}

static void change_clusters(struct server *server, struct server_config *config)
{
    AUTO(strv) struct strv reasons = {0};
    struct vipu_clusters *next = clusters_take(&config->clusters), *last = server->clusters;

    if (controller_reconfigure(&server->controller, next, loop_now_ms(server->loop), &reasons)) {
        server->clusters = next;
        clusters_free(last);
        return;
    }
    for (size_t i = 0; i < reasons.count; i++)
        log_warn("keeping the current clusters and allocations", KV("cause", reasons.items[i]));
    clusters_free(next);
}

/* The limits that depend on open sockets and files. */
static void keep_fixed(const struct server *server, struct server_config *config)
{
    AUTO(strv) struct strv changed = {0};

    server_config_keep_fixed(config, &server->config, &changed);
    for (size_t i = 0; i < changed.count; i++)
        log_warn("setting takes effect after a restart", KV("setting", changed.items[i]));
}

static void take_setup(struct server *server, struct setup *setup)
{
    keep_fixed(server, &setup->config);
    change_clusters(server, &setup->config);
    server->metrics.certificate_expiry_s = tls_context_expiry_s(setup->tls);
    grpc_server_set_tls_take(server->grpc, TAKE(setup->tls));
    server_config_release(&server->config);
    server->config = setup->config;
    setup->config = (struct server_config){0};
    methods_users_changed(server->methods);
    server->controller.times = server->config.times;
    server->controller.max_auto_reset_retries = server->config.max_auto_reset_retries;
    faults_admin_set_take(&server->faults, &server->config.faults);
    warn_of_cleartext(&server->config);
    warn_of_expiry(server);
}

static void setup_free(struct setup *setup)
{
    if (setup)
        setup_release(setup);
    mem_free(setup);
}

static void on_idle(void *ctx)
{
    struct server *server = ctx;
    struct setup *setup = TAKE(server->next);

    if (setup) {
        take_setup(server, setup);
        server->metrics.reloads++;
        log_info("configuration reloaded");
    }
    setup_free(setup);
    faults_admin_on_idle(&server->faults);
}

static void on_reload(void *ctx, int signum)
{
    AUTO(strv) struct strv problems = {0};
    struct server *server = ctx;
    struct setup setup;

    (void)signum;
    if (server->is_ending)
        return;
    if (setup_read(server->source, &setup, &problems)) {
        setup_free(server->next);
        server->next = mem_dup(&setup, sizeof(setup));
        if (methods_is_busy(server->methods))
            log_info("the storage is being written; the configuration is reloaded after that");
        methods_settle(server->methods);
        return;
    }
    for (size_t i = 0; i < problems.count; i++)
        log_error("invalid configuration", KV("cause", problems.items[i]));
    server->metrics.rejected_reloads++;
    log_error("configuration rejected, keeping the current one", KVF("mistakes", "%zu", problems.count));
}

void server_stop(struct server *server)
{
    if (!server)
        return;
    server->is_ending = true;
    loop_timer_stop(&server->tidy);
    setup_free(TAKE(server->next));
    admin_free(server->admin); /* runs the loop once more, so everything else still exists */
    /* Calls that wait for a transaction get their response first: their change is saved, or they learn that
     * it is lost. */
    methods_free(server->methods);
    grpc_server_free(server->grpc);
    controller_release(&server->controller);
    store_close(server->store);
    tls_context_free(server->tls);
    clusters_free(server->clusters);
    server_config_release(&server->config);
    mem_free(server);
}

struct server *server_start(struct loop *loop, const struct setup_source *source, struct setup *setup_take,
                            struct err *err)
{
    struct server *server = NEW(struct server);

    *server =
        (struct server){.source = source, .config = setup_take->config, .tls = setup_take->tls, .loop = loop};
    *setup_take = (struct setup){0};
    server->clusters = clusters_take(&server->config.clusters);
    controller_init(&server->controller, server->clusters, server->config.times,
                    server->config.max_auto_reset_retries);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its largest size is a full disk, not the end */
    loop_timer_start(loop, &server->tidy, TIDY_MS, on_tidy);
    if (start(server, err))
        return server;
    server_stop(server);
    return NULL;
}

uint16_t server_port(const struct server *server)
{
    return (uint16_t)grpc_server_port(server->grpc);
}

bool server_run(const struct setup_source *source, struct setup *setup_take)
{
    struct loop *loop = loop_new();
    struct err err;
    struct server *server = server_start(loop, source, setup_take, &err);

    if (server) {
        loop_on_signal(loop, SIGTERM, on_end, server);
        loop_on_signal(loop, SIGINT, on_end, server);
        loop_on_signal(loop, SIGHUP, on_reload, server);
        loop_run(loop);
        server_stop(server);
    } else {
        log_error("cannot start", KV("cause", err.msg));
    }
    loop_free(loop);
    return server != NULL;
}

bool server_init_storage(const struct setup *setup)
{
    struct err err;
    struct store *store = store_open(setup->config.storage, &err);

    if (store)
        log_info("storage is ready", KV("storage", setup->config.storage));
    else
        log_error("cannot create the storage", KV("cause", err.msg));
    store_close(store);
    return store != NULL;
}

bool server_check_storage(const struct setup *setup, size_t *ret_partitions, struct strv *problems)
{
    struct controller controller;
    bool ok;

    controller_init(&controller, &setup->config.clusters, setup->config.times, 0);
    ok = store_check(setup->config.storage, &controller, problems);
    *ret_partitions = controller.count;
    controller_release(&controller);
    return ok;
}
