#include "vipu/model/shape.h"

#include <string.h>

#include "base/core/mem.h"

bool vipu_is_power_of_two(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

uint32_t vipu_fewest_ilds(uint32_t size)
{
    return size > VIPU_ILD_IPUS ? (size - 1) / VIPU_ILD_IPUS + 1 : 1;
}

struct vipu_requirements vipu_requirements_with_defaults(const struct vipu_requirements *given)
{
    struct vipu_requirements r = *given;

    if (r.num_ilds == 0)
        r.num_ilds = 1;
    if (r.num_gcds == 0)
        r.num_gcds = 1;
    if (r.num_replicas == 0)
        r.num_replicas = r.num_gcds;
    if (r.sync_type == VIPU_SYNC_UNDEFINED)
        r.sync_type = VIPU_SYNC_GS2_DEFAULT;
    return r;
}

static void check_id(const char *id, struct strv *problems)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    if (!id || !*id)
        strv_push(problems, "the partition ID is required");
    else if (strlen(id) > VIPU_ID_MAX)
        strv_pushf(problems, "the partition ID is too long: %zu bytes, limit %u", strlen(id), VIPU_ID_MAX);
    else if (id[strspn(id, allowed)])
        strv_push(problems, "the partition ID may contain only letters, digits, '.', '_' and '-'");
    else if (*id == '.' ||
             *id == '-') /* such files would be hidden, and tools would take such a name for an option */
        strv_push(problems, "the partition ID must not begin with '.' or '-'");
}

static bool check_power(const char *what, uint32_t n, struct strv *problems)
{
    if (!vipu_is_power_of_two(n))
        strv_pushf(problems, "%s %u is not a power of two", what, n);
    return vipu_is_power_of_two(n);
}

