#include "operator/forecast/run_estimate.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"

#define WINDOW 50u /* the newest runs of a kind: recency beats similarity */
#define ENOUGH 9u
#define LEVELS (RUN_KINDS + 2) /* kinds, then the size alone, then everything */

/* ---- kinds ---- */

static uint32_t hash_text(uint32_t hash, const char *text, size_t len)
{
    return fnv32_add(fnv32_add_bytes(hash, text, len), 0xff); /* no text is the begin of another one */
}

static bool consists_of(const char *text, size_t len, const char *characters)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(characters, text[i]))
            return false;
    return len > 0;
}

#define DIGITS "0123456789"

/* A number or date, a hash, or what the API server appends to generateName. */
static bool is_generated(const char *part, size_t len)
{
    return consists_of(part, len, DIGITS) || (len >= 6 && consists_of(part, len, DIGITS "abcdef")) ||
           (len == 5 && consists_of(part, len, "bcdfghjklmnpqrstvwxz2456789"));
}

static size_t pattern_len(const char *name)
{
    size_t len = strlen(name);

    for (;;) {
        size_t at = len;

        while (at > 0 && !strchr("-._", name[at - 1]))
            at--;
        if (at == 0 || !is_generated(&name[at], len - at))
            break;
        len = at - 1;
    }
    while (len > 1 && strchr(DIGITS, name[len - 1]))
        len--;
    return len;
}

struct run_kind run_kind_of(const char *ns, const char *name, const char *image, uint32_t size)
{
    uint32_t of_namespace = hash_text(FNV32_BASIS ^ size, ns, strlen(ns));
    uint32_t of_name = hash_text(of_namespace, name, pattern_len(name));

    return (struct run_kind){{hash_text(of_name, image, strlen(image)), of_name, of_namespace}, size};
}

void run_history_add(struct run_history *history, const struct run_kind *kind, uint32_t seconds)
{
    history->runs[history->count++ % RUN_HISTORY_MAX] = (struct run_past){*kind, seconds ? seconds : 1};
    if (history->count == 2 * RUN_HISTORY_MAX)
        history->count = RUN_HISTORY_MAX; /* the same place in the ring */
}

/* ---- quantiles ---- */

struct sample {
    uint32_t seconds[WINDOW]; /* newest first */
    uint32_t count;
};

/* A user can choose a name or an image whose hash is that of another namespace's; a namespace cannot be
 * chosen. */
static bool is_of_level(const struct run_past *run, const struct run_kind *kind, unsigned level)
{
    if (level < RUN_KINDS)
        return memcmp(&run->kind.hashes[level], &kind->hashes[level],
                      (RUN_KINDS - level) * sizeof(kind->hashes[0])) == 0;
    return level > RUN_KINDS || run->kind.size == kind->size;
}

/* The newest runs longer than `elapsed` of the narrowest kind with enough of them, else of all. */
static struct sample sample_of(const struct run_history *history, const struct run_kind *kind,
                               uint32_t elapsed)
{
    struct sample samples[LEVELS] = {0};
    uint32_t kept = history->count < RUN_HISTORY_MAX ? history->count : RUN_HISTORY_MAX;
    unsigned level = 0;

    for (uint32_t i = 1; i <= kept; i++) {
        const struct run_past *run = &history->runs[(history->count - i) % RUN_HISTORY_MAX];

        /* Each level is part of the next one. */
        for (unsigned l = run->seconds > elapsed ? LEVELS : 0; l-- > 0 && is_of_level(run, kind, l);)
            if (samples[l].count < WINDOW)
                samples[l].seconds[samples[l].count++] = run->seconds - elapsed;
        if (samples[0].count == WINDOW)
            break;
    }
    while (level + 1 < LEVELS && samples[level].count < ENOUGH)
        level++;
    return samples[level];
}

