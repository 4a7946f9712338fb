/* EASY as the textbook has it (Mu'alem and Feitelson 2001), on IPUs that are only counted, with every run
 * time known beforehand. No machine with aligned blocks can reach it. */
#include "schedule/simulation.h"

/* When so many IPUs are free, and how many more there are then. */
static int64_t shadow_time(const struct simulation *s, uint32_t size, uint32_t *ret_extra)
{
    uint32_t free = s->free_ipus;
    int64_t when = s->now_s;

    for (size_t i = 0; i < s->running_count && (free < size || job_end_s(s, s->running[i]) == when); i++) {
        free += s->work->jobs[s->running[i]].size;
        when = job_end_s(s, s->running[i]);
    }
    *ret_extra = free - size;
    return when;
}

void easy_decide(struct simulation *s)
{
    size_t kept = 0;
    int64_t shadow_s = NEVER;
    uint32_t extra = 0;

    for (size_t i = 0; i < s->waiting_count; i++) {
        uint32_t job = s->waiting[i], size = s->work->jobs[job].size;
        bool is_short = shadow_s != NEVER && s->now_s + s->work->jobs[job].run_s <= shadow_s;

        if (size <= s->free_ipus && (shadow_s == NEVER || is_short || size <= extra)) {
            if (shadow_s != NEVER && !is_short)
                extra -= size;
            simulation_start(s, job, (struct forecast_block){0});
            continue;
        }
        if (shadow_s == NEVER) {
            shadow_s = shadow_time(s, size, &extra);
            if (s->outcome[job].promise_s == NEVER) {
                s->outcome[job].promised_s = s->now_s;
                s->outcome[job].promise_s = shadow_s;
            }
        }
        s->waiting[kept++] = job;
    }
    s->waiting_count = kept;
}
