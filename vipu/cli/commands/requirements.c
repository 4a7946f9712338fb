#include "vipu/cli/commands/requirements.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/model/shape.h"

#define MAX_COUNT 65536u

static void check_index(const struct options *o, struct strv *problems)
{
    if (!vipu_is_power_of_two(o->size) || o->size > VIPU_ILD_IPUS || o->num_ilds > 1)
        strv_pushf(problems,
                   "--index requires a size that is a power of two up to %u, in one IPU-Link domain",
                   VIPU_ILD_IPUS);
    if (!o->cluster && !o->allocation)
        strv_push(problems, "--index requires --cluster or --allocation");
}

/* "4-7", or "1:4-7" for those of IPU-Link domain 1: topology ids, appended in order. */
static bool add_range(const char *text, struct vipu_ipu **ipus, size_t *count)
{
    const char *colon = strchr(text, ':'), *ids = colon ? colon + 1 : text, *dash = strchr(ids, '-');
    AUTO(mem) char *domain_text = mem_strndup(text, colon ? (size_t)(colon - text) : 0);
    AUTO(mem) char *first_text = mem_strndup(ids, dash ? (size_t)(dash - ids) : strlen(ids));
    uint32_t domain = 0, first, last;

    if ((colon && !parse_u32(domain_text, 0, MAX_COUNT, &domain)) ||
        !parse_u32(first_text, 0, VIPU_ILD_IPUS - 1, &first) ||
        !parse_u32(dash ? dash + 1 : first_text, first, VIPU_ILD_IPUS - 1, &last) ||
        *count + (last - first) >= MAX_COUNT)
        return false;
    *ipus = mem_grow(*ipus, *count + (last - first) + 1, sizeof(**ipus));
    for (uint32_t id = first; id <= last; id++)
        (*ipus)[(*count)++] = (struct vipu_ipu){.domain_topology_id = domain, .topology_id = id};
    return true;
}

/* Logical numbers follow the order of the list; those of domains, the order in which domains appear in it. */
static void number_ipus(struct vipu_ipu *ipus, size_t count)
{
    uint32_t domain = 0;

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && ipus[i].domain_topology_id != ipus[i - 1].domain_topology_id)
            domain++;
        ipus[i].domain_routing_id = domain;
        ipus[i].routing_id = (uint32_t)i;
    }
}

static void read_listed_ipus(const struct options *o, struct vipu_requirements *r, struct vipu_ipu **ret,
                             struct strv *problems)
{
    size_t count = 0;

    for (const char *at = o->ipus; *at; at += *at == ',') {
        size_t len = strcspn(at, ",");
        AUTO(mem) char *range = mem_strndup(at, len);

        if (!add_range(range, ret, &count))
            strv_pushf(problems,
                       "--ipus must be topology IDs like 4-7 or, in IPU-Link domain 1, 1:4-7, separated by "
                       "commas; got \"%.40s\"",
                       range);
        at += len;
    }
    if (!*o->ipus)
        strv_push(problems, "--ipus is empty");
    if (o->size && o->size != count)
        strv_pushf(problems, "--size %u does not match --ipus, which lists %zu %s", o->size, count,
                   count == 1 ? "IPU" : "IPUs");
    number_ipus(*ret, count);
    r->size = (uint32_t)count;
    r->ipus = *ret;
    r->ipu_count = count;
}

static void choose_ipus(const struct options *o, struct vipu_requirements *r, struct vipu_ipu **ret,
                        struct strv *problems)
{
    if (o->ipus && o->index)
        strv_push(problems, "--ipus and --index are mutually exclusive");
    else if (o->ipus)
        read_listed_ipus(o, r, ret, problems);
    else if (o->size == 0)
        strv_push(problems, "create partition requires --size, the number of IPUs");
    else if (o->index)
        check_index(o, problems);
    /* V-IPU user guide, section 5.2: with --index a reconfigurable partition is c2-compatible, whatever the
     * requested sync type. */
    if (o->index && o->reconfigurable)
        r->sync_type = VIPU_SYNC_UNDEFINED;
}

bool requirements_of(const struct options *o, const char *id, struct vipu_requirements *ret,
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
    if (o->routing && !vipu_routing_parse(o->routing, &r.routing))
        strv_pushf(problems, "--routing must be dnc, swnc, btnc or ringswnc, got \"%s\"", o->routing);
    if (o->gw_routing && !vipu_gateway_routing_parse(o->gw_routing, &r.gateway_routing))
        strv_pushf(problems, "--gw-routing must be default, ring or swring, got \"%s\"", o->gw_routing);
    if (o->sync_type && !vipu_sync_type_parse(o->sync_type, &r.sync_type))
        strv_pushf(problems,
                   "--sync-type must be c2-compatible, pod-native-default or pod-native-replicated-pipeline, "
                   "got \"%s\"",
                   o->sync_type);
    choose_ipus(o, &r, ret_ipus, problems);
    if (r.num_ilds == 0)
        r.num_ilds = vipu_fewest_ilds(r.size);
    *ret = r;
    return problems->count == before;
}

bool requirements_gcd(const struct options *options, int64_t *ret, struct strv *problems)
{
    *ret = -1;
    if (!options->gcd || parse_i64(options->gcd, 0, MAX_COUNT, ret))
        return true;
    strv_pushf(problems, "--gcd must be a number from 0 to %u, got \"%s\"", MAX_COUNT, options->gcd);
    return false;
}

bool requirements_index(const struct options *options, int64_t *ret, struct strv *problems)
{
    *ret = -1;
    if (!options->index || parse_i64(options->index, 0, MAX_COUNT, ret))
        return true;
    strv_pushf(problems, "--index must be a number from 0 to %u, got \"%s\"", MAX_COUNT, options->index);
    return false;
}
