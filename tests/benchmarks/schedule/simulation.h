/* A machine and its queue on virtual time: jobs arrive, start where the policy says, and end. Who starts must
 * have free IPUs in one aligned block, or the simulation ends with a message. */
#pragma once

#include "operator/forecast/forecast.h"
#include "schedule/samples.h"
#include "schedule/workload.h"

enum policy { STRICT, BOUNDED, PREDICTED, EASY };

/* Why IPUs were idle although somebody waited for them. */
enum { LOSS_FRAGMENTED, LOSS_RESERVED, LOSS_POLICY, LOSSES };

#define NEVER INT64_MAX
#define THIRDS 3

struct band {
    int64_t early_s, late_s;
};

/* What became of a job. */
struct outcome {
    int64_t start_s;        /* NEVER: it waits */
    int64_t promise_s;      /* the first start that its reservation told; NEVER: none was known */
    int64_t promised_s;     /* when that was told */
    bool is_late_by_passer; /* when it should have started, one that had passed it held its block */
    bool is_told;           /* it had to wait, and was told at its arrival when it would start: */
    struct forecast_verdict told;
    struct band plain; /* all run times at their p10, and all at their p90 */
    int64_t fair_s;    /* when it would have started without those that came after it; NEVER: not asked */
};

struct simulation {
    const struct workload *work;
    enum policy policy;
    uint32_t sample_every;       /* one waiting job of so many is told its start, and asked what was fair */
    size_t arriving, arrivals;   /* the next job to arrive, and the first that does not */
    int64_t now_s, wake_s;       /* at wake_s the policy decides again, if nothing happens before */
    uint32_t *waiting, *running; /* jobs, in order of arrival and of their end */
    size_t waiting_count, running_count;
    struct outcome *outcome;      /* per job */
    struct forecast_block *block; /* per job, while it runs; domain_count 0: only counted */
    uint64_t *free;               /* per domain: its free IPUs */
    uint32_t free_ipus;
    uint64_t waiting_ipus;
    uint32_t smallest;                     /* IPUs of a job */
    struct forecast_reservation *reserved; /* of the latest decision */
    size_t reserved_count;
    struct run_times *run_times;       /* of what has ended; borrowed */
    struct forecast_settings settings; /* calibrated by every start that was told */
    bool is_what_if;                   /* a copy that measures nothing and learns nothing */

    /* In IPU-seconds, between the first job that counts and the last arrival. */
    int64_t measured_from_s, measured_until_s;
    double busy, lost[LOSSES], queued[THIRDS];
    struct samples decision_us, forecast_us;
};

void simulation_init(struct simulation *s, const struct workload *work, enum policy policy,
                     uint32_t sample_every);
void simulation_run(struct simulation *s); /* until all have started */
void simulation_release(struct simulation *s);

/* ---- for policies ---- */

int64_t job_end_s(const struct simulation *s, uint32_t job); /* of one that runs */
/* block.domain_count 0: IPUs are only counted. The caller removes it from those that wait. */
void simulation_start(struct simulation *s, uint32_t job, struct forecast_block block);
void easy_decide(struct simulation *s);
void engine_decide(struct simulation *s);
void engine_tell(struct simulation *s, uint32_t job);
