/* Text for /metrics in the format OpenMetrics 1.0, from a table of metric families. Pure. The caller chooses
 * the values of labels; there must be few, independent of the number of users' objects. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"

#define OPENMETRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define OPENMETRICS_BUCKETS 11u /* of a histogram; the last one has no upper end */

struct openmetrics_family {
    const char *name; /* without the suffix of its type */
    const char *type; /* gauge, counter, histogram, info */
    const char *help; /* a sentence without period */
    /* Its samples, one per line. */
    void (*put)(const void *ctx, const struct openmetrics_family *family, struct str *out);
    size_t offset; /* for `put`: of the number in its struct */
};

/* A row of a table of families; more fields may follow the function. */
#define OPENMETRICS_FAMILY(n, t, h, ...)                                                                     \
    {                                                                                                        \
        .name = (n), .type = (t), .help = (h), .put = __VA_ARGS__                                            \
    }

/* The complete page, with its end mark. */
void openmetrics_put(const struct openmetrics_family *families, size_t count, const void *ctx,
                     struct str *out);
/* The value of a label, in quotes. */
void openmetrics_quote(const char *value, struct str *out);

/* The range of a histogram: responses, from 100 microseconds to 10 seconds, or operations, from a second to
 * a day. */
enum openmetrics_scale { OPENMETRICS_ANSWERS, OPENMETRICS_WORK };

/* A histogram of durations. All zero: empty, of responses. */
struct openmetrics_histogram {
    enum openmetrics_scale scale;
    uint64_t buckets[OPENMETRICS_BUCKETS];
    uint64_t sum_us;
};
void openmetrics_observe(struct openmetrics_histogram *histogram, uint64_t duration_us);
void openmetrics_add(struct openmetrics_histogram *to,
                     const struct openmetrics_histogram *of); /* same scale */
/* labels: "a=\"b\"" without braces, or "". */
void openmetrics_put_histogram(const char *name, const char *labels,
                               const struct openmetrics_histogram *histogram, struct str *out);
