/* What the queue plans beyond now: whose block is kept free, and when each waiting job is expected to start.
 *
 * `told` is what reports read: the latest plan whose expected starts are complete, some seconds old:
 * computing it takes at most 1 % of a processor.
 * Its input is in told->input, with controllers in the order of the pool and a claim for each job, and
 * forecast_plan_of(told->forecast) has starts, reservations and verdicts by the same numbers. All of it stays
 * as it is until the loop's next turn. `reserved` is of the last look at the queue and so may be newer.
 *
 * Expected starts are computed in slices of the loop's time, each far below 5 ms. */
#pragma once

#include "base/io/loop.h"
#include "operator/pool/claims_plan.h"

struct queue_plan {
    struct loop *loop;
    void (*on_due)(void *ctx);           /* the queue is to be checked again */
    bool (*tell)(void *ctx, size_t *at); /* another plan is told now: to some jobs, beginning with the one at
                                          *at; true: to all */
    void *ctx;
    struct claims_plan *told;  /* NULL: none is complete yet */
    struct claims_plan *ahead; /* the one whose expected starts are being computed; NULL: none */
    bool is_being_told;        /* to those jobs that are not among... */
    size_t told_to;            /* ...the first so many */
    bool is_behind;            /* the queue has been checked since `ahead` was begun */
    int64_t next_ms;           /* no other one is begun before, on the loop's clock */
    int64_t work_us;           /* that `ahead` has taken, of a usual processor */
    struct forecast_reservation *reserved;
    size_t reserved_count;
    int64_t looked_s; /* at the queue, for the last time */
    struct loop_timer slice, wake;
};

/* Takes the plan of a look at the queue, and has it checked again when time alone changes it, at `again_s` at
 * the latest. NULL: nobody waits. */
void queue_plan_set(struct queue_plan *mine, struct claims_plan *plan, int64_t again_s);
void queue_plan_release(struct queue_plan *plan); /* drops what is planned */

/* Other work of this kind: the next forecast begins later by the pause that it needs. */
void queue_plan_charge(struct queue_plan *plan, int64_t work_us);

/* What is expected of the job's next instance; NULL: it does not wait in the plan that is told. Borrowed
 * until the loop's next turn. */
const struct forecast_verdict *queue_plan_expects(const struct queue_plan *plan, const char *uid);
/* The block that is kept for the job in the plan that is told; NULL: none. Borrowed likewise. */
const struct forecast_reservation *queue_plan_keeps(const struct queue_plan *plan, const char *uid);
