#include "operator/forecast/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "random_input.h"
#include "replay.h"

#define SEEDS 3000

static const enum forecast_policy POLICIES[] = {FORECAST_STRICT, FORECAST_BOUNDED, FORECAST_PREDICTED};

static const struct forecast_plan *complete(struct forecast *f, uint32_t slice)
{
    while (!forecast_step(f, slice))
        ;
    return forecast_plan_of(f);
}

/* ---- any plan ---- */

TEST(plans_keep_all_rules)
{
    static struct random_input r;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct forecast *f;

        random_input_init(&r, seed, seed % 4, POLICIES[seed % 3]);
        r.input.settings.depth = seed % 7 == 0 ? (uint32_t)(seed % 5) : 1;
        f = forecast_new(&r.input);
        check_plan(&r.input, forecast_plan_of(f));
        forecast_free(f);
    }
}

static void shuffle(struct random_input *r, void *items, size_t count, size_t size)
{
    AUTO(mem) char *swap = mem_alloc(size);

    for (size_t i = count; i > 1; i--) {
        char *a = (char *)items + (i - 1) * size, *b = (char *)items + random_number(r, i) * size;

        memcpy(swap, a, size);
        memcpy(a, b, size);
        memcpy(b, swap, size);
    }
}

static size_t index_of(const struct random_input *r, uint64_t uid)
{
    size_t i = 0;

    while (r->claims[i].uid != uid)
        i++;
    return i;
}

static void check_same_reservation(const struct forecast_reservation *a, const struct forecast_reservation *b)
{
    CHECK(a->uid == b->uid && a->instance == b->instance && a->controller == b->controller);
    CHECK(memcmp(&a->block, &b->block, sizeof(a->block)) == 0);
    CHECK(a->start_s == b->start_s && a->promise_s == b->promise_s && a->since_s == b->since_s);
    CHECK(a->is_open == b->is_open && a->is_closed == b->is_closed);
}

TEST(the_order_of_the_input_does_not_matter)
{
    static struct random_input r, other;

    for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
        struct forecast *f, *g;
        const struct forecast_plan *a, *b;

        random_input_init(&r, seed, 1 + seed % 3, POLICIES[seed % 3]);
        other = r;
        other.input.running = other.running;
        other.input.claims = other.claims;
        other.input.controllers = other.controllers;
        other.input.namespaces = other.namespaces;
        shuffle(&other, other.running, other.input.running_count, sizeof(other.running[0]));
        shuffle(&other, other.claims, other.input.claim_count, sizeof(other.claims[0]));
        f = forecast_new(&r.input);
        g = forecast_new(&other.input);
        a = complete(f, UINT32_MAX);
        b = complete(g, UINT32_MAX);
        CHECK_INT_EQ(a->start_count, b->start_count);
        for (size_t i = 0; i < a->start_count; i++) {
            CHECK(r.claims[a->starts[i].claim].uid == other.claims[b->starts[i].claim].uid);
            CHECK(a->starts[i].instance == b->starts[i].instance &&
                  a->starts[i].controller == b->starts[i].controller);
            CHECK(memcmp(&a->starts[i].block, &b->starts[i].block, sizeof(a->starts[i].block)) == 0);
        }
        CHECK_INT_EQ(a->reserved_count, b->reserved_count);
        for (size_t i = 0; i < a->reserved_count; i++)
            check_same_reservation(&a->reserved[i], &b->reserved[i]);
        for (size_t i = 0; i < r.input.claim_count; i++)
            CHECK(memcmp(&a->verdicts[i], &b->verdicts[index_of(&other, r.claims[i].uid)],
                         sizeof(a->verdicts[i])) == 0);
        forecast_free(f);
        forecast_free(g);
    }
}

TEST(slices_give_the_same_forecast)
{
    static struct random_input r;

    for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
        struct forecast *f, *g;

        random_input_init(&r, seed, 1 + seed % 3, POLICIES[seed % 3]);
        f = forecast_new(&r.input);
        g = forecast_new(&r.input);
        CHECK(memcmp(complete(f, 1)->verdicts, complete(g, UINT32_MAX)->verdicts,
                     r.input.claim_count * sizeof(struct forecast_verdict)) == 0);
        CHECK(forecast_plan_of(f)->is_complete);
        forecast_free(f);
        forecast_free(g);
    }
}

