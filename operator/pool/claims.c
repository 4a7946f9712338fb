#include "operator/pool/claims.h"

#include "base/core/mem.h"

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
