/* How long runs take, from those that have ended. Pure.
 *
 * The history is bounded: the oldest run makes room for the newest. Losing it only widens the bands. A run
 * counts for its kind: namespace, name without numbers, image and size; and for wider kinds, which are asked
 * if there are fewer than 9 runs of the narrow one. With n past runs, the next one is shorter than the k-th
 * shortest with probability k / (n + 1), so 9 are needed for p10 and p90. Failed and cancelled runs count
 * too: what matters is for how long IPUs are occupied. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"
#include "operator/forecast/forecast.h"

#define RUN_HISTORY_MAX 8192u
#define RUN_KINDS 3u

/* Hashes: from namespace, name, image and size; without image; without name and image. */
struct run_kind {
    uint32_t hashes[RUN_KINDS];
    uint32_t size;
};

struct run_history {
    struct run_past {
        struct run_kind kind;
        uint32_t seconds;
    } runs[RUN_HISTORY_MAX];
    uint32_t count; /* all that were ever added; the last RUN_HISTORY_MAX are kept */
};

/* `name` without trailing numbers, dates, hashes and generated suffixes counts. */
struct run_kind run_kind_of(const char *ns, const char *name, const char *image, uint32_t size);
void run_history_add(struct run_history *history, const struct run_kind *kind, uint32_t seconds);

/* Of the time that a run of this kind takes; all 0 if nothing is known. With fewer than 9 runs of any kind,
 * their minimum and maximum. Takes a pass over the history: ask once for equal kinds. */
struct forecast_quantiles run_history_quantiles(const struct run_history *history,
                                                const struct run_kind *kind);
/* Of the time that a run still takes that has run for `elapsed` seconds: of those that ran longer. If that
 * were fewer than 3, it runs for half as long again, and up to twice as long: who has run long, runs long. */
struct forecast_quantiles run_history_left(const struct run_history *history, const struct run_kind *kind,
                                           uint32_t elapsed);

/* One line for each run, oldest first: seconds, size, hashes in hexadecimal. */
void run_history_write(const struct run_history *history, struct str *text);
/* What it wrote. Lines that it cannot have written are left out; returns their number. */
size_t run_history_read(struct run_history *history, const char *text);

/* The next end to believe in for a run whose expected end has passed: later by 1, 5, 15 and 30 minutes, by 1,
 * 2, 5, 10, 20, 50 and then always 100 hours (Tsafrir, Etsion, Feitelson 2007): most are nearly done, and the
 * number of corrections stays small. */
int64_t run_estimate_corrected(int64_t expected_s, int64_t now_s);
