#include "operator/forecast/queue/queue_order.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/forecast/queue/claim.h"
#include "operator/forecast/place/layout.h"
#include "operator/forecast/place/place.h"
#include "operator/forecast/queue/shares.h"

static bool is_guarded(const struct forecast_input *input, const struct forecast_claim *claim)
{
    return input->settings.guard_after_s != FORECAST_UNKNOWN &&
           claim_age(claim, input->now_s) >= input->settings.guard_after_s;
}

/* ---- memory ---- */

size_t queue_order_lay_out(struct queue_order *queue, const struct forecast_input *input, void *memory)
{
    size_t used = 0, count = input->claim_count;

    queue->order = lay(memory, &used, count, sizeof(*queue->order));
    queue->left = lay(memory, &used, count, sizeof(*queue->left));
    queue->group_of = lay(memory, &used, count, sizeof(*queue->group_of));
    queue->classes = lay(memory, &used, count, sizeof(*queue->classes));
    queue->groups = lay(memory, &used, count, sizeof(*queue->groups));
    return used;
}

/* ---- order ---- */

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_classes(const struct forecast_input *input, const struct forecast_claim *a,
                           const struct forecast_claim *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return is_guarded(input, b) - is_guarded(input, a);
}

static bool is_before(const struct forecast_input *input, uint32_t left, uint32_t right)
{
    const struct forecast_claim *a = &input->claims[left], *b = &input->claims[right];
    int order = compare_classes(input, a, b);

    if (!order)
        order = compare_numbers(a->turn_s, b->turn_s);
    if (!order)
        order = a->arrival < b->arrival ? -1 : a->arrival > b->arrival;
    if (!order)
        order = a->uid < b->uid ? -1 : a->uid > b->uid;
    return order ? order < 0 : a->instance < b->instance;
}

static uint32_t run_end(const struct forecast_input *input, const uint32_t *order, uint32_t at,
                        uint32_t count)
{
    while (++at < count && !is_before(input, order[at], order[at - 1]))
        ;
    return at < count ? at : count;
}

/* Merges runs that are in turn already: a line that the caller keeps in turn takes one pass. */
static void sort_by_turn(const struct forecast_input *input, uint32_t *order, uint32_t count)
{
    AUTO(mem) uint32_t *merged = mem_alloc(count * sizeof(*merged));

    while (run_end(input, order, 0, count) < count) {
        for (uint32_t at = 0, end; at < count; at = end) {
            uint32_t mid = run_end(input, order, at, count), a = at, b = mid, out = at;

            end = mid < count ? run_end(input, order, mid, count) : mid;
            while (a < mid && b < end)
                merged[out++] = is_before(input, order[b], order[a]) ? order[b++] : order[a++];
            while (a < mid)
                merged[out++] = order[a++];
            memcpy(&order[at], &merged[at], (out - at) * sizeof(*order));
        }
    }
}

static void set_classes(struct queue_order *queue)
{
    const struct forecast_input *input = queue->input;
    uint32_t class = 0;

    for (uint32_t i = 0; i < queue->count; i++) {
        const struct forecast_claim *claim = &input->claims[queue->order[i]];

        if (i && claim->priority != input->claims[queue->order[i - 1]].priority && class < UINT16_MAX - 3)
            class += 2;
        queue->classes[queue->order[i]] = (uint16_t)(is_guarded(input, claim) ? class : class | 1);
    }
}

static void sort_by_shares(struct queue_order *queue)
{
    const struct forecast_input *input = queue->input;
    AUTO(mem) uint64_t *used = mem_alloc(input->namespace_count * sizeof(*used));

    for (size_t i = 0; i < input->namespace_count; i++)
        used[i] = input->namespaces[i].used_ipu_s;
    for (uint32_t from = 0, end; from < queue->count; from = end) {
        for (end = from + 1;
             end < queue->count && queue->classes[queue->order[end]] == queue->classes[queue->order[from]];)
            end++;
        shares_sort(input, &queue->order[from], end - from, used);
    }
}

/* ---- groups ---- */

static const struct forecast_namespace *namespace_of(const struct forecast_input *input, uint32_t ns)
{
    return ns < input->namespace_count ? &input->namespaces[ns] : NULL;
}

