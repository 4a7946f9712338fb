/* vipu-server: a V-IPU controller for simulated IPUs. Options and configuration only; server.h has the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/options/opts.h"
#include "base/options/opts_completion.h"
#include "base/options/opts_man.h"
#include "base/io/log.h"
#include "vipu/server/config/access_keys.h"
#include "vipu/server/config/config.h"
#include "vipu/server/config/setup.h"
#include "vipu/server/server.h"
#include "vipu/server/storage/store_repair.h"

#define EXIT_USAGE 2

struct options {
    char *config;
    char *check;
    char *listen;
    char *storage;
    bool secure;
    bool storage_init;
    bool check_storage;
    bool repair_storage;
    bool hash_key;
    int log_level;
    bool log_json;
};

static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

static const struct opt rows[] = {
    OPT_VALUE("config", OPT_STR, offsetof(struct options, config), "FILE",
              "configuration file in YAML (default: cluster cl1 with one torus domain of 64 IPUs, agents ag1 "
              "to ag16)",
              .env = "VIPU_SERVER_CONFIG"),
    OPT_VALUE("check", OPT_STR, offsetof(struct options, check), "FILE",
              "check the configuration FILE, report every mistake with its line, and exit"),
    OPT_VALUE("listen", OPT_STR, offsetof(struct options, listen), "[ADDRESS]:PORT",
              "address of the user API; overrides \"listen\" of the configuration (default :8090, without a "
              "configuration 127.0.0.1:8090)",
              .env = "VIPU_SERVER_LISTEN"),
    OPT_VALUE("storage", OPT_STR, offsetof(struct options, storage), "FILE",
              "SQLite file that stores the partitions; overrides \"storage\" of the configuration (default "
              "vipu-server.db)",
              .env = "VIPU_SERVER_STORAGE"),
    OPT_SWITCH("secure", offsetof(struct options, secure),
               "enable secure mode, same as \"secure: true\" in the configuration"),
    OPT_SWITCH("storage-init", offsetof(struct options, storage_init),
               "create the storage file if it does not exist, and exit"),
    OPT_SWITCH("check-storage", offsetof(struct options, check_storage),
               "check the storage file of a stopped server, report all damage, and exit"),
    OPT_SWITCH("repair-storage", offsetof(struct options, repair_storage),
               "replace a damaged storage file by one with the partitions that can be read, keep the old one "
               "as FILE.damaged, and exit"),
    OPT_SWITCH("hash-key", offsetof(struct options, hash_key),
               "read an access key from standard input, print its hash for the configuration file, and exit"),
    OPT_VALUE("log-level", OPT_CHOICE, offsetof(struct options, log_level), "LEVEL",
              "minimum level of log messages", .fallback = "info", .choices = levels),
    OPT_SWITCH("log-json", offsetof(struct options, log_json), "log lines as JSON objects"),
    {0},
};

static const struct opts_spec spec = {
    .program = "vipu-server",
    .usage = "vipu-server [--config FILE] [--listen [ADDRESS]:PORT] [--storage FILE] [--secure]\n"
             "       vipu-server --check FILE\n       vipu-server {--check-storage | --repair-storage} "
             "[--config FILE] [--storage FILE]\n"
             "       vipu-server --hash-key < KEY-FILE",
    .about = "A V-IPU controller over simulated IPUs: serves the public V-IPU user API (gRPC). SIGTERM stops "
             "it, SIGHUP reloads the configuration. Partitions are kept in the storage file across restarts.",
    .rows = rows,
};

static void report(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "%s\n", problems->items[i]);
}

/* Reads no further than the first line, and leaves no copy of the key in memory: neither here nor in stdio.
 */
