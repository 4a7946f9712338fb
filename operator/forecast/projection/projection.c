#include "operator/forecast/projection/projection.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/forecast/projection/run_sample.h"
#include "operator/forecast/queue/min_heap.h"
#include "operator/forecast/projection/picker.h"

#define EXACT_CLAIMS 200u
#define EXACT_SLOTS 256u /* with more occupants, ends are rounded */
#define EVENT_WORK 3u    /* microseconds of a usual processor, for an event and for a start */

struct projection {
    const struct moment *served;
    struct moment moment;
    struct picker picker;
    void *moment_memory, *picker_memory;
    struct min_heap events; /* second, slot */
    uint32_t scenario;      /* SAMPLE_MEDIAN: of all claims */
    bool is_begun, is_complete, is_rounding;
    uint32_t to_start;      /* claims of the picker that have not started since the begin of the scenario */
    uint64_t events_left;   /* a claim of many instances cannot make a scenario endless */
    uint32_t *first_starts; /* per claim of the picker, in this scenario; SAMPLE_NEVER: not yet */
    uint32_t exact_count;
    uint32_t (*exact)[SAMPLE_SCENARIOS]; /* per exact claim: its first start */
    uint32_t *exact_claims;
};

struct projection *projection_new(const struct moment *served)
{
    const struct forecast_input *input = served->input;
    struct projection *p = NEW(struct projection);
    uint32_t claims = (uint32_t)input->claim_count;

    p->served = served;
    p->moment_memory = mem_alloc(moment_lay_out(&p->moment, input, served->queue, NULL));
    moment_lay_out(&p->moment, input, served->queue, p->moment_memory);
    p->picker_memory = mem_alloc(picker_lay_out(&p->picker, served, claims, NULL));
    picker_lay_out(&p->picker, served, claims, p->picker_memory);
    picker_init(&p->picker, served, EXACT_CLAIMS);
    p->events.items = mem_alloc(p->moment.slots_max * sizeof(*p->events.items));
    p->first_starts = mem_alloc(claims * sizeof(*p->first_starts));
    p->exact_count = p->picker.count;
    p->exact = mem_alloc(p->exact_count * sizeof(*p->exact));
    p->exact_claims = mem_dup(p->picker.claims, p->exact_count * sizeof(*p->exact_claims));
    p->is_complete = p->exact_count == 0;
    return p;
}

void projection_free(struct projection *p)
{
    if (!p)
        return;
    mem_free(p->moment_memory);
    mem_free(p->picker_memory);
    mem_free(p->events.items);
    mem_free(p->first_starts);
    mem_free(p->exact);
    mem_free(p->exact_claims);
    mem_free(p);
}

/* ---- one scenario ---- */

/* The end of the slot, or an earlier bound that has to be corrected. */
static void push_event(struct projection *p, uint32_t at)
{
    const struct slot *s = &p->moment.slots[at];
    uint32_t next = s->key < s->end ? s->key : s->end;

    if (next < KEY_NO_BOUND)
        min_heap_push(&p->events, (uint64_t)next << 32 | at);
}

/* On a large machine, ends are rounded up by at most 1/64 of their distance, so that the line is served once
 * for several of them. That is much less than what is known about run times. */
static uint32_t rounded(const struct projection *p, uint32_t end)
{
    uint32_t step = 1u << (31 - __builtin_clz(end | 64)) >> 6;

    return p->is_rounding && end < KEY_NO_BOUND ? (end + step - 1) & ~(step - 1) : end;
}

