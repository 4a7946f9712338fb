#include "operator/history/history.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/core/mem.h"

#define RUN_LINE_MAX 50u /* bytes of a run as text */
static_assert(RUN_HISTORY_MAX * RUN_LINE_MAX <= HISTORY_TEXT_MAX, "what is written can be read");

/* After a program's end until its IPUs are free. */
#define RELEASE_S 60

struct history_estimate {
    bool is_used;
    struct run_kind kind;
    uint32_t elapsed_s; /* rounded */
    struct forecast_quantiles left;
    int64_t looked_s;
    uint64_t runs; /* noted by then */
};

struct history *history_new(void)
{
    struct history *history = NEW(struct history);
    struct forecast_settings settings = FORECAST_SETTINGS_DEFAULT;

    history->early_permille = settings.early_permille;
    history->late_permille = settings.late_permille;
    history->band_widths.scale = OPENMETRICS_WORK;
    history->kept = mem_alloc((size_t)HISTORY_KEPT_SETS * HISTORY_KEPT_WAYS * sizeof(*history->kept));
    return history;
}

void history_free(struct history *history)
{
    if (!history)
        return;
    mem_free(history->kept);
    mem_free(history);
}

/* ---- estimates ---- */

static bool is_same(const struct run_kind *a, const struct run_kind *b)
{
    return memcmp(a->hashes, b->hashes, sizeof(a->hashes)) == 0 && a->size == b->size;
}

/* The estimate of that kind, or the one that was looked up longest ago in its place. */
static struct history_estimate *find_kept(struct history *history, const struct run_kind *kind,
                                          uint32_t elapsed_s)
{
    uint32_t hash = (kind->hashes[0] ^ elapsed_s) * 2654435761u;
    struct history_estimate *set =
        &history->kept[(size_t)(hash >> 16) % HISTORY_KEPT_SETS * HISTORY_KEPT_WAYS];
    struct history_estimate *oldest = set;

    for (unsigned i = 0; i < HISTORY_KEPT_WAYS; i++) {
        if (set[i].is_used && set[i].elapsed_s == elapsed_s && is_same(&set[i].kind, kind))
            return &set[i];
        if (!set[i].is_used || (oldest->is_used && set[i].looked_s < oldest->looked_s))
            oldest = &set[i];
    }
    return oldest;
}

static bool has_turn(struct history *history, int64_t loop_s)
{
    if (loop_s != history->lookups_s) {
        history->lookups_s = loop_s;
        history->lookups = 0;
    }
    return history->lookups < HISTORY_LOOKUPS_PER_S && ++history->lookups;
}

static struct forecast_quantiles look_up(struct history *history, const struct run_kind *kind,
                                         uint32_t elapsed_s, int64_t loop_s)
{
    struct history_estimate *it = find_kept(history, kind, elapsed_s);
    bool is_kept = it->is_used && it->elapsed_s == elapsed_s && is_same(&it->kind, kind);
    bool is_recent = it->left.p90 && loop_s < it->looked_s + HISTORY_KEPT_S;

    if (is_kept && (is_recent || it->runs == history->noted.runs))
        return it->left;
    if (!has_turn(history, loop_s))
        return is_kept ? it->left : (struct forecast_quantiles){0};
    *it = (struct history_estimate){
        .is_used = true,
        .kind = *kind,
        .elapsed_s = elapsed_s,
        .left = elapsed_s ? run_history_left(&history->runs, kind, elapsed_s)
                          : run_history_quantiles(&history->runs, kind),
        .looked_s = loop_s,
        .runs = history->noted.runs,
    };
    return it->left;
}

struct forecast_quantiles history_run(struct history *history, const struct run_kind *kind, int64_t loop_s)
{
    return look_up(history, kind, 0, loop_s);
}

/* By a sixteenth at most, so that an estimate is looked up again now and then only. */
static uint32_t rounded(uint32_t elapsed_s)
{
    uint32_t step = 16;

    while (elapsed_s / step >= 32)
        step *= 2;
    return elapsed_s / step * step;
}

static uint32_t less(uint32_t seconds, uint32_t by)
{
    return seconds > by ? seconds - by : 1;
}

/* The error is as large as the part of the run that is still to come. */
static struct forecast_quantiles of_progress(uint32_t left_s, uint32_t percent)
{
    return (struct forecast_quantiles){
        less((uint32_t)((uint64_t)left_s * percent / 100), 0),
        less(left_s, 0),
        (uint32_t)((uint64_t)left_s * (200 - percent) / 100) + RELEASE_S,
    };
}

static uint32_t within(int64_t seconds)
{
    return seconds < 0 ? 0 : seconds < HISTORY_RUN_MAX_S ? (uint32_t)seconds : (uint32_t)HISTORY_RUN_MAX_S;
}

struct forecast_quantiles history_left(struct history *history, const struct run_kind *kind,
                                       int64_t elapsed_s, const struct instance_progress *progress,
                                       int64_t loop_s)
{
    int64_t left_s = progress ? instance_progress_left_s(progress, loop_s) : -1;
    uint32_t since = within(elapsed_s) - rounded(within(elapsed_s));
    struct forecast_quantiles q;

    if (left_s >= 0)
        return of_progress(within(left_s), (uint32_t)progress->percent);
    q = look_up(history, kind, rounded(within(elapsed_s)), loop_s);
    return q.p90 == 0
               ? q
               : (struct forecast_quantiles){less(q.p10, since), less(q.p50, since), less(q.p90, since)};
}

