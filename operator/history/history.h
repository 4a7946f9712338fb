/* What the operator has learned from jobs: for how long they keep IPUs, and how well it told when they would
 * start. Pure. The plan reads its estimates here; history_object.h keeps it in the cluster. If it is lost,
 * bands are wider for some time, and nothing else happens. */
#pragma once

#include "base/doc/json.h"
#include "base/doc/openmetrics.h"
#include "operator/forecast/run_estimate.h"
#include "operator/forecast/usage.h"
#include "operator/progress/job_progress.h"

/* A lookup is a pass over all runs. So many are made in a second, and their results are kept: equal kinds are
 * looked up once. Who has no turn gets what is kept, or nothing. */
#define HISTORY_LOOKUPS_PER_S 64u
#define HISTORY_KEPT_SETS 512u
#define HISTORY_KEPT_WAYS 4u
#define HISTORY_KEPT_S 60 /* then new runs count, too */

/* No partition is older. */
#define HISTORY_RUN_MAX_S ((int64_t)10 * 365 * 86400)

enum history_start { HISTORY_BEFORE_BAND, HISTORY_INSIDE_BAND, HISTORY_AFTER_BAND, HISTORY_STARTS };

/* So many were noted. */
struct history_mark {
    uint64_t runs, starts;
};

struct history {
    struct run_history runs;
    struct usage usage; /* noted with a run, or not at all */
    struct history_mark noted, saved;
    uint32_t early_permille, late_permille;   /* as in struct forecast_settings */
    uint64_t starts[HISTORY_STARTS];          /* since this process leads, by the band that was told */
    struct openmetrics_histogram band_widths; /* likewise: p90 - p10 */
    struct history_estimate *kept;            /* HISTORY_KEPT_SETS x HISTORY_KEPT_WAYS */
    int64_t lookups_s;                        /* the second in which there were... */
    uint32_t lookups;                         /* ...so many */
};

struct history *history_new(void);
void history_free(struct history *history); /* accepts NULL */

/* ---- for the plan; loop_s is the time of the loop, because other clocks jump ---- */

/* Of the whole time that a run of this kind keeps IPUs: struct forecast_claim.run. All 0: unknown. */
struct forecast_quantiles history_run(struct history *history, const struct run_kind *kind, int64_t loop_s);
/* Of the time that is left to one that has had IPUs for so long: struct forecast_running.left. `progress` is
 * what it reports, or NULL; it counts if it is fresh and has moved. */
struct forecast_quantiles history_left(struct history *history, const struct run_kind *kind,
                                       int64_t elapsed_s, const struct instance_progress *progress,
                                       int64_t loop_s);
/* Sets early_permille and late_permille to what starts so far have shown to be right. */
void history_calibrate(const struct history *history, struct forecast_settings *settings);

/* ---- what was seen ---- */

/* A run has released its IPUs after so long. A time that cannot be true, because a clock has jumped, is not
 * noted. */
void history_note_run(struct history *history, const struct run_kind *kind, int64_t seconds);
/* An instance that was told this band got IPUs. A start without a band, or at once, does not count. */
void history_note_start(struct history *history, const struct forecast_verdict *told, int64_t start_s);

/* ---- as the data of a ConfigMap ---- */

#define HISTORY_TEXT_MAX ((size_t)512 * 1024)

uint32_t history_run_count(const struct history *history); /* that are kept */
bool history_is_saved(const struct history *history);
cJSON *history_print(const struct history *history); /* owned by the caller */
/* Takes what was printed, followed by the runs that are not saved. Returns a sentence about what it has left
 * out, because no operator has written it; owned by the caller. NULL: nothing. */
char *history_read(struct history *history, const cJSON *data);
