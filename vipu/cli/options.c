#include "vipu/cli/options.h"

#include "base/core/mem.h"
#include "vipu/cli/hcl.h"
#include "vipu/model/shape.h"

#define AT(field) .offset = offsetof(struct options, field)
#define MAX_COUNT 65536u

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
     .help = "how long a request, and what it starts, may take"},
    {.flag = "api-user-id",
     .env = "VIPU_CLI_API_USER_ID",
     .type = OPT_STR,
     AT(api_user_id),
     .arg = "USER",
     .help = "taken and not used: controllers without secure mode know no users"},
    {.flag = "api-access-key",
     .env = "VIPU_CLI_API_ACCESS_KEY",
     .type = OPT_STR,
     AT(api_access_key),
     .arg = "KEY",
     .help = "taken and not used, as --api-user-id"},
    {.flag = "config",
     .type = OPT_STR,
     AT(config),
     .arg = "FILE",
     .help = "configuration file instead of " OPTIONS_DEFAULT_FILE},
    {.flag = "server-version",
     .type = OPT_FLAG,
     AT(server_version),
     .help = "print the controller's version"},
    {.flag = "showjson", .type = OPT_FLAG, AT(showjson), .help = "print JSON instead of tables"},

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
     .help = "create: graph compilation domains, one per program instance (default 1)"},
    {.flag = "gcds",
     .type = OPT_U32,
     AT(num_gcds),
     .arg = "N",
     .max = MAX_COUNT,
     .help = "same as --num-gcds"},
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
     .help = "create: IPU-Link routing (default: by size and topology)"},
    {.flag = "gw-routing",
     .type = OPT_STR,
     AT(gw_routing),
     .arg = "default|ring|swring",
     .help = "create: routing between IPU-Link domains"},
    {.flag = "sync-type",
     .type = OPT_STR,
     AT(sync_type),
     .arg = "TYPE",
     .help = "create: c2-compatible (default), pod-native-default or pod-native-replicated-pipeline"},
    {.flag = "cluster", .type = OPT_STR, AT(cluster), .arg = "ID", .help = "create: from this cluster"},
    {.flag = "allocation",
     .type = OPT_STR,
     AT(allocation),
     .arg = "ID",
     .help = "create: from this allocation; list partition: only those of it"},
    {.flag = "index",
     .type = OPT_STR,
     AT(index),
     .arg = "N",
     .help = "create: take the N-th place of that size in the cluster, counted from 0"},
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
    {.flag = "ipu-configs", .type = OPT_FLAG, AT(ipuof_configs), .help = "same as --ipuof-configs"},
    {.flag = "force", .type = OPT_FLAG, AT(force), .help = "remove: go on when the hardware reports errors"},
    {0},
};

const struct opts_spec options_spec = {
    .program = "vipu",
    .usage = "vipu [OPTIONS] list partitions\n"
             "vipu [OPTIONS] list ipu-attrs\n"
             "vipu [OPTIONS] create partition ID --size N [--reconfigurable | --num-gcds N ...]\n"
             "vipu [OPTIONS] get partition ID [--gcd N] [--ipuof-configs]\n"
             "vipu [OPTIONS] reset partition ID\n"
             "vipu [OPTIONS] remove partition ID [--force]\n"
             "vipu [OPTIONS] --server-version",
    .about = "Talks to a V-IPU controller. Options may stand anywhere. create, reset and remove wait until "
             "it is done; "
             "create writes the partition's IPUoF files to ~/.ipuof.conf.d, remove takes them away. The exit "
             "status is "
             "0 for success, 1 when the controller refuses or cannot be reached, 2 for a wrong command line.",
    .rows = rows,
    .footer = "The configuration file (HCL) sets the api- options: api-host = \"10.1.3.101\"\n"
              "Stronger first: option, environment variable, configuration file, default.\n",
};

struct overlay {
    struct options *options;
    const char *name;
    struct strv *problems;
};

