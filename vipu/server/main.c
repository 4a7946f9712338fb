/* vipu-server: a V-IPU controller over simulated IPUs. Wiring only: options, configuration, storage, service,
 * signals. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/opts.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "vipu/server/config.h"
#include "vipu/server/controller.h"
#include "vipu/server/methods.h"
#include "vipu/server/store.h"
#include "vipu/wire/service.h"

#define EXIT_USAGE 2

struct options {
    char *config;
    char *check;
    char *listen;
    char *storage;
    int log_level;
    bool log_json;
};

static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

static const struct opt rows[] = {
    {.flag = "config",
     .env = "VIPU_SERVER_CONFIG",
     .type = OPT_STR,
     .offset = offsetof(struct options, config),
     .arg = "FILE",
     .help = "configuration in YAML; without it: cluster cl1 with one torus domain of 64 IPUs (agents ag1 to "
             "ag16)"},
    {.flag = "check",
     .type = OPT_STR,
     .offset = offsetof(struct options, check),
     .arg = "FILE",
     .help = "read the configuration FILE, report every mistake with its line, and end"},
    {.flag = "listen",
     .env = "VIPU_SERVER_LISTEN",
     .type = OPT_STR,
     .offset = offsetof(struct options, listen),
     .arg = "[ADDRESS]:PORT",
     .help = "where to serve the user API, instead of the configuration's \"listen\" (default :8090)"},
    {.flag = "storage",
     .env = "VIPU_SERVER_STORAGE",
     .type = OPT_STR,
     .offset = offsetof(struct options, storage),
     .arg = "FILE",
     .help =
         "SQLite file that keeps the partitions, instead of the configuration's (default vipu-server.db)"},
    {.flag = "log-level",
     .type = OPT_CHOICE,
     .offset = offsetof(struct options, log_level),
     .fallback = "info",
     .arg = "LEVEL",
     .help = "least level that is logged",
     .choices = levels},
    {.flag = "log-json",
     .type = OPT_FLAG,
     .offset = offsetof(struct options, log_json),
     .help = "log lines as JSON objects"},
    {0},
};

static const struct opts_spec spec = {
    .program = "vipu-server",
    .usage =
        "vipu-server [--config FILE] [--listen [ADDRESS]:PORT] [--storage FILE]\nvipu-server --check FILE",
    .about = "A V-IPU controller over simulated IPUs: serves the public V-IPU user API (gRPC, cleartext). "
             "SIGTERM ends it; "
             "its partitions are there again when it is started with the same storage.",
    .rows = rows,
    .footer = "Configuration file (all settings but clusters may be left out):\n"
              "  listen: \":8090\"\n"
              "  storage: /var/lib/vipu-server/vipu-server.db\n"
              "  create-ms: 200            # how long operations take\n"
              "  remove-ms: 100\n"
              "  reset-ms: 150\n"
              "  auto-reset-retries: 3\n"
              "  clusters:\n"
              "    - id: cl1\n"
              "      topology: torus       # or mesh: the IPU-Links of a domain\n"
              "      cluster-topology: unlooped  # or looped: the links between domains\n"
              "      ipulink-domains: 1\n"
              "      agents: 16            # a number, or a list of names; 4 IPUs each, up to 16 a domain\n"
              "      ipuof-address: 10.1.5.10  # of the first machine; the others count up\n"
              "      allocations:          # besides the one that has the cluster's name and all agents\n"
              "        - id: half\n"
              "          agents: [ag1, ag2, ag3, ag4, ag5, ag6, ag7, ag8]\n",
};

struct program {
    struct loop *loop;
    bool failed;
};

static void on_signal(void *ctx, int signum)
{
    struct program *program = ctx;

    log_info("ending", KV("signal", signum == SIGTERM ? "SIGTERM" : "SIGINT"));
    loop_stop(program->loop);
}

static void on_storage_failure(void *ctx, const struct err *err)
{
    struct program *program = ctx;

    log_error("a change could not be stored, ending", KV("cause", err->msg));
    program->failed = true;
    loop_stop(program->loop);
}

static void report(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "%s\n", problems->items[i]);
}

static bool read_config(const char *path, struct server_config *ret, struct strv *problems)
{
    AUTO(str) struct str text = {0};
    struct err err;

    if (!path) {
        *ret = server_config_default();
        return true;
    }
    if (!file_read(path, CONFIG_MAX_BYTES, &text, &err)) {
        strv_push(problems, err.msg);
        return false;
    }
    return server_config_parse(str_slice(&text), path, ret, problems);
}

static bool serve(struct program *program, const struct server_config *config, struct controller *controller,
                  struct store *store, struct err *err)
{
    struct methods *methods =
        methods_new(program->loop, config, controller, store, on_storage_failure, program);
    struct service *service =
        service_new(program->loop, &(struct service_options){0}, methods_answer, methods);
    bool listening = service_listen(service, config->listen, err);

    if (listening) {
        log_info("serving the V-IPU user API", KV("listen", config->listen),
                 KVF("port", "%u", service_port(service)), KVF("partitions", "%zu", controller->count));
        loop_run(program->loop);
    }
    /* Calls that wait for a transaction are answered first: what they changed is lost or saved, and they were
     * told. */
    methods_free(methods);
    service_free(service);
    return listening;
}

static bool run(const struct server_config *config)
{
    struct program program = {.loop = loop_new()};
    struct controller controller;
    struct store *store;
    struct err err = {0};
    bool ok;

    controller_init(&controller, &config->clusters, config->times, config->max_auto_reset_retries);
    store = store_open(config->storage, &err);
    ok = store && store_load(store, &controller, loop_now_ms(program.loop), &err);
    loop_on_signal(program.loop, SIGTERM, on_signal, &program);
    loop_on_signal(program.loop, SIGINT, on_signal, &program);
    ok = ok && serve(&program, config, &controller, store, &err);
    if (!ok)
        log_error("vipu-server cannot start", KV("cause", err.msg));
    controller_release(&controller);
    store_close(store);
    loop_free(program.loop);
    return ok && !program.failed;
}

static int start(const struct options *options)
{
    AUTO(strv) struct strv problems = {0};
    struct server_config config;
    bool ok;

    if (!read_config(options->check ? options->check : options->config, &config, &problems)) {
        report(&problems);
        return EXIT_FAILURE;
    }
    if (options->listen)
        mem_set_str(&config.listen, options->listen);
    if (options->storage)
        mem_set_str(&config.storage, options->storage);
    if (options->check)
        (void)printf("%s: no mistakes\n", options->check);
    ok = options->check || run(&config);
    server_config_release(&config);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const char *environment(const char *name)
{
    return getenv(name);
}

int main(int argc, char **argv)
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str help = {0};
    struct options options = {0};
    int status = EXIT_SUCCESS;

    switch (opts_parse(&spec, argc, argv, environment, false, &options, &words, &problems)) {
    case OPTS_RUN:
        log_setup((enum log_level)options.log_level, options.log_json);
        status = start(&options);
        break;
    case OPTS_HELP:
        opts_help(&spec, &help);
        (void)fputs(str_text(&help), stdout);
        break;
    case OPTS_VERSION:
        (void)puts("vipu-server " IPU_OPERATOR_VERSION);
        break;
    case OPTS_BAD:
        report(&problems);
        status = EXIT_USAGE;
        break;
    }
    opts_release(&spec, &options);
    return status;
}
