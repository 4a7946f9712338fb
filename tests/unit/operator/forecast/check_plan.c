#include "replay.h"

#include <string.h>

#include "lib/check.h"

/* Written without the engine's means: IPUs are bytes, blocks are tried one after the other. */
#define IPUS_MAX (FORECAST_DOMAINS_MAX * 64)

struct ipu {
    bool exists, is_free;
    int64_t ends_s; /* by its bound; only if not free */
    bool is_contradicted;
};

static struct ipu ipus[4][IPUS_MAX];

static int64_t bound_of(const struct forecast_claim *claim, bool is_predicted)
{
    int64_t bound = claim->bound_s > 0 ? claim->bound_s : FORECAST_UNKNOWN;

    if (!is_predicted || bound != FORECAST_UNKNOWN || claim->run.p90 == 0)
        return bound;
    return (int64_t)claim->run.p90 * (claim->run.p90 / claim->run.p50);
}

static int64_t end_after(int64_t from_s, int64_t span)
{
    return span == FORECAST_UNKNOWN ? FORECAST_UNKNOWN : from_s + span;
}

static bool covers(const struct forecast_block *block, uint32_t domain, uint32_t ipu)
{
    return domain >= block->domain && domain - block->domain < block->domain_count && block->ipus >> ipu & 1;
}

static void lay_out(const struct forecast_input *input)
{
    for (size_t c = 0; c < input->controller_count; c++)
        for (uint32_t d = 0; d < input->controllers[c].domain_count; d++)
            for (uint32_t i = 0; i < 64; i++)
                ipus[c][d * 64 + i] = (struct ipu){.exists = i < input->controllers[c].ipus_per_domain &&
                                                             input->controllers[c].domains[d] >> i & 1,
                                                   .is_free = true};
    for (size_t n = 0; n < input->running_count; n++) {
        const struct forecast_running *r = &input->running[n];

        for (uint32_t d = r->block.domain; d < r->block.domain + r->block.domain_count; d++)
            for (uint32_t i = 0; i < 64; i++) {
                struct ipu *ipu;

                if (r->controller >= input->controller_count ||
                    d >= input->controllers[r->controller].domain_count || !(r->block.ipus >> i & 1))
                    continue;
                ipu = &ipus[r->controller][d * 64 + i];
                ipu->is_contradicted = ipu->is_contradicted || !ipu->is_free;
                ipu->is_free = false;
                ipu->ends_s = r->end_s;
            }
    }
}

static bool is_aligned(const struct forecast_controller *c, const struct forecast_block *block, uint32_t size)
{
    uint64_t ones = size >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1;

    if (size >= c->ipus_per_domain)
        return block->domain_count == size / c->ipus_per_domain && size % c->ipus_per_domain == 0 &&
               block->ipus ==
                   (c->ipus_per_domain == 64 ? ~(uint64_t)0 : ((uint64_t)1 << c->ipus_per_domain) - 1);
    if (block->domain_count != 1)
        return false;
    for (uint32_t at = 0; at < 64; at += size)
        if (block->ipus == ones << at)
            return true;
    return false;
}

/* Every IPU of the block exists, and is free if that is asked, and it does not reach beyond the controller.
 */
static bool is_there(const struct forecast_input *input, uint32_t c, const struct forecast_block *block,
                     bool free)
{
    for (uint32_t d = block->domain; d < block->domain + block->domain_count; d++)
        for (uint32_t i = 0; i < 64; i++) {
            if (!covers(block, d, i))
                continue;
            if (d >= input->controllers[c].domain_count || !ipus[c][d * 64 + i].exists ||
                (free && (!ipus[c][d * 64 + i].is_free || ipus[c][d * 64 + i].is_contradicted)))
                return false;
        }
    return true;
}

static void take(uint32_t c, const struct forecast_block *block, int64_t end_s)
{
    for (uint32_t d = block->domain; d < block->domain + block->domain_count; d++)
        for (uint32_t i = 0; i < 64; i++)
            if (covers(block, d, i)) {
                ipus[c][d * 64 + i].is_free = false;
                ipus[c][d * 64 + i].ends_s = end_s;
            }
}

static bool is_strict(const struct forecast_controller *c)
{
    return !c->is_placed || c->policy == FORECAST_STRICT;
}

