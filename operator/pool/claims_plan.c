#include "operator/pool/claims_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "operator/api/names.h"

/* Of a controller that does not report how many IPUs it has: more than all requests at a time take. */
#define BLIND_IPUS FORECAST_COUNTED_MAX
/* The engine takes who has run long to run long. Cordoned IPUs come after all others. */
#define FOREIGN_AGE_S (30 * 24 * 3600)
#define CORDONED_SINCE_S INT64_MIN
/* As in shares.c: what a run takes of which nothing is known. */
#define UNKNOWN_RUN_S 3600
/* What a restarted run needs until it computes again: its pods start, and it compiles its graphs. */
#define RESTART_S 240

struct claims_plan_place {
    uint64_t uid;
    uint32_t claim;
};

struct claims_plan_memory {
    struct forecast_controller *controllers;
    uint64_t *domains; /* of all controllers */
    struct forecast_running *running;
    size_t running_count, running_cap;
    struct forecast_claim *claims;
    struct forecast_reservation *reservations;
    struct map numbers; /* namespace -> its number plus one */
    struct forecast_namespace *namespaces;
};

/* ---- namespaces ---- */

static uint32_t namespace_number(struct claims_plan_memory *m, const char *job)
{
    AUTO(mem) char *ns = namespace_of_key(job);
    uintptr_t number = (uintptr_t)map_get(&m->numbers, ns);

    if (!number) {
        number = m->numbers.count + 1;
        map_set(&m->numbers, ns, (void *)number); /* a number, not a pointer */
    }
    return (uint32_t)number - 1;
}

static bool is_same_namespace(const char *a, const char *b)
{
    size_t len = strcspn(a, "/");

    return strncmp(a, b, len) == 0 && b[len] == a[len];
}

/* ---- controllers ---- */

static uint64_t domain_ipus(const struct vipu_pool_domain *domain)
{
    return vipu_block_mask(0, domain->size);
}

static bool is_blind(const struct claims_controller *c)
{
    return c->pool->total_ipus == 0;
}

static void add_controllers(struct claims_plan_memory *m, const struct claims_view *view)
{
    size_t rows = 0;

    for (size_t i = 0; i < view->controller_count; i++)
        rows += view->controllers[i].pool->blocks.domain_count;
    m->domains = mem_alloc((rows + 1) * sizeof(*m->domains));
    m->controllers = mem_alloc((view->controller_count + 1) * sizeof(*m->controllers));
    rows = 0;
    for (size_t i = 0; i < view->controller_count; i++) {
        const struct claims_controller *c = &view->controllers[i];
        struct vipu_pool_domain domain;

        m->controllers[i] = (struct forecast_controller){
            .is_usable = c->is_known && c->has_nodes,
            .is_placed = c->pool->placed,
            .policy = c->policy,
            .ipus_per_domain = VIPU_ILD_IPUS,
            .domains = &m->domains[rows],
            .domain_count = (uint32_t)c->pool->blocks.domain_count,
            .total_ipus = is_blind(c) ? BLIND_IPUS : c->pool->total_ipus,
        };
        for (size_t at = 0; vipu_pool_next_domain(c->pool, &at, &domain);)
            m->domains[rows + domain.row] = domain_ipus(&domain);
        rows += c->pool->blocks.domain_count;
    }
}

/* ---- what runs ---- */

static void add_running(struct claims_plan_memory *m, struct forecast_running running)
{
    if (m->running_count == m->running_cap) {
        m->running_cap = m->running_cap ? 2 * m->running_cap : 64;
        m->running = mem_grow(m->running, m->running_cap, sizeof(*m->running));
    }
    m->running[m->running_count++] = running;
}

/* Of others, or of nobody. */
static void add_unknown(struct claims_plan_memory *m, size_t controller, struct forecast_block block,
                        uint32_t size, int64_t start_s)
{
    add_running(m, (struct forecast_running){.ns = FORECAST_NONE,
                                             .controller = (uint32_t)controller,
                                             .block = block,
                                             .size = size,
                                             .start_s = start_s,
                                             .end_s = FORECAST_UNKNOWN});
}

