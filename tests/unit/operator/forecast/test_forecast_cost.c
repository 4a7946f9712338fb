#include "operator/forecast/forecast.h"

#include <stdio.h>
#include <time.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/forecast/plan/remedy.h"

/* 256 domains that are nearly full, and 10,000 that wait. Times depend on the machine, so they are printed,
 * and only an order of magnitude more than the aim fails. */
#define DOMAINS 256u
#define CLAIMS 10000u
#define SLICE_US 2000u

static uint64_t domains[DOMAINS];
static struct forecast_running running[DOMAINS * 64];
static struct forecast_claim claims[CLAIMS];
static uint64_t state;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static size_t fill(uint32_t size_max)
{
    size_t count = 0;

    for (uint32_t d = 0; d < DOMAINS; d++)
        for (uint32_t at = 0, size; at < 64; at += size) {
            uint32_t middle = 60 + below(7200);

            for (size = 1u << below(7); size > size_max || at % size || at + size > 64;)
                size /= 2;
            running[count++] = (struct forecast_running){
                .uid = state,
                .ns = FORECAST_NONE,
                .block = {d, 1, (size == 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1) << at},
                .size = size,
                .start_s = -(int64_t)below(7200),
                .end_s = below(2) ? 60 + below(14400) : FORECAST_UNKNOWN,
                .left = {middle / 4, middle, middle * 4}};
        }
    return count;
}

static struct forecast_input input_of(uint32_t size_max)
{
    static struct forecast_controller c;
    static const uint32_t SIZES[] = {1, 2, 4, 4, 4, 8, 8, 16, 16, 16, 32, 32, 64, 64, 128, 256};

    state = 7;
    c = (struct forecast_controller){.is_usable = true,
                                     .is_placed = true,
                                     .policy = FORECAST_BOUNDED,
                                     .ipus_per_domain = 64,
                                     .domains = domains,
                                     .domain_count = DOMAINS};
    for (uint32_t d = 0; d < DOMAINS; d++)
        domains[d] = ~(uint64_t)0;
    for (uint32_t i = 0; i < CLAIMS; i++) {
        uint32_t middle = 60 + below(3600);

        claims[i] = (struct forecast_claim){.uid = state,
                                            .count = 1,
                                            .eligible = 1,
                                            .ns = FORECAST_NONE,
                                            .size = SIZES[below(16)],
                                            .turn_s = (int64_t)i - CLAIMS,
                                            .bound_s = below(2) ? middle * 3 : FORECAST_UNKNOWN,
                                            .run = {middle / 4, middle, middle * 3},
                                            .is_ready = true};
    }
    return (struct forecast_input){.controllers = &c,
                                   .controller_count = 1,
                                   .running = running,
                                   .running_count = fill(size_max),
                                   .claims = claims,
                                   .claim_count = CLAIMS,
                                   .settings = FORECAST_SETTINGS_DEFAULT};
}

static double now_ms(void)
{
    struct timespec now;

    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Returns how long all of it took. */
static double measure(const struct forecast_input *input)
{
    double begin = now_ms(), decided, complete, slice, longest = 0;
    struct forecast *f = forecast_new(input);
    bool is_complete = false;

    decided = now_ms();
    while (!is_complete) {
        slice = now_ms();
        is_complete = forecast_step(f, SLICE_US);
        slice = now_ms() - slice;
        longest = slice > longest ? slice : longest;
    }
    complete = now_ms();
    printf("%zu run, %u wait: who starts in %.2f ms, all expected starts in %.0f ms, longest slice %.2f ms\n",
           input->running_count, CLAIMS, decided - begin, complete - decided, longest);
    CHECK(decided - begin < 100 && longest < 100);
    forecast_free(f);
    return complete - begin;
}

TEST(ten_thousand_waiting_claims_take_milliseconds)
{
    struct forecast_input large = input_of(64), small;

    measure(&large);
    small = input_of(1);
    measure(&small);
}

/* Whose bound has passed is looked for once, not in each of the moments that are projected. */
TEST(promises_that_slip_do_not_multiply_the_time)
{
    struct forecast_input input = input_of(1);
    struct forecast_reservation slipped[FORECAST_DEPTH_MAX];
    double before = measure(&input);

    for (uint32_t i = 0; i < FORECAST_DEPTH_MAX; i++) {
        claims[i].size = 256;
        slipped[i] = (struct forecast_reservation){.uid = claims[i].uid,
                                                   .block = {i * 4, 4, ~(uint64_t)0},
                                                   .start_s = -60,
                                                   .promise_s = -60,
                                                   .since_s = -(int64_t)CLAIMS,
                                                   .claim = FORECAST_NONE};
    }
    input.reservations = slipped;
    input.reservation_count = FORECAST_DEPTH_MAX;
    input.settings.depth = FORECAST_DEPTH_MAX;
    CHECK(measure(&input) < 6 * before);
}

/* Two jobs have to move for each block that could be freed, and only one of them fits elsewhere. */
TEST(advice_for_which_every_block_is_tried_takes_milliseconds)
{
    struct forecast_input input = input_of(1);
    struct forecast *f;
    struct remedy remedy;
    double begin, took;

    input.running_count--;
    input.claim_count = 1;
    claims[0].size = 2;
    for (size_t i = 0; i < input.running_count; i++)
        running[i].ns = 0;
    f = forecast_new(&input);
    begin = now_ms();
    CHECK(!remedy_find(&input, forecast_plan_of(f), 0, REMEDY_DEFRAGMENTATION, 0, &remedy));
    took = now_ms() - begin;
    printf("%zu run: no advice in %.2f ms\n", input.running_count, took);
    CHECK(took < 100);
    forecast_free(f);
}
