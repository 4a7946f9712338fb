#include "vipu/cli/args/options.h"

#include "base/core/mem.h"
#include "base/text/suggest.h"
#include "vipu/cli/args/hcl.h"

#define AT(field) offsetof(struct options, field)
#define MAX_COUNT 65536u

static const char *const routings[] = {"dnc", "swnc", "btnc", "ringswnc", NULL};
static const char *const gateway_routings[] = {"default", "ring", "swring", NULL};
static const char *const sync_types[] = {"c2-compatible", "pod-native-default",
                                         "pod-native-replicated-pipeline", NULL};
static const char *const outputs[] = {"table", "json", NULL};
static const char *const layouts[] = {"allocation", "cluster", "partition", NULL};

static const struct opt rows[] = {
    OPT_VALUE("api-host", OPT_STR, AT(api_host), "HOST", "host of the V-IPU controller", .letter = 'H',
              .env = "VIPU_CLI_API_HOST", .fallback = "localhost"),
    OPT_VALUE("api-port", OPT_U32, AT(api_port), "PORT", "its port", .letter = 'P',
              .env = "VIPU_CLI_API_PORT", .fallback = "8090", .min = 1, .max = 65535),
    OPT_VALUE("api-timeout", OPT_U32, AT(api_timeout_s), "SECONDS",
              "timeout of a request, including the operation that it starts", .env = "VIPU_CLI_API_TIMEOUT",
              .fallback = "120", .min = 1, .max = 86400),
    OPT_VALUE("api-user-id", OPT_STR, AT(api_user_id), "USER", "user ID, for a controller in secure mode",
              .env = "VIPU_CLI_API_USER_ID"),
    OPT_VALUE(
        "api-access-key", OPT_STR, AT(api_access_key), "KEY",
        "access key of the user; set it in the file or the environment to keep it out of the process list",
        .env = "VIPU_CLI_API_ACCESS_KEY"),
    OPT_SWITCH("api-tls", AT(api_tls), "use TLS", .env = "VIPU_CLI_API_TLS"),
    OPT_VALUE("api-ca-cert", OPT_STR, AT(api_ca_cert), "FILE",
              "PEM file with CA certificates (default: the system's); implies --api-tls",
              .env = "VIPU_CLI_API_CA_CERT"),
    OPT_VALUE(
        "api-client-cert", OPT_STR, AT(api_client_cert), "FILE",
        "PEM file with a client certificate, for a controller that accepts it in place of an access key; "
        "implies --api-tls",
        .env = "VIPU_CLI_API_CLIENT_CERT"),
    OPT_VALUE("api-client-key", OPT_STR, AT(api_client_key), "FILE",
              "PEM file with its private key (default: the file of the certificate)",
              .env = "VIPU_CLI_API_CLIENT_KEY"),
    OPT_VALUE("config", OPT_STR, AT(config), "FILE", "configuration file instead of " OPTIONS_DEFAULT_FILE,
              .env = "VIPU_CLI_CONFIG"),
    OPT_SWITCH("server-version", AT(server_version),
               "print the controller's version and address, in two lines"),
    OPT_VALUE("output", OPT_CHOICE, AT(output), "FORMAT",
              "format of the output and, on standard error, of errors", .letter = 'o', .fallback = "table",
              .choices = outputs),
    OPT_SWITCH("showjson", AT(showjson), "the same as --output json"),
    OPT_VALUE("table-layout", OPT_CHOICE, AT(table_layout), "LAYOUT",
              "list partitions: columns of the current version (Cluster, Allocation, Partition, ...), "
              "without the allocation (Cluster, Partition, ...), or of the first versions (Partition, "
              "Cluster, ...), for scripts that cut columns",
              .env = "VIPU_CLI_TABLE_LAYOUT", .fallback = "allocation", .choices = layouts),
    OPT_SWITCH("admin", AT(admin), "accepted for old vipu-cli scripts, no effect", .letter = 'a'),

    OPT_VALUE("size", OPT_U32, AT(size), "N", "create: number of IPUs, a power of two", .max = MAX_COUNT),
    OPT_SWITCH("reconfigurable", AT(reconfigurable), "create: programs may form devices of any power of two"),
    OPT_VALUE("num-gcds", OPT_U32, AT(num_gcds), "N",
              "create: graph compilation domains, one per program instance (default 1); --gcds is the same",
              .max = MAX_COUNT),
    OPT_VALUE("gcds", OPT_U32, AT(num_gcds), "N", NULL, .max = MAX_COUNT), /* older spelling */
    OPT_VALUE("gcd-sync-replicas", OPT_U32, AT(gcd_sync_replicas), "N",
              "create: replicas over all GCDs (default: one per GCD)", .max = MAX_COUNT),
    OPT_VALUE("num-ilds", OPT_U32, AT(num_ilds), "N",
              "create: IPU-Link domains to spread over (default: as few as the size allows)",
              .max = MAX_COUNT),
    OPT_VALUE("routing", OPT_STR, AT(routing), "dnc|swnc|btnc|ringswnc",
              "create: IPU-Link routing (default: by size and topology)", .choices = routings),
    OPT_VALUE("gw-routing", OPT_STR, AT(gw_routing), "default|ring|swring",
              "create: routing between IPU-Link domains", .choices = gateway_routings),
    OPT_VALUE("sync-type", OPT_STR, AT(sync_type), "TYPE",
              "create: c2-compatible (default), pod-native-default or pod-native-replicated-pipeline",
              .choices = sync_types),
    OPT_VALUE("cluster", OPT_STR, AT(cluster), "ID", "create: from this cluster"),
    OPT_VALUE("allocation", OPT_STR, AT(allocation), "ID",
              "create: from this allocation; list partitions: only those of it"),
    OPT_VALUE("index", OPT_STR, AT(index), "N",
              "create: use the N-th aligned block of that size in the cluster, or in the allocation's "
              "cluster, counted from 0"),
    OPT_VALUE("ipus", OPT_STR, AT(ipus), "LIST",
              "create: use exactly these IPUs, by topology ID: 4-7 or, in IPU-Link domains other than the "
              "first, 1:4-7,2:0"),
    OPT_SWITCH("relocatable", AT(relocatable),
               "create, reset: the controller may move the partition to other IPUs on errors"),
    OPT_SWITCH("disable-auto-reset", AT(disable_auto_reset),
               "create: do not reset the partition automatically on errors"),
    OPT_VALUE("gcd", OPT_STR, AT(gcd), "N", "get: only this GCD's IPUoF configuration"),
    OPT_SWITCH("ipuof-configs", AT(ipuof_configs), "get: print the IPUoF configurations"),
    OPT_SWITCH("ipu-configs", AT(ipuof_configs), NULL), /* a misspelling in a published guide */
    OPT_SWITCH("force", AT(force), "remove: continue when the hardware reports errors"),
    {0},
};