static struct forecast_running running_of(struct claims_plan_memory *m, size_t controller,
                                          const struct claims_running *from)
{
    return (struct forecast_running){.uid = str_hash(from->uid),
                                     .instance = from->instance,
                                     .ns = namespace_number(m, from->job),
                                     .controller = (uint32_t)controller,
                                     .size = from->size,
                                     .priority = from->priority,
                                     .start_s = from->start_s,
                                     .end_s = from->end_s,
                                     .left = from->left,
                                     .is_restartable = from->is_preemptible,
                                     .is_leaving = from->is_leaving,
                                     .is_accounted = from->is_accounted,
                                     .checkpoint_s = from->checkpoint_s > from->start_s ? from->checkpoint_s
                                                                                        : from->start_s,
                                     .restart_s = RESTART_S};
}

static bool is_within(const uint64_t *used, const struct vipu_pool_part *part)
{
    for (uint32_t d = part->domain; d < part->domain + part->domain_count; d++)
        if (part->ipus & ~used[d])
            return false;
    return true;
}

/* What is used and of no job stays in `used`. */
static void add_parts(struct claims_plan_memory *m, const struct claims_controller *c, size_t controller,
                      const struct claims_running *running, uint64_t *used)
{
    AUTO(mem) struct vipu_pool_part *parts = mem_alloc((running->size + 1) * sizeof(*parts));
    size_t count = running->partition ? vipu_pool_parts(c->pool, running->partition, parts) : 1;

    if (!running->partition)
        parts[0] = running->place;
    for (size_t i = 0; i < count; i++) {
        struct forecast_running it = running_of(m, controller, running);

        if (!is_within(used, &parts[i]))
            continue; /* cordoned: its end does not make room */
        it.block = (struct forecast_block){parts[i].domain, parts[i].domain_count, parts[i].ipus};
        it.size = parts[i].domain_count * (uint32_t)__builtin_popcountll(parts[i].ipus);
        it.is_restartable = it.is_restartable && count == 1; /* its cost is that of one entry */
        add_running(m, it);
        for (uint32_t d = parts[i].domain; d < parts[i].domain + parts[i].domain_count; d++)
            used[d] &= ~parts[i].ipus;
    }
}

static void add_placed(struct claims_plan_memory *m, const struct claims_controller *c, size_t controller,
                       int64_t foreign_since_s)
{
    AUTO(mem) uint64_t *used = mem_alloc((c->pool->blocks.domain_count + 1) * sizeof(*used));
    struct vipu_pool_domain domain;

    for (size_t at = 0; vipu_pool_next_domain(c->pool, &at, &domain);)
        used[domain.row] = domain.is_cordoned ? 0 : domain_ipus(&domain) & ~domain.free;
    for (size_t i = 0; i < c->running_count; i++)
        add_parts(m, c, controller, &c->running[i], used);
    for (size_t at = 0; vipu_pool_next_domain(c->pool, &at, &domain);) {
        uint64_t ipus = domain.is_cordoned ? domain_ipus(&domain) : used[domain.row];

        if (ipus)
            add_unknown(m, controller, (struct forecast_block){(uint32_t)domain.row, 1, ipus},
                        (uint32_t)__builtin_popcountll(ipus),
                        domain.is_cordoned ? CORDONED_SINCE_S : foreign_since_s);
    }
}

static void add_counted(struct claims_plan_memory *m, const struct claims_controller *c, size_t controller,
                        int64_t foreign_since_s)
{
    uint32_t used = c->pool->total_ipus - c->pool->free_ipus;

    for (size_t i = 0; i < c->running_count && !c->pool->is_cordoned; i++) {
        struct forecast_running it = running_of(m, controller, &c->running[i]);

        if (it.size > used)
            continue;
        add_running(m, it);
        used -= it.size;
    }
    if (used)
        add_unknown(m, controller, (struct forecast_block){0}, used,
                    c->pool->is_cordoned ? CORDONED_SINCE_S : foreign_since_s);
}