static int compare_seconds(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static struct forecast_quantiles quantiles_of(const struct sample *sample)
{
    struct sample sorted = *sample;
    uint32_t n = sample->count, low, high;

    if (n == 0)
        return (struct forecast_quantiles){0};
    qsort(sorted.seconds, n, sizeof(sorted.seconds[0]), compare_seconds);
    low = (n + 1) / 10;
    high = (9 * (n + 1) + 9) / 10;
    return (struct forecast_quantiles){
        sorted.seconds[low > 0 ? low - 1 : 0],
        sorted.seconds[n / 2],
        sorted.seconds[high <= n ? high - 1 : n - 1],
    };
}

struct forecast_quantiles run_history_quantiles(const struct run_history *history,
                                                const struct run_kind *kind)
{
    struct sample sample = sample_of(history, kind, 0);
    struct forecast_quantiles q = quantiles_of(&sample);
    uint64_t last_two;

    if (sample.count < 2)
        return q;
    last_two = ((uint64_t)sample.seconds[0] + sample.seconds[1]) / 2;
    q.p50 = last_two < q.p10 ? q.p10 : last_two > q.p90 ? q.p90 : (uint32_t)last_two;
    return q;
}

static uint32_t not_zero(uint64_t seconds)
{
    return seconds == 0 ? 1 : seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX - 1;
}

struct forecast_quantiles run_history_left(const struct run_history *history, const struct run_kind *kind,
                                           uint32_t elapsed)
{
    struct sample sample = sample_of(history, kind, elapsed);

    if (sample.count >= 3 || elapsed == 0)
        return quantiles_of(&sample);
    return (struct forecast_quantiles){1, not_zero(elapsed / 2), not_zero((uint64_t)elapsed * 2)};
}

/* ---- text ---- */

void run_history_write(const struct run_history *history, struct str *text)
{
    uint32_t kept = history->count < RUN_HISTORY_MAX ? history->count : RUN_HISTORY_MAX;

    for (uint32_t i = kept; i > 0; i--) {
        const struct run_past *run = &history->runs[(history->count - i) % RUN_HISTORY_MAX];

        str_addf(text, "%u %u %x %x %x\n", run->seconds, run->kind.size, run->kind.hashes[0],
                 run->kind.hashes[1], run->kind.hashes[2]);
    }
}

static bool read_number(const char **at, int base, char end, uint32_t *ret)
{
    char *rest;
    unsigned long long number = strtoull(*at, &rest, base);
    bool is_number =
        rest != *at && **at != '-' && **at != '+' && **at != ' ' && *rest == end && number <= UINT32_MAX;

    *ret = (uint32_t)number;
    *at = rest + 1;
    return is_number;
}

static bool read_run(const char *at, struct run_past *ret)
{
    return read_number(&at, 10, ' ', &ret->seconds) && read_number(&at, 10, ' ', &ret->kind.size) &&
           read_number(&at, 16, ' ', &ret->kind.hashes[0]) &&
           read_number(&at, 16, ' ', &ret->kind.hashes[1]) &&
           read_number(&at, 16, '\n', &ret->kind.hashes[2]);
}

size_t run_history_read(struct run_history *history, const char *text)
{
    size_t left_out = 0;

    history->count = 0;
    for (const char *end; *text; text = *end ? end + 1 : end) {
        struct run_past run;

        end = strchrnul(text, '\n');
        if (*end && read_run(text, &run))
            run_history_add(history, &run.kind, run.seconds);
        else
            left_out++;
    }
    return left_out;
}

/* ---- corrections ---- */

int64_t run_estimate_corrected(int64_t expected_s, int64_t now_s)
{
    static const int32_t MINUTES[] = {1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000};
    int64_t last = MINUTES[COUNT_OF(MINUTES) - 1] * 60, late, sum = 0;

    if (expected_s > now_s)
        return expected_s;
    if (__builtin_sub_overflow(now_s, expected_s, &late) || late > INT64_MAX - 2 * last)
        return INT64_MAX;
    for (size_t i = 0; i < COUNT_OF(MINUTES) && sum <= late; i++)
        sum += MINUTES[i] * 60;
    if (sum <= late)
        sum += ((late - sum) / last + 1) * last;
    return __builtin_add_overflow(expected_s, sum, &sum) ? INT64_MAX : sum;
}