const struct opts_spec options_spec = {
    .program = "vipu",
    .usage = "vipu [OPTIONS] COMMAND [ID] [OPTIONS]\n       vipu [OPTIONS] --server-version",
    .about = "Command line of a V-IPU controller. Options can be given anywhere, kinds in singular or "
             "plural. create, reset and remove wait for completion. create writes the partition's IPUoF "
             "files to ~/.ipuof.conf.d, where programs on this host find their IPUs; remove deletes them.",
    .rows = rows,
    .once = true,
    .footer = "Precedence: option, environment variable, configuration file, default. The file is in HCL and "
              "sets the api- options, one per line: api-host = \"10.1.3.101\"\n\nExit status: 0 for success, "
              "1 if the controller rejects the request or cannot be reached, 2 for an invalid command line "
              "or configuration file. Errors are printed to standard error.",
};

struct overlay {
    struct options *options;
    const char *name;
    struct strv *problems;
};

static void complain_of_key(const struct overlay *overlay, const char *key, unsigned line)
{
    struct suggest suggest = suggest_init(key);
    AUTO(str) struct str all = {0};

    for (const struct opt *row = rows; row->flag; row++) {
        if (!str_has_prefix(row->flag, "api-"))
            continue;
        suggest_candidate(&suggest, row->flag);
        str_addf(&all, "%s%s", all.len ? ", " : "", row->flag);
    }
    if (suggest_best(&suggest))
        strv_pushf(overlay->problems, "%s: line %u: unknown setting \"%.40s\"; did you mean \"%s\"?",
                   overlay->name, line, key, suggest_best(&suggest));
    else
        strv_pushf(overlay->problems, "%s: line %u: unknown setting \"%.40s\", expected one of: %s",
                   overlay->name, line, key, str_text(&all));
}