static void add_all_running(struct claims_plan_memory *m, const struct claims_view *view)
{
    int64_t foreign_since_s = view->now_s - FOREIGN_AGE_S;

    for (size_t i = 0; i < view->controller_count; i++) {
        const struct claims_controller *c = &view->controllers[i];

        if (is_blind(c) && (c->pool->is_cordoned || c->unlisted >= CLAIMS_BLIND_GRANTS))
            add_unknown(m, i, (struct forecast_block){0}, BLIND_IPUS, CORDONED_SINCE_S);
        else if (c->pool->placed)
            add_placed(m, c, i, foreign_since_s);
        else
            add_counted(m, c, i, foreign_since_s);
    }
}

/* ---- claims ---- */

static uint64_t eligible_bits(const struct claims_view *view, const struct claim *claim)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < view->controller_count && i < FORECAST_CONTROLLERS; i++)
        if (claim_is_eligible(claim, i) && claim_could_use(claim, &view->controllers[i]))
            bits |= (uint64_t)1 << i;
    return bits;
}

static void add_claims(struct claims_plan_memory *m, const struct claims_view *view,
                       const struct claim *claims, size_t count, const bool *is_last)
{
    m->claims = mem_alloc((count + 1) * sizeof(*m->claims));
    for (size_t i = 0; i < count; i++) {
        const struct claim *claim = &claims[i];

        m->claims[i] = (struct forecast_claim){
            .uid = str_hash(claim->uid),
            .instance = claim->instance,
            .count = claim->count,
            .eligible = eligible_bits(view, claim),
            .ns = i && is_same_namespace(claim->job, claims[i - 1].job) ? m->claims[i - 1].ns
                                                                        : namespace_number(m, claim->job),
            .size = claim->size,
            .priority = is_last && is_last[i] ? INT32_MIN : claim->priority,
            .turn_s = claim->turn_s,
            .arrival = i, /* the claims are in turn */
            .bound_s = claim->bound_s,
            .run = claim->run,
            .is_ready = true, /* the IPUs of others are kept in the same way: see claims_decide */
        };
    }
}

/* ---- what namespaces may ---- */

/* IPUs that no entry of running[] stands for count as well: where places are not known, or are cordoned. */
static void set_quotas(struct claims_plan_memory *m, const struct claims_view *view)
{
    const char *ns;
    void *number;

    for (size_t i = 0; map_next(&m->numbers, &i, &ns, &number);) {
        struct forecast_namespace *it = &m->namespaces[(uintptr_t)number - 1];

        it->max_ipus = namespace_numbers_get(view->quotas, ns);
        it->held_ipus = (uint32_t)(uintptr_t)map_get(view->held, ns);
    }
    for (size_t i = 0; i < m->running_count; i++) {
        uint32_t size = m->running[i].size;
        struct forecast_namespace *it =
            m->running[i].ns == FORECAST_NONE ? NULL : &m->namespaces[m->running[i].ns];

        if (it)
            it->held_ipus -= size < it->held_ipus ? size : it->held_ipus;
    }
}

uint64_t claims_plan_charge(const struct forecast_running *running, int64_t now_s)
{
    int64_t age_s, left_s = running->left.p50;

    if (__builtin_sub_overflow(now_s, running->start_s, &age_s) || age_s < 0)
        age_s = 0;
    if (!left_s && running->end_s != FORECAST_UNKNOWN)
        left_s = running->end_s > now_s ? running->end_s - now_s : 0;
    else if (!left_s)
        left_s = age_s < UNKNOWN_RUN_S ? UNKNOWN_RUN_S - age_s : 0;
    return (uint64_t)(age_s + left_s) * running->size;
}

