#include "operator/api/queue/queue_limits.h"

#include "base/core/mem.h"
#include "operator/api/field.h"
#include "operator/api/job/jobspec.h"

static uint32_t running_instances(const cJSON *job)
{
    AUTO(jobspec) struct job_spec spec = {0};
    AUTO(strv) struct strv unused = {0};

    if (!job)
        return 0;
    jobspec_read(job, &spec, &unused);
    return spec.suspend || !job_is_managed_by_us(&spec) ? 0 : spec.instances;
}

static void check_limit(const char *where, uint32_t added, uint32_t waiting, uint32_t limit,
                        const char *value, struct strv *problems)
{
    uint64_t total = (uint64_t)waiting + added;
    AUTO(mem) char *what = NULL;

    if (!limit || total <= limit)
        return;
    what = mem_printf(
        "at most %u instances may wait for IPUs in %s, and %u wait now; reduce spec.jobInstances by "
        "%llu or more, delete jobs that wait, or ask an admin to raise %s in the chart's values",
        limit, where, waiting, (unsigned long long)(total - limit), value);
    field_forbidden(problems, "spec/jobInstances", what);
}

void queue_limits_check(const cJSON *old, const cJSON *job, const char *ns, const struct queue_limits *limits,
                        const struct queue_counts *counts, struct strv *problems)
{
    uint32_t before = running_instances(old), now = running_instances(job);
    AUTO(mem) char *where = mem_printf("namespace %s", ns);

    if (now <= before)
        return;
    check_limit(where, now - before, counts->in_namespace, limits->per_namespace, QUEUE_LIMIT_OF_NAMESPACE,
                problems);
    check_limit("the cluster", now - before, counts->total, limits->total, QUEUE_LIMIT_OF_ALL, problems);
}