TEST(bands_are_ordered)
{
    static struct random_input r;
    int starts = 0, reserved = 0, waiting = 0;

    for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
        const struct forecast_plan *plan;
        struct forecast *f;

        random_input_init(&r, seed, 1 + seed % 3, POLICIES[seed % 3]);
        f = forecast_new(&r.input);
        plan = complete(f, 100);
        for (size_t i = 0; i < r.input.claim_count; i++) {
            const struct forecast_verdict *v = &plan->verdicts[i];

            CHECK(v->p10_s >= r.input.now_s && v->p10_s <= v->p50_s && v->p50_s <= v->p90_s);
            CHECK_INT_EQ(v->basis == FORECAST_OPEN, v->p50_s == FORECAST_UNKNOWN);
            if (v->cause == FORECAST_STARTS && r.claims[i].count > 0) {
                CHECK(v->p90_s == r.input.now_s && v->basis == FORECAST_BY_NOW);
                starts++;
            }
            waiting += v->basis == FORECAST_BY_HISTORY;
        }
        for (size_t i = 0; i < plan->reserved_count; i++) {
            const struct forecast_reservation *it = &plan->reserved[i];

            if (it->promise_s == FORECAST_UNKNOWN ||
                r.controllers[it->controller].policy == FORECAST_PREDICTED)
                continue;
            CHECK_INT_EQ(plan->verdicts[it->claim].p90_s, it->start_s);
            reserved++;
        }
        forecast_free(f);
    }
    CHECK(starts > 100 && reserved > 100 && waiting > 100);
}

/* ---- two plans ---- */

static void apply(struct random_input *r, const struct forecast_plan *plan, struct forecast_reservation *kept)
{
    for (size_t i = 0; i < plan->start_count; i++) {
        const struct forecast_start *s = &plan->starts[i];
        struct forecast_claim *claim = &r->claims[s->claim];

        CHECK(r->input.running_count < RANDOM_RUNNING);
        r->running[r->input.running_count++] = (struct forecast_running){
            .uid = claim->uid,
            .instance = s->instance,
            .ns = claim->ns,
            .controller = s->controller,
            .block = s->block,
            .size = claim->size,
            .start_s = r->input.now_s,
            .end_s = claim->bound_s == FORECAST_UNKNOWN ? FORECAST_UNKNOWN : r->input.now_s + claim->bound_s,
            .left = claim->run,
        };
        claim->instance++;
        claim->count--;
        claim->turn_s = r->input.now_s;
        claim->arrival = i;
    }
    for (size_t i = 0; i < plan->reserved_count; i++)
        kept[i] = plan->reserved[i];
    r->input.reservations = kept;
    r->input.reservation_count = plan->reserved_count;
}

TEST(a_plan_that_was_carried_out_starts_nothing_more)
{
    static struct random_input r;
    struct forecast_reservation kept[3 * FORECAST_DEPTH_MAX];
    size_t starts = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct forecast *f;

        random_input_init(&r, seed, seed % 4, POLICIES[seed % 3]);
        r.namespaces[1].max_queued = 0;      /* others come into line instead of those that start */
        r.input.settings.has_shares = false; /* usage is charged between plans */
        for (size_t i = 0; i < r.input.claim_count; i++)
            r.claims[i].is_ready = true; /* the others start later */
        f = forecast_new(&r.input);
        starts += forecast_plan_of(f)->start_count;
        apply(&r, forecast_plan_of(f), kept);
        forecast_free(f);
        f = forecast_new(&r.input);
        CHECK_INT_EQ(forecast_plan_of(f)->start_count, 0);
        CHECK_INT_EQ(forecast_plan_of(f)->reserved_count, r.input.reservation_count);
        for (size_t i = 0; i < r.input.reservation_count; i++)
            check_same_reservation(&kept[i], &forecast_plan_of(f)->reserved[i]);
        forecast_free(f);
    }
    CHECK(starts > SEEDS);
}

/* The first of the line with one instance, and what it was promised; false if it starts or has no block. */
static bool first_promise(const struct random_input *r, int64_t *ret_s)
{
    struct forecast *f = forecast_new(&r->input);
    const struct forecast_plan *plan = forecast_plan_of(f);
    bool is_promised =
        plan->start_count == 0 && plan->reserved_count > 0 && plan->reserved[0].block.domain_count;

    *ret_s = plan->start_count ? r->input.now_s : is_promised ? plan->reserved[0].start_s : FORECAST_UNKNOWN;
    forecast_free(f);
    return is_promised;
}

static void keep_one_claim(struct random_input *r)
{
    r->input.claim_count = 1;
    r->claims[0] = (struct forecast_claim){.uid = 1,
                                           .count = 1,
                                           .eligible = 7,
                                           .ns = FORECAST_NONE,
                                           .size = 1u << random_number(r, 9),
                                           .bound_s = 600,
                                           .is_ready = true};
}

