#include "operator/forecast/queue/shares.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/forecast/queue/claim.h"
#include "operator/forecast/queue/min_heap.h"

#define IPU_HOUR 3600u

/* The claims of one namespace, as a chain of places in the order. */
struct lane {
    uint32_t first, last;
};

struct lanes {
    const struct forecast_input *input;
    struct lane *of; /* per namespace, and one for claims without */
    uint32_t *next;  /* per place in the order */
    uint64_t *used;
    struct min_heap heap; /* of level, place, namespace: 16, 24 and 24 bits */
};

/* By factors of two, so that the order of two namespaces does not change with every second. */
static uint64_t usage_level(const struct forecast_namespace *n, uint64_t used_ipu_s)
{
    uint64_t hours = used_ipu_s / IPU_HOUR / (n->weight ? n->weight : 1);

    return hours ? 64 - (uint64_t)__builtin_clzll(hours) : 0;
}

static void lane_enter(struct lanes *l, uint32_t ns)
{
    uint64_t level = ns < l->input->namespace_count ? usage_level(&l->input->namespaces[ns], l->used[ns]) : 0;

    min_heap_push(&l->heap, level << 48 | (uint64_t)l->of[ns].first << 24 | ns);
}

static void lane_append(struct lanes *l, uint32_t ns, uint32_t place)
{
    struct lane *lane = &l->of[ns];

    l->next[place] = FORECAST_NONE;
    if (lane->first == FORECAST_NONE)
        lane->first = place;
    else
        l->next[lane->last] = place;
    lane->last = place;
}

static void charge(uint64_t *used, const struct forecast_claim *claim)
{
    int64_t bound = claim_deadline(claim);
    uint64_t span = claim->run.p50 ? claim->run.p50 : bound != FORECAST_UNKNOWN ? (uint64_t)bound : IPU_HOUR;

    if (__builtin_mul_overflow(span, claim->size, &span) || __builtin_add_overflow(*used, span, used))
        *used = UINT64_MAX;
}

void shares_sort(const struct forecast_input *input, uint32_t *order, uint32_t count, uint64_t *used)
{
    uint32_t none = (uint32_t)input->namespace_count;
    AUTO(mem) struct lane *of = mem_alloc((none + 1) * sizeof(*of));
    AUTO(mem) uint32_t *next = mem_alloc(count * sizeof(*next));
    AUTO(mem) uint32_t *in_turn = mem_dup(order, count * sizeof(*order));
    AUTO(mem) uint64_t *items = mem_alloc((none + 1) * sizeof(*items));
    struct lanes l = {input, of, next, used, {.items = items}};

    memset(of, 0xff, (none + 1) * sizeof(*of));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t ns = input->claims[order[i]].ns;

        lane_append(&l, ns < none ? ns : none, i);
    }
    for (uint32_t ns = 0; ns <= none; ns++)
        if (of[ns].first != FORECAST_NONE)
            lane_enter(&l, ns);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t ns = (uint32_t)min_heap_pop(&l.heap) & (FORECAST_CLAIMS_MAX - 1), at = of[ns].first;

        order[i] = in_turn[at];
        if (ns < none)
            charge(&used[ns], &input->claims[order[i]]);
        of[ns].first = next[at];
        if (of[ns].first != FORECAST_NONE)
            lane_enter(&l, ns);
    }
}