static void take_setting(void *ctx, const char *key, const char *value, unsigned line)
{
    const struct overlay *overlay = ctx;
    const struct opt *row = opts_find(&options_spec, key);
    struct err err;

    if (!row || !str_has_prefix(key, "api-"))
        strv_pushf(overlay->problems,
                   "%s: line %u: there is no setting \"%.40s\"; there are api-host, api-port, "
                   "api-timeout, api-user-id and api-access-key",
                   overlay->name, line, key);
    else if (!opts_set(row, overlay->options, value, &err))
        strv_pushf(overlay->problems, "%s: line %u: %s", overlay->name, line, err.msg);
}

enum opts_result options_parse(int argc, char **argv, const char *(*env)(const char *),
                               const struct str *file, const char *file_name, struct options *ret,
                               struct strv *words, struct strv *problems)
{
    struct overlay overlay = {ret, file_name, problems};

    opts_defaults(&options_spec, ret);
    if (file)
        hcl_parse(str_slice(file), file_name, take_setting, &overlay, problems);
    return opts_overlay(&options_spec, argc, argv, env, false, ret, words, problems);
}

/* The N-th aligned block, counted through the domains of the cluster. */
static void place_at(const struct options *o, struct vipu_requirements *r, struct vipu_ipu **ret,
                     struct strv *problems)
{
    uint32_t index, first;

    if (!parse_u32(o->index, 0, MAX_COUNT, &index)) {
        strv_pushf(problems, "--index needs a number from 0 to %u, not \"%s\"", MAX_COUNT, o->index);
        return;
    }
    if (!vipu_is_power_of_two(o->size) || o->size > VIPU_ILD_IPUS || o->num_ilds > 1) {
        strv_pushf(problems, "--index needs a size that is a power of two up to %u, in one IPU-Link domain",
                   VIPU_ILD_IPUS);
        return;
    }
    *ret = mem_alloc(o->size * sizeof(**ret));
    first = index * o->size;
    for (uint32_t i = 0; i < o->size; i++)
        (*ret)[i] = (struct vipu_ipu){.domain_topology_id = first / VIPU_ILD_IPUS,
                                      .topology_id = first % VIPU_ILD_IPUS + i,
                                      .routing_id = i};
    r->ipus = *ret;
    r->ipu_count = o->size;
}

bool options_requirements(const struct options *o, const char *id, struct vipu_requirements *ret,
                          struct vipu_ipu **ret_ipus, struct strv *problems)
{
    size_t before = problems->count;
    struct vipu_requirements r = {
        .id = id,
        .size = o->size,
        .cluster_id = o->cluster,
        .allocation_id = o->allocation,
        .num_ilds = o->num_ilds,
        .num_gcds = o->num_gcds,
        .num_replicas = o->gcd_sync_replicas,
        .reconfigurable = o->reconfigurable,
        .disable_auto_reset = o->disable_auto_reset,
        .relocatable = o->relocatable,
    };

    *ret_ipus = NULL;
    if (o->size == 0)
        strv_push(problems, "create partition needs --size, the number of IPUs");
    if (o->routing && !vipu_routing_parse(o->routing, &r.routing))
        strv_pushf(problems, "--routing is dnc, swnc, btnc or ringswnc, not \"%s\"", o->routing);
    if (o->gw_routing && !vipu_gateway_routing_parse(o->gw_routing, &r.gateway_routing))
        strv_pushf(problems, "--gw-routing is default, ring or swring, not \"%s\"", o->gw_routing);
    if (o->sync_type && !vipu_sync_type_parse(o->sync_type, &r.sync_type))
        strv_pushf(problems,
                   "--sync-type is c2-compatible, pod-native-default or pod-native-replicated-pipeline, not "
                   "\"%s\"",
                   o->sync_type);
    if (o->index && o->size > 0)
        place_at(o, &r, ret_ipus, problems);
    *ret = r;
    return problems->count == before;
}

bool options_gcd(const struct options *options, int64_t *ret, struct strv *problems)
{
    *ret = -1;
    if (!options->gcd || parse_i64(options->gcd, 0, MAX_COUNT, ret))
        return true;
    strv_pushf(problems, "--gcd needs a number from 0 to %u, not \"%s\"", MAX_COUNT, options->gcd);
    return false;
}