static void set_shares(struct claims_plan_memory *m, const struct claims_view *view)
{
    const char *ns;
    void *number;

    for (size_t i = 0; map_next(&m->numbers, &i, &ns, &number);) {
        struct forecast_namespace *it = &m->namespaces[(uintptr_t)number - 1];

        it->weight = view->weights ? namespace_numbers_get(view->weights, ns) : 0;
        it->used_ipu_s = usage_of(view->usage, ns, view->now_s);
    }
    for (size_t i = 0; i < m->running_count; i++) {
        if (m->running[i].ns != FORECAST_NONE && !m->running[i].is_accounted)
            m->namespaces[m->running[i].ns].used_ipu_s += claims_plan_charge(&m->running[i], view->now_s);
    }
}

static void set_instance_quotas(struct claims_plan_memory *m, const struct claims_view *view)
{
    const char *ns;
    void *number;

    for (size_t i = 0; map_next(&m->numbers, &i, &ns, &number);)
        m->namespaces[(uintptr_t)number - 1].max_queued = namespace_numbers_get(view->instance_quotas, ns);
}

static void add_namespaces(struct claims_plan_memory *m, const struct claims_view *view)
{
    if (!view->quotas && !view->instance_quotas && !view->settings.has_shares)
        return;
    m->namespaces = mem_alloc((m->numbers.count + 1) * sizeof(*m->namespaces));
    if (view->quotas)
        set_quotas(m, view);
    if (view->instance_quotas)
        set_instance_quotas(m, view);
    if (view->settings.has_shares)
        set_shares(m, view);
}

/* ---- the plan ---- */

struct claims_plan *claims_plan_new(const struct claims_view *view, const struct claim *claims, size_t count,
                                    const bool *is_last)
{
    struct claims_plan *plan = NEW(struct claims_plan);
    struct claims_plan_memory *m = NEW(struct claims_plan_memory);

    plan->memory = m;
    add_controllers(m, view);
    add_all_running(m, view);
    add_claims(m, view, claims, count, is_last);
    add_namespaces(m, view);
    m->reservations = mem_dup(view->reservations, view->reservation_count * sizeof(*m->reservations));
    plan->input = (struct forecast_input){.now_s = view->now_s,
                                          .controllers = m->controllers,
                                          .controller_count = view->controller_count,
                                          .running = m->running,
                                          .running_count = m->running_count,
                                          .claims = m->claims,
                                          .claim_count = count,
                                          .namespaces = m->namespaces,
                                          .namespace_count = m->namespaces ? m->numbers.count : 0,
                                          .reservations = m->reservations,
                                          .reservation_count = view->reservation_count,
                                          .settings = view->settings};
    plan->forecast = forecast_new(&plan->input);
    return plan;
}

void claims_plan_free(struct claims_plan *plan)
{
    if (!plan)
        return;
    forecast_free(plan->forecast);
    mem_free(plan->memory->controllers);
    mem_free(plan->memory->domains);
    mem_free(plan->memory->running);
    mem_free(plan->memory->claims);
    mem_free(plan->memory->reservations);
    map_release(&plan->memory->numbers);
    mem_free(plan->memory->namespaces);
    mem_free(plan->memory);
    mem_free(plan->by_uid);
    mem_free(plan);
}

static int compare_places(const void *a, const void *b)
{
    const struct claims_plan_place *x = a, *y = b;

    return (x->uid > y->uid) - (x->uid < y->uid);
}

bool claims_plan_step(struct claims_plan *plan, uint32_t work)
{
    size_t count = plan->input.claim_count;

    if (!forecast_step(plan->forecast, work))
        return false;
    if (plan->by_uid)
        return true;
    plan->by_uid = mem_alloc((count + 1) * sizeof(*plan->by_uid));
    for (size_t i = 0; i < count; i++)
        plan->by_uid[i] = (struct claims_plan_place){plan->input.claims[i].uid, (uint32_t)i};
    qsort(plan->by_uid, count, sizeof(*plan->by_uid), compare_places);
    return true;
}

int64_t claims_plan_find(const struct claims_plan *plan, const char *uid)
{
    const struct claims_plan_place wanted = {.uid = str_hash(uid)}, *found = NULL;

    if (plan->by_uid)
        found = bsearch(&wanted, plan->by_uid, plan->input.claim_count, sizeof(wanted), compare_places);
    return found ? (int64_t)found->claim : -1;
}