TEST(the_first_of_the_line_gains_from_more_room)
{
    static struct random_input r;
    int64_t promised_s, then_s;
    int tried = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        random_input_init(&r, seed, 1, FORECAST_BOUNDED);
        keep_one_claim(&r);
        if (!first_promise(&r, &promised_s) || r.input.running_count == 0)
            continue;
        tried++;
        r.running[random_number(&r, r.input.running_count)] = r.running[r.input.running_count - 1];
        r.input.running_count--;
        first_promise(&r, &then_s);
        CHECK(then_s <= promised_s);
        if (promised_s == FORECAST_UNKNOWN)
            continue;
        r.domains[0][r.controllers[0].domain_count++] = ~(uint64_t)0;
        first_promise(&r, &then_s);
        CHECK(then_s <= promised_s);
    }
    CHECK(tried > SEEDS / 10);
}

TEST(two_halves_of_a_machine_are_not_better_than_one)
{
    static struct random_input r;
    int64_t whole_s, halves_s;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t first;

        random_input_init(&r, seed, 1, FORECAST_BOUNDED);
        keep_one_claim(&r);
        first_promise(&r, &whole_s);
        first = r.controllers[0].domain_count / 2;
        r.controllers[1] = r.controllers[0];
        r.controllers[1].domains = &r.domains[0][first];
        r.controllers[1].domain_count -= first;
        r.controllers[0].domain_count = first;
        r.input.controller_count = 2;
        for (size_t i = 0; i < r.input.running_count; i++)
            if (r.running[i].block.domain >= first) {
                r.running[i].block.domain -= first;
                r.running[i].controller = 1;
            }
        first_promise(&r, &halves_s);
        CHECK(halves_s >= whole_s);
    }
}

static int64_t scaled(int64_t time_s, int64_t now_s, int64_t factor, int64_t shift)
{
    return time_s == FORECAST_UNKNOWN ? time_s : now_s + (time_s - now_s) * factor + shift;
}

static void change_times(struct random_input *r, int64_t factor, int64_t shift)
{
    int64_t now_s = r->input.now_s;

    for (size_t i = 0; i < r->input.running_count; i++) {
        struct forecast_running *it = &r->running[i];

        it->start_s = scaled(it->start_s, now_s, factor, shift);
        it->end_s = scaled(it->end_s, now_s, factor, shift);
        it->left.p50 *= (uint32_t)factor;
        it->left.p90 *= (uint32_t)factor;
    }
    for (size_t i = 0; i < r->input.claim_count; i++) {
        r->claims[i].turn_s = scaled(r->claims[i].turn_s, now_s, factor, shift);
        r->claims[i].bound_s = scaled(r->claims[i].bound_s, 0, factor, 0);
        r->claims[i].run.p50 *= (uint32_t)factor;
        r->claims[i].run.p90 *= (uint32_t)factor;
    }
    r->input.settings.close_after_s *= factor;
    r->input.settings.guard_after_s = scaled(r->input.settings.guard_after_s, 0, factor, 0);
    r->input.now_s += shift;
}

TEST(a_plan_scales_and_shifts_with_time)
{
    static struct random_input r;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int64_t factor = 1 + (int64_t)seed % 3, shift = (int64_t)seed * 17, now_s;
        const struct forecast_plan *a, *b;
        struct forecast *f, *g;

        random_input_init(&r, seed, 1 + seed % 3, POLICIES[seed % 3]);
        r.input.settings.has_shares = false; /* counts in IPU-hours */
        now_s = r.input.now_s;
        f = forecast_new(&r.input);
        a = forecast_plan_of(f);
        change_times(&r, factor, shift);
        g = forecast_new(&r.input);
        b = forecast_plan_of(g);
        CHECK_INT_EQ(a->start_count, b->start_count);
        CHECK(a->start_count == 0 || memcmp(a->starts, b->starts, a->start_count * sizeof(*a->starts)) == 0);
        CHECK_INT_EQ(a->reserved_count, b->reserved_count);
        for (size_t i = 0; i < a->reserved_count; i++)
            CHECK_INT_EQ(b->reserved[i].start_s, scaled(a->reserved[i].start_s, now_s, factor, shift));
        forecast_free(f);
        forecast_free(g);
    }
}