static void take_setting(void *ctx, const char *key, const char *value, unsigned line)
{
    const struct overlay *overlay = ctx;
    const struct opt *row = opts_find(&options_spec, key);
    struct err err;

    if (!row || !str_has_prefix(key, "api-"))
        complain_of_key(overlay, key, line);
    else if (!opts_set(row, overlay->options, value, &err))
        strv_pushf(overlay->problems, "%s: line %u: %s", overlay->name, line, err.msg);
}

/* In a pod of an IPUJob the default controller is the job's. */
static void take_job(const char *(*env)(const char *), struct options *options)
{
    static const struct {
        const char *flag, *variable;
    } known[] = {{"api-host", "IPUOF_VIPU_API_HOST"}, {"api-port", "IPUOF_VIPU_API_PORT"}};
    struct err ignored;

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const char *text = env(known[i].variable);

        /* This variable was not written for vipu: values that make no sense are ignored. */
        if (text && *text)
            (void)!opts_set(opts_find(&options_spec, known[i].flag), options, text, &ignored);
    }
}

enum opts_result options_parse(int argc, char **argv, const char *(*env)(const char *),
                               const struct str *file, const char *file_name, struct options *ret,
                               struct strv *words, struct strv *problems)
{
    struct overlay overlay = {ret, file_name, problems};
    enum opts_result result;

    opts_defaults(&options_spec, ret);
    take_job(env, ret);
    if (file)
        hcl_parse(str_slice(file), file_name, take_setting, &overlay, problems);
    result = opts_overlay(&options_spec, argc, argv, env, false, ret, words, problems);
    ret->showjson = ret->showjson || ret->output == OUTPUT_JSON;
    return result;
}

static bool is_given(const struct opt *row, const struct options *options)
{
    const char *at = (const char *)options + row->offset;

    switch (row->type) {
    case OPT_FLAG:
        return *(const bool *)at;
    case OPT_STR:
        return *(char *const *)(const void *)at != NULL;
    case OPT_U32:
        return *(const uint32_t *)(const void *)at != 0;
    case OPT_LIST:
    case OPT_CHOICE:
        break;
    }
    return false;
}

static void add_foreign_option(const char *flag, const struct command *command, struct strv *problems)
{
    AUTO(str) struct str here = {0}, owners = {0};

    grammar_title(command, &here);
    for (const struct command *c = grammar; c->verb; c++) {
        if (!c->about || !grammar_takes(c, flag))
            continue;
        str_adds(&owners, owners.len ? " and " : "");
        grammar_title(c, &owners);
    }
    strv_pushf(problems, "--%s does not apply to %s, only to %s", flag, str_text(&here), str_text(&owners));
}

void options_check(const struct options *options, const struct command *command, struct strv *problems)
{
    for (const struct opt *row = rows; row->flag; row++)
        if (row->help && row->type != OPT_CHOICE && is_given(row, options) && grammar_is_special(row->flag) &&
            !grammar_takes(command, row->flag))
            add_foreign_option(row->flag, command, problems);
}
