#include "schedule/result.h"

#include <stdio.h>

#define LARGE 64u       /* IPUs: a whole domain or more */
#define SHORTEST_S 10.0 /* a shorter run counts as one of this length: Feitelson's bounded slowdown */

struct group {
    struct samples waits, large_waits, slowdowns, late, unfair, width, plain_width;
    double promised, told, inside, inside_plain, below, asked, by_passer;
};

static void group_release(struct group *g)
{
    samples_release(&g->waits);
    samples_release(&g->large_waits);
    samples_release(&g->slowdowns);
    samples_release(&g->late);
    samples_release(&g->unfair);
    samples_release(&g->width);
    samples_release(&g->plain_width);
}
DEFINE_AUTO(group);

static bool is_inside(struct band band, int64_t time_s)
{
    return band.early_s <= time_s && time_s <= band.late_s;
}

/* Later than by a minute and 5 % of its wait. */
static bool is_unfair(const struct outcome *o, int64_t submit_s)
{
    int64_t late_s = o->start_s - o->fair_s;

    return late_s > 60 && late_s * 20 > o->fair_s - submit_s;
}

static void group_add_told(struct group *g, const struct outcome *o)
{
    g->told++;
    g->inside += is_inside((struct band){o->told.p10_s, o->told.p90_s}, o->start_s);
    g->below += o->start_s < o->told.p10_s;
    g->inside_plain += is_inside(o->plain, o->start_s);
    samples_add(&g->width, (double)(o->told.p90_s - o->told.p10_s));
    samples_add(&g->plain_width, (double)(o->plain.late_s - o->plain.early_s));
}

static void group_add(struct group *g, const struct job *job, const struct outcome *o)
{
    double wait = (double)(o->start_s - job->submit_s), run = (double)job->run_s;
    double slowdown = (wait + run) / (run > SHORTEST_S ? run : SHORTEST_S);

    samples_add(&g->waits, wait);
    if (job->size >= LARGE)
        samples_add(&g->large_waits, wait);
    samples_add(&g->slowdowns, slowdown > 1 ? slowdown : 1);
    if (o->promise_s != NEVER) {
        g->promised++;
        g->by_passer += o->is_late_by_passer;
        if (o->start_s > o->promise_s)
            samples_add(&g->late, (double)(o->start_s - o->promise_s));
    }
    if (o->is_told)
        group_add_told(g, o);
    if (o->fair_s != NEVER) {
        g->asked++;
        if (is_unfair(o, job->submit_s))
            samples_add(&g->unfair, (double)(o->start_s - o->fair_s));
    }
}

void result_print(struct simulation *s)
{
    AUTO(group) struct group g = {0};
    double span = (double)(s->measured_until_s - s->measured_from_s),
           machine = span * s->work->domains * DOMAIN_IPUS, unbounded = 0;
    const size_t *left_out = s->work->left_out;

    for (size_t i = 0; i < s->work->count; i++) {
        unbounded += s->work->jobs[i].bound_s == NO_BOUND;
        if (s->work->jobs[i].submit_s >= s->measured_from_s)
            group_add(&g, &s->work->jobs[i], &s->outcome[i]);
    }
    struct {
        const char *name;
        double value;
    } rows[] = {
        {"jobs", (double)s->work->count},
        {"no_row", (double)left_out[NO_ROW]},
        {"no_arrival", (double)left_out[NO_ARRIVAL]},
        {"no_run", (double)left_out[NO_RUN]},
        {"no_ipus", (double)left_out[NO_IPUS]},
        {"too_large", (double)left_out[TOO_LARGE]},
        {"unbounded", unbounded},
        {"domains", s->work->domains},
        {"load", workload_load(s->work)},
        {"wait_s", samples_mean(&g.waits)},
        {"wait_p95_s", samples_quantile(&g.waits, 0.95)},
        {"wait_max_s", samples_quantile(&g.waits, 1)},
        {"large_wait_s", samples_mean(&g.large_waits)},
        {"slowdown", samples_mean(&g.slowdowns)},
        {"slowdown_p95", samples_quantile(&g.slowdowns, 0.95)},
        {"utilisation", s->busy / machine},
        {"fragmented", s->lost[LOSS_FRAGMENTED] / machine},
        {"reserved", s->lost[LOSS_RESERVED] / machine},
        {"order", s->lost[LOSS_POLICY] / machine},
        {"queued_middle", s->queued[1] / span * THIRDS},
        {"queued_last", s->queued[2] / span * THIRDS},
        {"promised", g.promised},
        {"late", (double)g.late.count},
        {"late_s", samples_mean(&g.late)},
        {"late_by_passer", g.by_passer},
        {"asked", g.asked},
        {"unfair", (double)g.unfair.count},
        {"unfair_s", samples_mean(&g.unfair)},
        {"told", g.told},
        {"inside", g.inside},
        {"below", g.below},
        {"width_s", samples_quantile(&g.width, 0.5)},
        {"inside_plain", g.inside_plain},
        {"plain_width_s", samples_quantile(&g.plain_width, 0.5)},
        {"decision_us", samples_quantile(&s->decision_us, 0.5)},
        {"decision_p99_us", samples_quantile(&s->decision_us, 0.99)},
        {"forecast_us", samples_quantile(&s->forecast_us, 0.5)},
        {"forecast_p99_us", samples_quantile(&s->forecast_us, 0.99)},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        (void)printf("%s\"%s\":%.17g", i ? "," : "{", rows[i].name, rows[i].value);
    (void)puts("}");
}
