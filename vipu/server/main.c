/* vipu-server: a V-IPU controller over simulated IPUs. Options and configuration only; server.h has
 * the rest. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/opts.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "vipu/server/config.h"
#include "vipu/server/server.h"

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
              "  admin-listen: 127.0.0.1:2112  # /healthz; off unless given\n"
              "  storage: /var/lib/vipu-server/vipu-server.db\n"
              "  create-ms: 200            # how long operations take\n"
              "  remove-ms: 100\n"
              "  reset-ms: 150\n"
              "  auto-reset-retries: 3\n"
              "  clusters:\n"
              "    - id: cl1\n"
              "      topology: torus       # or mesh: the IPU-Links of a domain\n"
              "      cluster-topology: unlooped  # or looped, switched: the links between domains\n"
              "      ipulink-domains: 1\n"
              "      agents: 16            # a number, or a list of names; 4 IPUs each, up to 16 a domain\n"
              "      ipuof-address: 10.1.5.10  # of the first machine; the others count up\n"
              "      allocations:          # besides the one that has the cluster's name and all agents\n"
              "        - id: half\n"
              "          agents: [ag1, ag2, ag3, ag4, ag5, ag6, ag7, ag8]\n",
};

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
    ok = options->check || server_run(&config);
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