static bool overlap(const struct forecast_block *a, const struct forecast_block *b)
{
    return a->ipus & b->ipus && a->domain < b->domain + b->domain_count &&
           b->domain < a->domain + a->domain_count;
}

/* A claim with this end could start at this block beside all reservations. */
static bool is_allowed(const struct forecast_input *input, const struct forecast_plan *plan, uint32_t c,
                       const struct forecast_block *block, int64_t end_s)
{
    for (size_t i = 0; i < plan->reserved_count; i++) {
        const struct forecast_reservation *r = &plan->reserved[i];

        if (r->controller != c || is_strict(&input->controllers[c]) || !overlap(&r->block, block) ||
            r->is_open)
            continue;
        if (r->is_closed || end_s > r->start_s)
            return false;
    }
    return true;
}

/* All bounds that keep the reserved block in use end by its start, and only an unknown one makes it unknown.
 */
static void check_reservation(const struct forecast_input *input, const struct forecast_reservation *r)
{
    const struct forecast_controller *c = &input->controllers[r->controller];

    CHECK(r->claim < input->claim_count && input->claims[r->claim].uid == r->uid);
    CHECK(input->claims[r->claim].eligible >> r->controller & 1 && c->is_usable);
    CHECK(!(r->is_open && r->is_closed) && (!r->is_open || r->start_s == FORECAST_UNKNOWN));
    if (!c->is_placed) {
        CHECK(r->block.domain_count == 0 && r->start_s == FORECAST_UNKNOWN);
        return;
    }
    if (r->block.domain_count == 0) {
        CHECK(is_strict(c)); /* no block will ever be free */
        return;
    }
    CHECK(is_aligned(c, &r->block, input->claims[r->claim].size));
    if (c->policy == FORECAST_PREDICTED || input->settings.depth != 1)
        return; /* the engine's own estimates, or claims that are served before */
    for (uint32_t d = r->block.domain; d < r->block.domain + r->block.domain_count; d++)
        for (uint32_t i = 0; i < 64; i++) {
            const struct ipu *ipu = &ipus[r->controller][d * 64 + i];

            if (!covers(&r->block, d, i))
                continue;
            CHECK(ipu->exists && !ipu->is_contradicted);
            if (!ipu->is_free && ipu->ends_s > input->now_s && r->start_s != FORECAST_UNKNOWN)
                CHECK(ipu->ends_s <= r->start_s);
        }
}

enum asked { EXISTS, IS_FREE, COULD_START };

/* By trying every block of its size at one controller. */
static bool has_block(const struct forecast_input *input, const struct forecast_plan *plan, uint32_t claim,
                      uint32_t c, enum asked asked)
{
    const struct forecast_claim *it = &input->claims[claim];
    const struct forecast_controller *controller = &input->controllers[c];
    uint32_t per_domain = controller->ipus_per_domain, domains = it->size / per_domain;
    uint32_t step = domains ? per_domain : it->size;
    uint64_t ones = step == 64 ? ~(uint64_t)0 : ((uint64_t)1 << step % 64) - 1;
    int64_t end_s = end_after(input->now_s, bound_of(it, controller->policy == FORECAST_PREDICTED));

    if (!(it->eligible >> c & 1) || !controller->is_usable || it->size == 0 ||
        (domains ? it->size % per_domain : it->size & (it->size - 1)) ||
        (asked == COULD_START && is_strict(controller)))
        return false;
    for (uint32_t d = 0; d < controller->domain_count; d++)
        for (uint32_t at = 0; at < per_domain; at += step) {
            struct forecast_block block = {d, domains ? domains : 1, ones << at};

            if (is_there(input, c, &block, asked != EXISTS) &&
                (asked != COULD_START || is_allowed(input, plan, c, &block, end_s)))
                return true;
        }
    return false;
}

static bool has_block_anywhere(const struct forecast_input *input, const struct forecast_plan *plan,
                               uint32_t claim, enum asked asked)
{
    for (uint32_t c = 0; c < input->controller_count; c++)
        if (has_block(input, plan, claim, c, asked))
            return true;
    return false;
}

/* At a controller that could hold it. */
static bool has_free_ipus(const struct forecast_input *input, uint32_t claim)
{
    for (uint32_t c = 0; c < input->controller_count; c++) {
        uint32_t free = 0;

        for (uint32_t i = 0; i < input->controllers[c].domain_count * 64; i++)
            free += ipus[c][i].exists && ipus[c][i].is_free;
        if (free >= input->claims[claim].size && has_block(input, NULL, claim, c, EXISTS))
            return true;
    }
    return false;
}

