#include "launcher/poprun/plan/partition.h"

#include "base/core/mem.h"
#include "vipu/model/shape.h"

static uint64_t job_ipus(const struct poprun_options *options)
{
    return (uint64_t)options->num_replicas * options->ipus_per_replica;
}

uint32_t partition_ilds(const struct poprun_options *options)
{
    return options->num_ilds < options->num_instances ? options->num_ilds : options->num_instances;
}

/* Valid values; the caller frees the text. */
static char *other_shape(const struct vipu_partition *p, const struct poprun_options *options, bool in_job)
{
    uint64_t instance = job_ipus(options) / options->num_instances;
    bool gcds_do = vipu_is_power_of_two(options->num_instances) &&
                   (instance == 1 || instance * options->num_instances == p->size);

    if (!in_job)
        return mem_strdup("--update-partition=yes replaces it");
    if (!gcds_do)
        return mem_strdup("set spec.partition.reconfigurable: true in the IPUJob");
    return mem_printf("set spec.partition.reconfigurable: true or spec.partition.gcds: %u in the IPUJob",
                      options->num_instances);
}

/* A GCD has devices of one IPU and of all its IPUs, and no others. */
static bool check_fixed(const struct vipu_partition *p, const struct poprun_options *options, bool in_job,
                        struct err *err)
{
    uint64_t instance = job_ipus(options) / options->num_instances;
    uint32_t gcd = p->size / (p->num_gcds ? p->num_gcds : 1);
    AUTO(mem) char *remedy = other_shape(p, options, in_job);

    if (p->num_gcds != options->num_instances)
        return err_set(err, ERR_CONFLICT,
                       "partition %s has %u GCD%s for %u instance%s, but each instance needs one; %s", p->id,
                       p->num_gcds, p->num_gcds == 1 ? "" : "s", options->num_instances,
                       options->num_instances == 1 ? "" : "s", remedy);
    if (instance != 1 && instance != gcd)
        return err_set(err, ERR_CONFLICT,
                       "partition %s has devices of 1 and of %u IPUs and none of %llu for an instance; %s",
                       p->id, gcd, (unsigned long long)instance, remedy);
    return true;
}

static bool check_reconfigurable(const struct vipu_partition *p, const struct poprun_options *options,
                                 uint32_t hosts, struct err *err)
{
    uint64_t ipus = job_ipus(options), instance = ipus / options->num_instances, host = ipus / hosts;

    if (instance > UINT32_MAX || !vipu_is_power_of_two((uint32_t)instance) ||
        !vipu_is_power_of_two((uint32_t)host))
        return err_set(
            err, ERR_CONFLICT,
            "partition %s has devices of 1, 2, 4, ... IPUs and none of %llu for an instance; choose "
            "--num-replicas, --num-instances and --ipus-per-replica so that it is a power of two",
            p->id, (unsigned long long)instance);
    return true;
}

bool partition_check(const struct vipu_partition *p, const struct poprun_options *options, uint32_t hosts,
                     bool in_job, struct err *err)
{
    uint64_t ipus = job_ipus(options);
    uint32_t ilds = partition_ilds(options);

    if (ipus > p->size)
        return err_set(err, ERR_CONFLICT, "partition %s has %u IPUs and %u replicas of %u IPUs need %llu; %s",
                       p->id, p->size, options->num_replicas, options->ipus_per_replica,
                       (unsigned long long)ipus,
                       in_job ? "request more with spec.ipusPerJobInstance in the IPUJob"
                              : "--update-partition=yes replaces it");
    if (ilds && ilds != p->num_ilds)
        return err_set(err, ERR_CONFLICT, "partition %s has %u IPU-Link domain%s and --num-ilds is %u%s; %s",
                       p->id, p->num_ilds, p->num_ilds == 1 ? "" : "s", options->num_ilds,
                       ilds < options->num_ilds ? " (at most one for each instance)" : "",
                       in_job ? "remove --num-ilds" : "--update-partition=yes replaces it");
    if (p->reconfigurable)
        return check_reconfigurable(p, options, hosts, err);
    return check_fixed(p, options, in_job, err);
}

struct parent partition_parent(const struct vipu_partition *p, const struct poprun_options *options,
                               uint32_t hosts)
{
    uint32_t size = (uint32_t)(job_ipus(options) / hosts), children = options->num_instances / hosts;

    return (struct parent){.first_id = vipu_device_id(p->size, size, 0),
                           .size = size,
                           .count = p->size / size,
                           .children = children,
                           .child_size = size / children,
                           .domain_size = p->size / (p->num_ilds ? p->num_ilds : 1)};
}

char *partition_target_options(const struct vipu_partition *p, uint32_t num_instances)
{
    return vipu_target_options(p->size, p->num_ilds, num_instances, p->routing);
}

char *parent_target_options(const struct parent *parent)
{
    return mem_printf(
        "{\"ipuLinkDomainSize\":\"%u\",\"ipuLinkConfiguration\":\"default\",\"ipuLinkTopology\":\"mesh\","
        "\"gatewayMode\":\"true\",\"instanceSize\":\"%u\"}",
        parent->domain_size, parent->child_size);
}
