#include "operator/pool/claims.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "operator/api/names.h"

const char *const CLAIMS_POLICIES[] = {
    [FORECAST_STRICT] = "strict", [FORECAST_BOUNDED] = "bounded", [FORECAST_PREDICTED] = "predicted", NULL};

bool claim_is_eligible(const struct claim *claim, size_t controller)
{
    return !claim->eligible || claim->eligible[controller];
}

bool claim_could_use(const struct claim *claim, const struct claims_controller *c)
{
    return !c->is_known || c->pool->total_ipus == 0 || vipu_pool_could_fit(c->pool, claim->size);
}

void claims_grants_release(struct claims_grants *grants)
{
    mem_free(grants->items);
    *grants = (struct claims_grants){0};
}

void claims_admitted_begin(struct claims_admitted *ret, const struct queue_limits *limits, uint64_t waiting)
{
    *ret = (struct claims_admitted){
        .limits = {.per_namespace = waiting > limits->per_namespace ? limits->per_namespace : 0,
                   .total = waiting > limits->total ? limits->total : 0}};
}

enum claim_wait_cause claims_admit(struct claims_admitted *admitted, const char *job, uint32_t waiting)
{
    const struct queue_limits *limits = &admitted->limits;
    enum claim_wait_cause full = CLAIM_NOTHING_TO_REPORT;
    uint32_t count = waiting;

    if (limits->total && count > limits->total - admitted->total) {
        count = limits->total - admitted->total;
        full = CLAIM_QUEUE_IS_FULL;
    }
    if (limits->per_namespace) {
        AUTO(mem) char *ns = namespace_of_key(job);
        uint32_t before = (uint32_t)(uintptr_t)map_get(&admitted->namespaces, ns);

        if (count > limits->per_namespace - before) {
            count = limits->per_namespace - before;
            full = CLAIM_NAMESPACE_IS_FULL;
        }
        if (count)
            map_set(&admitted->namespaces, ns, (void *)(uintptr_t)(before + count)); /* a number */
    }
    admitted->total += count;
    return count || !waiting ? CLAIM_NOTHING_TO_REPORT : full;
}

void claims_admitted_release(struct claims_admitted *admitted)
{
    map_release(&admitted->namespaces);
    *admitted = (struct claims_admitted){0};
}
