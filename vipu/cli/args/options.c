#include "vipu/cli/args/options.h"

#include "base/core/mem.h"
#include "base/core/suggest.h"
#include "vipu/cli/args/hcl.h"

#define AT(field) .offset = offsetof(struct options, field)
#define MAX_COUNT 65536u

static const char *const routings[] = {"dnc", "swnc", "btnc", "ringswnc", NULL};
static const char *const gateway_routings[] = {"default", "ring", "swring", NULL};
static const char *const sync_types[] = {"c2-compatible", "pod-native-default",
                                         "pod-native-replicated-pipeline", NULL};
static const char *const layouts[] = {"allocation", "cluster", "partition", NULL};

static const struct opt rows[] = {
    {.flag = "api-host",
     .letter = 'H',
     .env = "VIPU_CLI_API_HOST",
     .type = OPT_STR,
     AT(api_host),
     .fallback = "localhost",
     .arg = "HOST",
     .help = "host of the V-IPU controller"},
    {.flag = "api-port",
     .letter = 'P',
     .env = "VIPU_CLI_API_PORT",
     .type = OPT_U32,
     AT(api_port),
     .fallback = "8090",
     .arg = "PORT",
     .min = 1,
     .max = 65535,
     .help = "its port"},
    {.flag = "api-timeout",
     .env = "VIPU_CLI_API_TIMEOUT",
     .type = OPT_U32,
     AT(api_timeout_s),
     .fallback = "120",
     .arg = "SECONDS",
     .min = 1,
     .max = 86400,
     .help = "timeout of a request, including the operation that it starts"},
    {.flag = "api-user-id",
     .env = "VIPU_CLI_API_USER_ID",
     .type = OPT_STR,
     AT(api_user_id),
     .arg = "USER",
     .help = "user ID, for a controller in secure mode"},
    {.flag = "api-access-key",
     .env = "VIPU_CLI_API_ACCESS_KEY",
     .type = OPT_STR,
     AT(api_access_key),
     .arg = "KEY",
     .help =
         "access key of the user; set it in the file or the environment to keep it out of the process list"},
    {.flag = "api-tls", .env = "VIPU_CLI_API_TLS", .type = OPT_FLAG, AT(api_tls), .help = "use TLS"},
    {.flag = "api-ca-cert",
     .env = "VIPU_CLI_API_CA_CERT",
     .type = OPT_STR,
     AT(api_ca_cert),
     .arg = "FILE",
     .help = "PEM file with CA certificates (default: the system's); implies --api-tls"},
    {.flag = "config",
     .env = "VIPU_CLI_CONFIG",
     .type = OPT_STR,
     AT(config),
     .arg = "FILE",
     .help = "configuration file instead of " OPTIONS_DEFAULT_FILE},
    {.flag = "server-version",
     .type = OPT_FLAG,
     AT(server_version),
     .help = "print the controller's version and address, in two lines"},
    {.flag = "showjson", .type = OPT_FLAG, AT(showjson), .help = "print JSON instead of tables"},
    {.flag = "table-layout",
     .env = "VIPU_CLI_TABLE_LAYOUT",
     .type = OPT_CHOICE,
     AT(table_layout),
     .fallback = "allocation",
     .arg = "LAYOUT",
     .choices = layouts,
     .help = "list partitions: columns of the current version (Cluster, Allocation, Partition, ...), without "
             "the allocation (Cluster, Partition, ...), or of the first versions (Partition, Cluster, ...), "
             "for scripts that cut columns"},
    {.flag = "admin",
     .letter = 'a',
     .type = OPT_FLAG,
     AT(admin),
     .help = "accepted for old vipu-cli scripts, no effect"},

    {.flag = "size",
     .type = OPT_U32,
     AT(size),
     .arg = "N",
     .max = MAX_COUNT,
     .help = "create: number of IPUs, a power of two"},
    {.flag = "reconfigurable",
     .type = OPT_FLAG,
     AT(reconfigurable),
     .help = "create: programs may form devices of any power of two"},
    {.flag = "num-gcds",
     .type = OPT_U32,
     AT(num_gcds),
     .arg = "N",
     .max = MAX_COUNT,
     .help = "create: graph compilation domains, one per program instance (default 1); --gcds is the same"},
    {.flag = "gcds", .type = OPT_U32, AT(num_gcds), .arg = "N", .max = MAX_COUNT}, /* older spelling */
    {.flag = "gcd-sync-replicas",
     .type = OPT_U32,
     AT(gcd_sync_replicas),
     .arg = "N",
     .max = MAX_COUNT,
     .help = "create: replicas over all GCDs (default: one per GCD)"},
    {.flag = "num-ilds",
     .type = OPT_U32,
     AT(num_ilds),
     .arg = "N",
     .max = MAX_COUNT,
     .help = "create: IPU-Link domains to spread over (default: as few as the size allows)"},
    {.flag = "routing",
     .type = OPT_STR,
     AT(routing),
     .arg = "dnc|swnc|btnc|ringswnc",
     .choices = routings,
     .help = "create: IPU-Link routing (default: by size and topology)"},
    {.flag = "gw-routing",
     .type = OPT_STR,
     AT(gw_routing),
     .arg = "default|ring|swring",
     .choices = gateway_routings,
     .help = "create: routing between IPU-Link domains"},
    {.flag = "sync-type",
     .type = OPT_STR,
     AT(sync_type),
     .arg = "TYPE",
     .choices = sync_types,
     .help = "create: c2-compatible (default), pod-native-default or pod-native-replicated-pipeline"},
    {.flag = "cluster", .type = OPT_STR, AT(cluster), .arg = "ID", .help = "create: from this cluster"},
    {.flag = "allocation",
     .type = OPT_STR,
     AT(allocation),
     .arg = "ID",
     .help = "create: from this allocation; list partitions: only those of it"},
    {.flag = "index",
     .type = OPT_STR,
     AT(index),
     .arg = "N",
     .help = "create: use the N-th aligned block of that size in the cluster, or in the allocation's "
             "cluster, counted from 0"},
    {.flag = "ipus",
     .type = OPT_STR,
     AT(ipus),
     .arg = "LIST",
     .help = "create: use exactly these IPUs, by topology ID: 4-7 or, in IPU-Link domains other than the "
             "first, 1:4-7,2:0"},
    {.flag = "relocatable",
     .type = OPT_FLAG,
     AT(relocatable),
     .help = "create, reset: the controller may move the partition to other IPUs on errors"},
    {.flag = "disable-auto-reset",
     .type = OPT_FLAG,
     AT(disable_auto_reset),
     .help = "create: do not reset the partition automatically on errors"},
    {.flag = "gcd", .type = OPT_STR, AT(gcd), .arg = "N", .help = "get: only this GCD's IPUoF configuration"},
    {.flag = "ipuof-configs",
     .type = OPT_FLAG,
     AT(ipuof_configs),
     .help = "get: print the IPUoF configurations"},
    {.flag = "ipu-configs", .type = OPT_FLAG, AT(ipuof_configs)}, /* a misspelling in a published guide */
    {.flag = "force",
     .type = OPT_FLAG,
     AT(force),
     .help = "remove: continue when the hardware reports errors"},
    {0},
};

const struct opts_spec options_spec = {
    .program = "vipu",
    .usage = "vipu [OPTIONS] COMMAND [ID] [OPTIONS]\n       vipu [OPTIONS] --server-version",
    .about = "Command line of a V-IPU controller. Options can be given anywhere, kinds in singular or "
             "plural. create, reset and remove wait for completion. create writes the partition's IPUoF "
             "files to ~/.ipuof.conf.d, where programs on this host find their IPUs; remove deletes them.",
    .rows = rows,
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

    opts_defaults(&options_spec, ret);
    take_job(env, ret);
    if (file)
        hcl_parse(str_slice(file), file_name, take_setting, &overlay, problems);
    return opts_overlay(&options_spec, argc, argv, env, false, ret, words, problems);
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
    case OPT_CHOICE:
        break;
    }
    return false;
}

/* Options of one kind of command, like --size; not global ones, like --showjson. */
static bool is_special(const char *flag)
{
    for (const struct command *c = grammar; c->verb; c++)
        if (grammar_takes(c, flag))
            return true;
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
        if (row->help && row->type != OPT_CHOICE && is_given(row, options) && is_special(row->flag) &&
            !grammar_takes(command, row->flag))
            add_foreign_option(row->flag, command, problems);
}