static void set_controllers(struct group *g, const struct forecast_input *input)
{
    bool is_known = true, is_predicted = true, has_order = false;

    for (uint32_t c = 0; c < input->controller_count && c < FORECAST_CONTROLLERS; c++) {
        const struct forecast_controller *it = &input->controllers[c];

        if (!(g->eligible >> c & 1))
            continue;
        has_order = true;
        is_known = is_known && it->is_usable;
        if (!it->is_usable || !place_is_possible(it, g->size))
            continue;
        g->controllers |= (uint64_t)1 << c;
        is_predicted = is_predicted && it->policy == FORECAST_PREDICTED;
    }
    g->is_predicted = is_predicted && g->controllers;
    g->cause = (uint8_t)(!has_order ? FORECAST_NO_CONTROLLER
                         : is_known ? FORECAST_TOO_LARGE
                                    : FORECAST_UNAVAILABLE);
}

static void set_size_number(struct queue_order *queue, struct group *g)
{
    for (uint32_t i = 0; i < queue->group_count; i++)
        if (queue->groups[i].controllers && queue->groups[i].size == g->size) {
            g->size_number = queue->groups[i].size_number;
            return;
        }
    g->size_number = queue->size_count++;
}

static uint32_t group_hash(const struct group *g)
{
    uint64_t hash = (g->eligible ^ (uint64_t)g->size << 32 ^ g->ns) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(hash >> 32);
}

static bool is_same_group(const struct group *a, const struct group *b)
{
    return a->size == b->size && a->eligible == b->eligible && a->ns == b->ns;
}

static void set_groups(struct queue_order *queue)
{
    const struct forecast_input *input = queue->input;
    uint32_t size = 16, *slot;
    AUTO(mem) uint32_t *table = NULL; /* group numbers plus one, at most half full */

    while (size < 2 * queue->count)
        size *= 2;
    table = mem_alloc(size * sizeof(*table));
    for (uint32_t i = 0; i < queue->count; i++) {
        const struct forecast_claim *claim = &input->claims[queue->order[i]];
        const struct forecast_namespace *n = namespace_of(input, claim->ns);
        struct group g = {.eligible = claim->eligible, .size = claim->size, .ns = FORECAST_NONE};

        if (n && n->max_ipus)
            g.ns = claim->ns;
        for (uint32_t at = group_hash(&g);; at++) {
            slot = &table[at & (size - 1)];
            if (!*slot || is_same_group(&queue->groups[*slot - 1], &g))
                break;
        }
        if (!*slot) {
            set_controllers(&g, input);
            if (g.controllers)
                set_size_number(queue, &g);
            queue->groups[queue->group_count++] = g;
            *slot = queue->group_count;
        }
        queue->group_of[queue->order[i]] = *slot - 1;
    }
}

/* Per namespace; owned by the caller. */
static uint64_t *count_ipus(const struct forecast_input *input)
{
    uint64_t *ipus = mem_alloc(input->namespace_count * sizeof(*ipus));

    for (size_t i = 0; i < input->namespace_count; i++)
        ipus[i] = input->namespaces[i].held_ipus;
    for (size_t i = 0; i < input->running_count; i++)
        if (input->running[i].ns < input->namespace_count)
            ipus[input->running[i].ns] += input->running[i].size;
    return ipus;
}

/* The first in turn of a namespace are in line, as many as its quota allows. Those that its quota of IPUs
 * keeps out would close the line to smaller ones of their own namespace. */
static void set_left(struct queue_order *queue)
{
    const struct forecast_input *input = queue->input;
    AUTO(mem) uint32_t *queued = mem_alloc(input->namespace_count * sizeof(*queued));
    AUTO(mem) uint64_t *ipus = count_ipus(input);

    for (uint32_t i = 0; i < queue->count; i++) {
        const struct forecast_claim *claim = &input->claims[queue->order[i]];
        const struct forecast_namespace *n = namespace_of(input, claim->ns);
        uint32_t left = claim->count;

        if (n && n->max_queued && queue->groups[queue->group_of[queue->order[i]]].controllers &&
            (!n->max_ipus || ipus[claim->ns] + claim->size <= n->max_ipus)) {
            if (left > n->max_queued - queued[claim->ns])
                left = n->max_queued - queued[claim->ns];
            queued[claim->ns] += left;
        }
        queue->left[queue->order[i]] = left;
    }
}

void queue_order_init(struct queue_order *queue, const struct forecast_input *input)
{
    assert(input->claim_count <= FORECAST_CLAIMS_MAX && input->namespace_count < FORECAST_CLAIMS_MAX);
    queue->input = input;
    queue->count = (uint32_t)input->claim_count;
    queue->group_count = queue->size_count = 0;
    for (uint32_t i = 0; i < queue->count; i++)
        queue->order[i] = i;
    sort_by_turn(input, queue->order, queue->count);
    set_classes(queue);
    if (input->settings.has_shares)
        sort_by_shares(queue);
    set_groups(queue);
    set_left(queue);
}