static void draw_end(struct projection *p, uint32_t at)
{
    const struct forecast_input *input = p->moment.input;
    struct slot *s = &p->moment.slots[at];
    uint32_t number = s->source & ~SLOT_RUNNING;
    bool is_running = s->source & SLOT_RUNNING;
    const struct forecast_quantiles *q =
        is_running ? &input->running[number].left : &input->claims[number].run;
    uint64_t uid = is_running ? input->running[number].uid : input->claims[number].uid;
    int64_t bound = s->hard_s == FORECAST_UNKNOWN ? FORECAST_UNKNOWN : s->hard_s - p->moment.now;
    uint32_t span = sample_span(q, bound, uid, s->instance, p->scenario);

    s->end = __builtin_add_overflow(span, p->moment.now, &span) ? SAMPLE_NEVER : rounded(p, span);
    if (s->end > s->key && span <= s->key)
        s->end = s->key; /* by its bound it has ended */
    push_event(p, at);
}

static void begin_scenario(struct projection *p)
{
    moment_copy(&p->moment, p->served);
    picker_restart(&p->picker);
    memset(p->first_starts, 0xff, p->picker.count * sizeof(*p->first_starts));
    p->to_start = p->picker.count;
    p->events_left = 65536 + 4 * ((uint64_t)p->picker.count + p->moment.slot_count);
    p->events.count = 0;
    p->is_rounding = p->served->slot_count > EXACT_SLOTS;
    for (uint32_t at = 0; at < p->moment.slot_count; at++)
        if (p->moment.slots[at].source != FORECAST_NONE)
            draw_end(p, at);
    p->is_begun = true;
}

/* All that happens at the next second at which something does. Returns the number of events and starts. */
static uint32_t step_scenario(struct projection *p)
{
    struct moment *b = &p->moment;
    uint32_t now = (uint32_t)(p->events.items[0] >> 32), events = 0;

    for (; p->events.count > 0 && p->events.items[0] >> 32 == now; events++) {
        uint32_t at = (uint32_t)min_heap_pop(&p->events);

        b->now = now;
        if (b->slots[at].end <= now) {
            moment_release(b, at);
        } else {
            moment_correct(b, at);
            push_event(p, at);
        }
    }
    moment_begin(b, now);
    picker_serve(&p->picker, b);
    for (uint32_t i = 0; i < b->log_count; i++) {
        uint32_t *first = &p->first_starts[p->picker.places[b->slots[b->log[i]].source]];

        if (*first == SAMPLE_NEVER) {
            *first = now;
            p->to_start--;
        }
        draw_end(p, b->log[i]);
    }
    return events + b->log_count;
}

static bool scenario_is_over(const struct projection *p)
{
    return p->to_start == 0 || p->events.count == 0 || p->events_left == 0;
}

/* ---- bands ---- */

static void sort_numbers(uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t at = i; at > 0 && numbers[at] < numbers[at - 1]; at--) {
            uint32_t swap = numbers[at];

            numbers[at] = numbers[at - 1];
            numbers[at - 1] = swap;
        }
}

static int64_t time_of(const struct projection *p, uint32_t second)
{
    return second == SAMPLE_NEVER ? FORECAST_UNKNOWN : moment_time(p->served, second);
}

static int64_t stretched(int64_t span, uint32_t permille)
{
    return span / 1000 * permille + span % 1000 * permille / 1000;
}

/* What the scenarios do not know, such as later arrivals, makes bands wider. */
static void stretch_band(const struct projection *p, struct forecast_verdict *v)
{
    const struct forecast_input *input = p->served->input;

    if (v->p50_s == FORECAST_UNKNOWN)
        return;
    v->p10_s = v->p50_s - stretched(v->p50_s - v->p10_s, input->settings.early_permille);
    v->p10_s = v->p10_s > input->now_s ? v->p10_s : input->now_s;
    if (v->p90_s != FORECAST_UNKNOWN)
        v->p90_s = v->p50_s + stretched(v->p90_s - v->p50_s, input->settings.late_permille);
}