static void check_cause(const struct forecast_input *input, const struct forecast_plan *plan, uint32_t claim)
{
    const struct forecast_verdict *v = &plan->verdicts[claim];
    bool is_free = has_block_anywhere(input, plan, claim, IS_FREE);

    if (v->cause == FORECAST_RESERVED || v->cause == FORECAST_ORDER)
        CHECK(is_free);
    if (v->cause == FORECAST_FRAGMENTED)
        CHECK(!is_free && has_free_ipus(input, claim));
    if (v->cause == FORECAST_NO_ROOM)
        CHECK(!is_free && !has_free_ipus(input, claim));
    if (v->cause == FORECAST_STARTS)
        CHECK_INT_EQ(v->started, input->claims[claim].count);
    CHECK(v->cause != FORECAST_RESERVED || plan->reserved_count > 0);
}

static void check_counts(const struct forecast_input *input, const struct forecast_plan *plan)
{
    size_t started = 0;

    for (size_t i = 0; i < input->claim_count; i++) {
        started += plan->verdicts[i].started;
        CHECK(plan->verdicts[i].started <= input->claims[i].count);
        CHECK(input->claims[i].is_ready || plan->verdicts[i].started == 0);
    }
    CHECK_INT_EQ(started, plan->start_count);
}

/* As many instances of a namespace are in line as its quota allows, whether they start or wait. */
static void check_queued(const struct forecast_input *input, const struct forecast_plan *plan)
{
    for (uint32_t ns = 0; ns < input->namespace_count; ns++) {
        uint64_t queued = 0;

        for (size_t i = 0; i < input->claim_count; i++)
            if (input->claims[i].ns == ns && plan->verdicts[i].cause < FORECAST_TOO_LARGE)
                queued += plan->verdicts[i].started + plan->verdicts[i].waiting;
        if (input->namespaces[ns].max_queued && !input->namespaces[ns].max_ipus)
            CHECK(queued <= input->namespaces[ns].max_queued);
    }
}

/* It yields to later claims that have one, too, and is asked again a second later. */
static bool has_promise(const struct forecast_input *input, uint32_t claim)
{
    for (size_t i = 0; i < input->reservation_count; i++)
        if (input->reservations[i].uid == input->claims[claim].uid)
            return input->reservations[i].promise_s != FORECAST_UNKNOWN;
    return false;
}

void check_plan(const struct forecast_input *input, const struct forecast_plan *plan)
{
    bool all_placed = true;

    check_counts(input, plan);
    check_queued(input, plan);
    lay_out(input);
    for (size_t i = 0; i < plan->start_count; i++) {
        const struct forecast_start *s = &plan->starts[i];
        const struct forecast_claim *claim = &input->claims[s->claim];
        const struct forecast_controller *c = &input->controllers[s->controller];
        int64_t end_s = end_after(input->now_s, bound_of(claim, c->policy == FORECAST_PREDICTED));

        CHECK(claim->eligible >> s->controller & 1 && c->is_usable);
        if (!c->is_placed) {
            CHECK_INT_EQ(s->block.domain_count, 0);
            continue;
        }
        CHECK(is_aligned(c, &s->block, claim->size));
        CHECK(is_there(input, s->controller, &s->block, true));
        take(s->controller, &s->block, end_s);
    }
    for (size_t i = 0; i < plan->reserved_count; i++)
        check_reservation(input, &plan->reserved[i]);
    for (size_t i = 0; i < input->claim_count; i++)
        all_placed = all_placed && input->claims[i].is_ready;
    for (size_t c = 0; c < input->controller_count; c++)
        all_placed = all_placed && input->controllers[c].is_placed;
    for (uint32_t i = 0; all_placed && i < input->claim_count; i++) {
        if (plan->verdicts[i].cause < FORECAST_NO_ROOM || plan->verdicts[i].cause > FORECAST_ORDER)
            continue;
        CHECK(!has_block_anywhere(input, plan, i, COULD_START) || input->settings.depth > 1 ||
              has_promise(input, i));
        check_cause(input, plan, i);
    }
}