TEST(one_more_at_the_end_of_the_line_changes_no_start_of_others)
{
    static struct random_input r;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct forecast_plan *a, *b;
        struct forecast *f, *g;
        size_t others = 0;

        random_input_init(&r, seed, 1 + seed % 3, POLICIES[seed % 3]);
        r.input.settings.has_shares = false;
        f = forecast_new(&r.input);
        a = forecast_plan_of(f);
        r.claims[r.input.claim_count] = (struct forecast_claim){.uid = 1,
                                                                .count = 1,
                                                                .eligible = 7,
                                                                .ns = FORECAST_NONE,
                                                                .size = 1u << random_number(&r, 7),
                                                                .priority = -1,
                                                                .turn_s = r.input.now_s,
                                                                .bound_s = 600,
                                                                .is_ready = true};
        r.input.claim_count++;
        g = forecast_new(&r.input);
        b = forecast_plan_of(g);
        for (size_t i = 0; i < b->start_count; i++)
            if (b->starts[i].claim + 1 < r.input.claim_count)
                CHECK(memcmp(&b->starts[i], &a->starts[others++], sizeof(a->starts[0])) == 0);
        CHECK_INT_EQ(others, a->start_count);
        forecast_free(f);
        forecast_free(g);
    }
}

TEST(input_that_cannot_be_true_starts_nobody_wrongly)
{
    static struct random_input r;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct forecast *f;

        random_input_init(&r, seed, seed % 4, POLICIES[seed % 3]);
        random_input_spoil(&r);
        f = forecast_new(&r.input);
        for (size_t i = 0; i < forecast_plan_of(f)->start_count; i++) {
            const struct forecast_start *s = &forecast_plan_of(f)->starts[i];
            const struct forecast_block *block = &s->block;

            CHECK(r.controllers[s->controller].is_usable && r.claims[s->claim].eligible >> s->controller & 1);
            for (uint32_t d = block->domain; d < block->domain + block->domain_count; d++)
                CHECK((block->ipus & ~r.domains[s->controller][d]) == 0);
        }
        forecast_step(f, 1000); /* a slice: with billions of instances, all would take long */
        forecast_free(f);
    }
}

/* ---- on virtual time ---- */

static void add_random_jobs(struct replay *r, struct random_input *dice, size_t count, bool all_bounded,
                            uint64_t arrive_within)
{
    for (size_t i = 0; i < count; i++) {
        int64_t bound = 60 * (1 + (int64_t)random_number(dice, 100));
        struct replay_job *job = replay_add_job(r, (int64_t)random_number(dice, arrive_within),
                                                1u << random_number(dice, 8), bound);

        job->claim.ns = (uint32_t)random_number(dice, 3);
        if (!all_bounded) {
            job->run_s = 1 + (int64_t)random_number(dice, (uint64_t)bound);
            if (random_number(dice, 3) == 0)
                job->claim.bound_s = FORECAST_UNKNOWN;
        }
    }
}

TEST(no_promise_is_broken_while_bounds_hold)
{
    static struct replay r;
    static struct random_input dice;
    int promised = 0;

    for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
        dice.state = seed;
        replay_init(&r);
        replay_add_controller(&r, 1 + (uint32_t)random_number(&dice, 4));
        if (seed % 3 == 0)
            replay_add_controller(&r, r.controllers[0].domain_count);
        r.namespace_count = 3;
        r.settings.depth = 1 + (uint32_t)(seed % FORECAST_DEPTH_MAX);
        add_random_jobs(&r, &dice, 60, false, 20000);
        replay_run(&r);
        for (size_t i = 0; i < r.job_count; i++) {
            const struct replay_job *job = &r.jobs[i];

            if (job->claim.size > 64 * r.controllers[0].domain_count)
                continue;
            CHECK(job->start_s != FORECAST_UNKNOWN); /* nobody waits forever */
            CHECK(job->start_s <= job->first_promise_s);
            promised += job->first_promise_s != FORECAST_UNKNOWN;
        }
        replay_release(&r);
    }
    CHECK(promised > SEEDS / 10);
}

TEST(with_a_reservation_for_all_and_exact_times_nobody_starts_later_than_first_promised)
{
    static struct replay r;
    static struct random_input dice;
    int promised = 0;

    for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
        dice.state = seed;
        replay_init(&r);
        replay_add_controller(&r, 1 + (uint32_t)random_number(&dice, 3));
        r.settings.depth = FORECAST_DEPTH_MAX;
        replay_add_running(&r, 0, 0, 0, 0, 64, 6000);
        add_random_jobs(&r, &dice, FORECAST_DEPTH_MAX, true, 1);
        replay_run(&r);
        for (size_t i = 0; i < r.job_count; i++) {
            if (r.jobs[i].claim.size > 64 * r.controllers[0].domain_count)
                continue;
            CHECK(r.jobs[i].start_s <= r.jobs[i].first_promise_s);
            promised += r.jobs[i].first_promise_s != FORECAST_UNKNOWN;
        }
        replay_release(&r);
    }
    CHECK(promised > SEEDS / 10);
}
