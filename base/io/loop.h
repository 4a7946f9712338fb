/* The event loop: a thin layer over libuv, so that all sources in a program use one thread and one clock.
 *
 * Time is CLOCK_BOOTTIME in milliseconds (a suspended machine's lease expires too), read once per turn. A
 * stopped timer's callback never runs, even if it was due in the same turn; timers may be stopped and their
 * owner freed from inside their own callback. The owner embeds a struct loop_timer (zeroed before first use)
 * and must stop it before it is freed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct uv_loop_s;
struct loop_timer;
struct loop_timer_handle;

typedef void (*loop_timer_fn)(struct loop_timer *timer);
typedef void (*loop_signal_fn)(void *ctx, int signum);

struct loop_timer {
    struct loop_timer_handle *handle; /* NULL if stopped */
    loop_timer_fn fn;
};

/* From now on the process ignores SIGPIPE, and the numbers of closed standard streams are reserved. */
struct loop *loop_new(void);
void loop_free(struct loop *loop); /* lets pending close callbacks run; all sources must be stopped */
void loop_run(struct loop *loop);  /* until loop_stop, or until there are no active sources */
void loop_stop(struct loop *loop);
struct uv_loop_s *loop_uv(struct loop *loop);

int64_t loop_now_ms(const struct loop *loop); /* this turn's CLOCK_BOOTTIME */
int64_t loop_clock_ms(void);                  /* CLOCK_BOOTTIME right now, for checks just before a send */
int64_t loop_clock_us(void);                  /* the same in microseconds, for measurements */
int64_t loop_unix_micros(void); /* wall clock, for timestamps shown to users; never for decisions */
uint32_t loop_random_u32(void); /* random bits for jitter */
void loop_random(void *bytes, size_t count); /* suitable for keys */

/* Fires once, delay_ms from now (0: next turn). Starting a running timer moves it. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms, loop_timer_fn fn);
void loop_timer_stop(struct loop_timer *timer);
bool loop_timer_is_running(const struct loop_timer *timer);

/* One handler per signal; stays until the loop is freed. */
void loop_on_signal(struct loop *loop, int signum, loop_signal_fn fn, void *ctx);