/* The 4th, the middle of the 20th and 21st, and the 37th of 40. */
static void set_exact_bands(struct projection *p, struct forecast_verdict *verdicts)
{
    for (uint32_t i = 0; i < p->exact_count; i++) {
        struct forecast_verdict *v = &verdicts[p->exact_claims[i]];
        uint32_t *starts = p->exact[i], low, high;

        sort_numbers(starts, SAMPLE_SCENARIOS);
        low = starts[SAMPLE_SCENARIOS / 2 - 1];
        high = starts[SAMPLE_SCENARIOS / 2];
        v->p10_s = time_of(p, starts[SAMPLE_SCENARIOS / 10 - 1]);
        v->p50_s = time_of(p, high == SAMPLE_NEVER ? SAMPLE_NEVER : low + (high - low) / 2);
        v->p90_s = time_of(p, starts[SAMPLE_SCENARIOS * 9 / 10]);
        v->basis = v->p50_s == FORECAST_UNKNOWN ? FORECAST_OPEN : FORECAST_BY_HISTORY;
        stretch_band(p, v);
    }
}

/* How far p10 and p90 are from p50, in thousandths of the wait, for all exact claims together. */
struct width {
    int64_t early, late;
    bool is_open;
};

static struct width width_of(const struct projection *p, const struct forecast_verdict *verdicts)
{
    int64_t waits = 1, early = 0, late = 0;
    struct width w = {0};

    for (uint32_t i = 0; i < p->exact_count; i++) {
        const struct forecast_verdict *v = &verdicts[p->exact_claims[i]];

        if (v->p90_s == FORECAST_UNKNOWN) {
            w.is_open = true;
            continue;
        }
        waits += v->p50_s - p->served->input->now_s;
        early += v->p50_s - v->p10_s;
        late += v->p90_s - v->p50_s;
    }
    w.early = early * 1000 / waits;
    w.late = late * 1000 / waits;
    return w;
}

static void set_far_bands(const struct projection *p, struct forecast_verdict *verdicts)
{
    struct width w = width_of(p, verdicts);

    for (uint32_t i = 0; i < p->picker.count; i++) {
        struct forecast_verdict *v = &verdicts[p->picker.claims[i]];
        int64_t start = p->first_starts[i];

        if (start == SAMPLE_NEVER || v->p10_s != FORECAST_UNKNOWN)
            continue; /* open, or exact */
        v->basis = FORECAST_BY_ORDER;
        v->p10_s = moment_time(p->served, start - start * (w.early < 1000 ? w.early : 1000) / 1000);
        v->p50_s = moment_time(p->served, start);
        v->p90_s = w.is_open ? FORECAST_UNKNOWN : moment_time(p->served, start + start * w.late / 1000);
    }
}

/* ---- all scenarios ---- */

static void end_scenario(struct projection *p, struct forecast_verdict *verdicts)
{
    p->is_begun = false;
    if (p->scenario == SAMPLE_MEDIAN) {
        set_far_bands(p, verdicts);
        p->is_complete = true;
        return;
    }
    for (uint32_t i = 0; i < p->exact_count; i++)
        p->exact[i][p->scenario] = p->first_starts[i];
    if (++p->scenario < SAMPLE_SCENARIOS)
        return;
    set_exact_bands(p, verdicts);
    p->is_complete = p->exact_count < EXACT_CLAIMS;
}

bool projection_step(struct projection *p, uint32_t work, struct forecast_verdict *verdicts)
{
    while (!p->is_complete) {
        uint32_t cost;

        if (!p->is_begun)
            begin_scenario(p);
        if (scenario_is_over(p)) {
            end_scenario(p, verdicts);
            if (p->is_complete || p->scenario < SAMPLE_MEDIAN)
                continue;
            picker_init(&p->picker, p->served, UINT32_MAX); /* with many claims, as long as a slice */
            break;
        }
        cost = EVENT_WORK * step_scenario(p);
        p->events_left -= cost / EVENT_WORK < p->events_left ? cost / EVENT_WORK : p->events_left;
        if (cost >= work)
            break;
        work -= cost;
    }
    return p->is_complete;
}