void history_calibrate(const struct history *history, struct forecast_settings *settings)
{
    settings->early_permille = history->early_permille;
    settings->late_permille = history->late_permille;
}

/* ---- what was seen ---- */

void history_note_run(struct history *history, const struct run_kind *kind, int64_t seconds)
{
    if (seconds < 0 || seconds > HISTORY_RUN_MAX_S)
        return;
    run_history_add(&history->runs, kind, (uint32_t)seconds);
    history->noted.runs++;
}

void history_note_start(struct history *history, const struct forecast_verdict *told, int64_t start_s)
{
    struct forecast_settings settings = FORECAST_SETTINGS_DEFAULT;
    bool is_early = start_s<told->p10_s, is_late = start_s> told->p90_s;

    if (told->basis == FORECAST_BY_NOW || told->basis == FORECAST_OPEN || told->p90_s == FORECAST_UNKNOWN)
        return;
    history->starts[is_early ? HISTORY_BEFORE_BAND : is_late ? HISTORY_AFTER_BAND : HISTORY_INSIDE_BAND]++;
    openmetrics_observe(&history->band_widths, (uint64_t)(told->p90_s - told->p10_s) * 1000000);
    history_calibrate(history, &settings);
    forecast_calibrate(&settings, told, start_s);
    history->early_permille = settings.early_permille;
    history->late_permille = settings.late_permille;
    history->noted.starts++;
}

/* ---- text ---- */

uint32_t history_run_count(const struct history *history)
{
    return history->runs.count < RUN_HISTORY_MAX ? history->runs.count : RUN_HISTORY_MAX;
}

bool history_is_saved(const struct history *history)
{
    return history->noted.runs == history->saved.runs && history->noted.starts == history->saved.starts;
}

cJSON *history_print(const struct history *history)
{
    AUTO(str) struct str runs = {0};
    AUTO(str) struct str usage = {0};
    cJSON *data = json_object();

    run_history_write(&history->runs, &runs);
    json_put_str(data, "runs", str_text(&runs));
    json_put_strf(data, "earlyPermille", "%u", history->early_permille);
    json_put_strf(data, "latePermille", "%u", history->late_permille);
    if (history->usage.count) {
        usage_write(&history->usage, &usage);
        json_put_str(data, "usage", str_text(&usage));
        json_put_strf(data, "usageAsOf", "%" PRId64, history->usage.as_of_s);
    }
    return data;
}

static void add_unsaved(struct run_history *to, const struct history *from)
{
    uint64_t unsaved = from->noted.runs - from->saved.runs;
    uint32_t kept = history_run_count(from);

    for (uint32_t i = unsaved < kept ? (uint32_t)unsaved : kept; i > 0; i--) {
        const struct run_past *run = &from->runs.runs[(from->runs.count - i) % RUN_HISTORY_MAX];

        run_history_add(to, &run->kind, run->seconds);
    }
}

/* Returns the number of runs that were left out. */
static size_t read_runs(struct history *history, const char *text)
{
    AUTO(mem) struct run_history *runs = NEW(struct run_history);
    size_t left_out = run_history_read(runs, text);

    add_unsaved(runs, history);
    history->runs = *runs;
    memset(history->kept, 0, (size_t)HISTORY_KEPT_SETS * HISTORY_KEPT_WAYS * sizeof(*history->kept));
    return left_out;
}

static void read_permille(const cJSON *data, const char *key, uint32_t *ret, struct str *problems)
{
    const cJSON *value = json_at(data, key);

    if (value && !parse_u32(json_str(data, key, ""), FORECAST_PERMILLE_MIN, FORECAST_PERMILLE_MAX, ret))
        str_addf(problems, "; data.%s is no number from %u to %u", key, FORECAST_PERMILLE_MIN,
                 FORECAST_PERMILLE_MAX);
}

static void report_lines(struct str *problems, const char *key, size_t left_out)
{
    if (!left_out)
        return;
    str_addf(problems, "; data.%s has ", key);
    str_add_count(problems, left_out, "line", NULL);
    str_adds(problems, " that no operator has written");
}

static void read_usage(struct history *history, const cJSON *data, struct str *problems)
{
    const char *text = json_str(data, "usage", "");
    int64_t as_of_s;

    if (!*text)
        return;
    if (parse_i64(json_str(data, "usageAsOf", ""), 0, INT64_MAX, &as_of_s))
        report_lines(problems, "usage", usage_read(&history->usage, text, as_of_s));
    else
        str_adds(problems, "; data.usageAsOf is no time in seconds");
}

char *history_read(struct history *history, const cJSON *data)
{
    const char *text = json_str(data, "runs", "");
    size_t bytes = strlen(text), left_out = read_runs(history, bytes <= HISTORY_TEXT_MAX ? text : "");
    AUTO(str) struct str problems = {0};

    if (bytes > HISTORY_TEXT_MAX)
        str_addf(&problems, "; data.runs has %zu bytes, more than %zu", bytes, HISTORY_TEXT_MAX);
    report_lines(&problems, "runs", left_out);
    read_usage(history, data, &problems);
    if (history->noted.starts == history->saved.starts) {
        read_permille(data, "earlyPermille", &history->early_permille, &problems);
        read_permille(data, "latePermille", &history->late_permille, &problems);
    }
    str_drop(&problems, problems.len ? 2 : 0);
    return problems.len ? str_take(&problems) : NULL;
}
