/* Virtual time: a queue of events, and the time of the current one. Nothing waits, and nothing reads a real
 * clock. Events at the same time happen in the order in which they were scheduled, so that a seed always
 * gives the same run.
 *
 * There is one clock, because the functions of base/io/loop.h that it replaces (loop_clock_ms,
 * loop_random_u32) have no argument for another. Owners cancel their events before they are freed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A process, or the machine it runs on: while it is paused nothing happens in it, and all that was planned
 * comes afterwards, in the order in which it was due; but timers behind what has arrived. */
struct host {
    char *name; /* owned; NULL: none */
    int64_t paused_until_ms;
    bool is_dead; /* nothing that it sends leaves any more */
};

struct planned;

/* Lives until clock_end, for what it has sent may outlive it. */
struct host *clock_new_host(void);

typedef void (*clock_fn)(void *ctx);

void clock_begin(uint64_t seed);
void clock_end(void); /* forgets what is still planned */
int64_t clock_now_ms(void);
int64_t clock_read_ms(void); /* by who runs now, and may have been stopped in the middle of it */
int64_t clock_unix_s(void);

/* host NULL: the world's own. The handle is good until `fn` is called or it is cancelled. */
struct planned *clock_plan(int64_t delay_ms, const struct host *host, clock_fn fn, void *ctx);
struct planned *clock_plan_timer(int64_t delay_ms, const struct host *host, clock_fn fn, void *ctx);
void clock_cancel(struct planned *planned); /* accepts NULL */
bool clock_step(void);                      /* the next thing happens; false: nothing is planned */
const struct host *clock_host(void);        /* in which it happens; NULL: in none */

/* The seed's dice. */
uint32_t next_random(void);
uint32_t dice_below(uint32_t limit);             /* 0 when limit is 0 */
int64_t dice_between(int64_t low, int64_t high); /* both included */
bool dice_permille(unsigned chance);