static const char *noun(uint32_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static void check_counts(const struct vipu_requirements *r, struct strv *problems)
{
    bool size = check_power("size", r->size, problems);
    bool ilds = check_power("number of IPU-Link domains", r->num_ilds, problems);
    bool gcds = check_power("number of GCDs", r->num_gcds, problems);
    bool replicas = check_power("number of replicas", r->num_replicas, problems);

    if (size && ilds && r->num_ilds > r->size)
        strv_pushf(problems, "%u %s cannot be divided over %u IPU-Link domains", r->size,
                   noun(r->size, "IPU", "IPUs"), r->num_ilds);
    else if (size && ilds && r->size / r->num_ilds > VIPU_ILD_IPUS)
        strv_pushf(problems,
                   "%u IPUs over %u IPU-Link %s exceed the %u IPUs of a domain; request at least %u domains",
                   r->size, r->num_ilds, noun(r->num_ilds, "domain", "domains"), VIPU_ILD_IPUS,
                   vipu_fewest_ilds(r->size));
    if (size && gcds && r->num_gcds > r->size)
        strv_pushf(problems, "%u %s cannot be split into %u GCDs", r->size, noun(r->size, "IPU", "IPUs"),
                   r->num_gcds);
    if (gcds && ilds && r->num_gcds < r->num_ilds)
        strv_pushf(problems, "%u IPU-Link domains require at least %u GCDs, got %u", r->num_ilds, r->num_ilds,
                   r->num_gcds);
    if (size && replicas && r->num_replicas > r->size)
        strv_pushf(problems, "%u %s cannot be split into %u replicas", r->size, noun(r->size, "IPU", "IPUs"),
                   r->num_replicas);
    if (gcds && replicas && r->num_replicas < r->num_gcds)
        strv_pushf(problems, "%u %s cannot be divided over %u GCDs", r->num_replicas,
                   noun(r->num_replicas, "replica", "replicas"), r->num_gcds);
}

static void check_sync(const struct vipu_requirements *r, struct strv *problems)
{
    switch (r->sync_type) {
    case VIPU_SYNC_GS2_DEFAULT:
        return;
    case VIPU_SYNC_POD_NATIVE_DEFAULT:
    case VIPU_SYNC_POD_NATIVE_REPLICATED_PIPELINE:
        /* With explicit IPUs the original silently falls back to c2-compatible. */
        if (r->reconfigurable && !r->ipu_count)
            strv_pushf(problems, "a reconfigurable partition requires sync type c2-compatible, got %s",
                       vipu_sync_type_name(r->sync_type));
        return;
    case VIPU_SYNC_GS2_INDEPENDENT_RAILS:
        strv_push(problems, "sync type independent-rails is not supported");
        return;
    case VIPU_SYNC_UNDEFINED:
    default:
        strv_pushf(problems, "unknown sync type %d", (int)r->sync_type);
    }
}

static bool is_known_routing(enum vipu_routing routing)
{
    return (unsigned)routing <= VIPU_ROUTING_RINGSWNC;
}

static bool is_known_gateway(enum vipu_gateway_routing routing)
{
    return routing == VIPU_GATEWAY_UNDEFINED || routing == VIPU_GATEWAY_RING ||
           routing == VIPU_GATEWAY_SWRING;
}

static void check_kinds(const struct vipu_requirements *r, struct strv *problems)
{
    if (!is_known_routing(r->routing))
        strv_pushf(problems, "unknown IPU-Link routing type %d", (int)r->routing);
    if (!is_known_gateway(r->gateway_routing))
        strv_pushf(problems, "unknown gateway routing type %d", (int)r->gateway_routing);
    else if (r->gateway_routing != VIPU_GATEWAY_UNDEFINED && r->num_ilds == 1)
        strv_push(problems, "gateway routing requires more than one IPU-Link domain");
    if (r->reconfigurable && r->num_gcds != 1)
        strv_pushf(problems, "a reconfigurable partition must have one GCD, got %u", r->num_gcds);
    if (r->reconfigurable && r->num_ilds != 1)
        strv_pushf(problems, "a reconfigurable partition must be in one IPU-Link domain, got %u",
                   r->num_ilds);
    check_sync(r, problems);
}

static bool is_given(const char *text)
{
    return text && *text;
}

static void check_ipus(const struct vipu_requirements *r, struct strv *problems)
{
    if (r->ipu_count == 0)
        return;
    if (r->ipu_count != r->size)
        strv_pushf(problems, "size %u does not match the %zu listed IPUs", r->size, r->ipu_count);
    if (!is_given(r->cluster_id) && !is_given(r->allocation_id))
        strv_push(problems, "listed IPUs require a cluster or an allocation");
}

bool vipu_requirements_check(const struct vipu_requirements *requirements, struct strv *problems)
{
    size_t before = problems->count;

    check_id(requirements->id, problems);
    check_counts(requirements, problems);
    check_kinds(requirements, problems);
    check_ipus(requirements, problems);
    return problems->count == before;
}

enum vipu_routing vipu_routing_default(uint32_t ipus_per_domain, bool torus)
{
    if (ipus_per_domain <= 16)
        return VIPU_ROUTING_DNC;
    return ipus_per_domain == VIPU_ILD_IPUS && torus ? VIPU_ROUTING_RINGSWNC : VIPU_ROUTING_SWNC;
}

char *vipu_target_options(uint32_t size, uint32_t num_ilds, uint32_t num_gcds, enum vipu_routing routing)
{
    const char *configuration = "default", *topology = "mesh";

    if (routing == VIPU_ROUTING_SWNC || routing == VIPU_ROUTING_RINGSWNC)
        configuration = "slidingWindow";
    if (routing == VIPU_ROUTING_BTNC)
        configuration = "barleyTwist";
    if (routing == VIPU_ROUTING_RINGSWNC)
        topology = "torus";
    return mem_printf(
        "{\"ipuLinkDomainSize\":\"%u\",\"ipuLinkConfiguration\":\"%s\",\"ipuLinkTopology\":\"%s\","
        "\"gatewayMode\":\"true\",\"instanceSize\":\"%u\"}",
        size / (num_ilds ? num_ilds : 1), configuration, topology, size / (num_gcds ? num_gcds : 1));
}

uint32_t vipu_device_id(uint32_t gcd_size, uint32_t size, uint32_t group)
{
    return 2 * gcd_size - 2 * gcd_size / size + group;
}