static int hash_key(void)
{
    char line[ACCESS_KEY_MAX_BYTES + 2] = "";
    AUTO(str) struct str hash = {0};
    struct err err = {0};
    bool ok;

    (void)setvbuf(stdin, NULL, _IONBF, 0);
    if (fgets(line, sizeof(line), stdin))
        line[strcspn(line, "\r\n")] = '\0';
    ok = access_key_hash(line, &hash, &err);
    explicit_bzero(line, sizeof(line));
    if (ok)
        (void)puts(str_text(&hash));
    else
        (void)fprintf(stderr, "%s\n", err.msg);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool check_storage(const struct setup *setup)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str counted = {0};
    size_t partitions = 0;
    bool ok = server_check_storage(setup, &partitions, &problems);

    for (size_t i = 0; i < problems.count; i++)
        (void)fprintf(stderr, "%s: %s\n", setup->config.storage, problems.items[i]);
    str_add_count(&counted, partitions, "partition", NULL);
    if (ok)
        (void)printf("%s: storage is valid, %s\n", setup->config.storage, str_text(&counted));
    return ok;
}

static bool repair_storage(const char *path)
{
    AUTO(str) struct str counted = {0};
    size_t partitions = 0;
    struct err err;

    if (!store_repair(path, &partitions, &err)) {
        (void)fprintf(stderr, "%s: %s\n", path, err.msg);
        return false;
    }
    str_add_count(&counted, partitions, "partition", NULL);
    (void)printf("%s: repaired, %s; the damaged file is %s.damaged\n", path, str_text(&counted), path);
    return true;
}

static int start(const struct options *options)
{
    AUTO(strv) struct strv problems = {0};
    struct setup_source source = {
        .path = options->check ? options->check : options->config,
        .listen = options->listen,
        .storage = options->storage,
        .secure = options->secure,
    };
    struct setup setup;
    bool ok = true;

    if (!setup_read(&source, &setup, &problems)) {
        report(&problems);
        return EXIT_FAILURE;
    }
    if (options->check)
        (void)printf("%s: configuration is valid\n", options->check);
    else if (options->storage_init)
        ok = server_init_storage(&setup);
    else if (options->check_storage)
        ok = check_storage(&setup);
    else if (options->repair_storage)
        ok = repair_storage(setup.config.storage);
    else
        ok = server_run(&source, &setup);
    setup_release(&setup);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void print_manual(void)
{
    AUTO(str) struct str settings = {0}, closing = {0}, page = {0};
    struct opts_man man = {.summary = "a V-IPU controller over simulated IPUs",
                           .version = "ipu-operator " IPU_OPERATOR_VERSION};

    server_config_help(&settings);
    roff_section("CONFIGURATION FILE", &closing);
    str_adds(&closing, "In YAML; only clusters is required.\n.nf\n");
    roff_text(str_text(&settings), &closing);
    str_adds(&closing, ".fi\n");
    man.closing = str_text(&closing);
    opts_man(&spec, &man, &page);
    (void)fputs(str_text(&page), stdout);
}

/* --hash-key, --help and the like are useless without standard output. */
static bool is_printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    (void)fputs("vipu-server: cannot write the output\n", stderr);
    return false;
}

static const char *environment(const char *name)
{
    return getenv(name);
}

int main(int argc, char **argv)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str help = {0};
    struct options options = {0};
    int status = EXIT_SUCCESS;

    /* Hidden: for the build only. */
    if (argc > 1 && str_eq(argv[1], "__man")) {
        print_manual();
        return is_printed() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (opts_completion_answer(&spec, NULL, argc, argv, &help)) {
        (void)fputs(str_text(&help), stdout);
        return is_printed() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    switch (opts_parse(&spec, argc, argv, environment, false, &options, NULL, &problems)) {
    case OPTS_RUN:
        log_setup((enum log_level)options.log_level, options.log_json);
        status = options.hash_key ? hash_key() : start(&options);
        break;
    case OPTS_HELP:
        opts_help(&spec, &help);
        str_adds(&help, "\nSettings of the configuration file (YAML); only clusters is required:\n");
        server_config_help(&help);
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
    return is_printed() ? status : EXIT_FAILURE;
}
