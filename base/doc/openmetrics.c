#include "base/doc/openmetrics.h"

/* Upper ends of the buckets but the last one. */
static const uint64_t bucket_us[][OPENMETRICS_BUCKETS - 1] = {
    [OPENMETRICS_ANSWERS] = {100, 250, 500, 1000, 2500, 10000, 100000, 500000, 1000000, 10000000},
    [OPENMETRICS_WORK] = {1000000, 2500000, 5000000, 15000000, 60000000, 300000000, 900000000, 3600000000,
                          14400000000, 86400000000},
};

void openmetrics_put(const struct openmetrics_family *families, size_t count, const void *ctx,
                     struct str *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct openmetrics_family *family = &families[i];

        str_addf(out, "# TYPE %s %s\n# HELP %s %s.\n", family->name, family->type, family->name,
                 family->help);
        family->put(ctx, family, out);
    }
    str_adds(out, "# EOF\n");
}

void openmetrics_quote(const char *value, struct str *out)
{
    str_addc(out, '"');
    for (; *value; value++) {
        if (*value == '\n')
            str_adds(out, "\\n");
        else if (*value == '"' || *value == '\\')
            str_addf(out, "\\%c", *value);
        else
            str_addc(out, *value);
    }
    str_addc(out, '"');
}

void openmetrics_observe(struct openmetrics_histogram *histogram, uint64_t duration_us)
{
    size_t bucket = 0;

    while (bucket < OPENMETRICS_BUCKETS - 1 && duration_us > bucket_us[histogram->scale][bucket])
        bucket++;
    histogram->buckets[bucket]++;
    histogram->sum_us += duration_us;
}

void openmetrics_add(struct openmetrics_histogram *to, const struct openmetrics_histogram *of)
{
    for (size_t b = 0; b < OPENMETRICS_BUCKETS; b++)
        to->buckets[b] += of->buckets[b];
    to->sum_us += of->sum_us;
}

static void put_sample(const char *name, const char *suffix, const char *labels, struct str *out)
{
    str_addf(out, "%s%s", name, suffix);
    if (*labels)
        str_addf(out, "{%s}", labels);
    str_addc(out, ' ');
}

void openmetrics_put_histogram(const char *name, const char *labels,
                               const struct openmetrics_histogram *histogram, struct str *out)
{
    unsigned long long sum = 0;

    for (size_t b = 0; b < OPENMETRICS_BUCKETS; b++) {
        sum += histogram->buckets[b];
        str_addf(out, "%s_bucket{%s%sle=\"", name, labels, *labels ? "," : "");
        if (b < OPENMETRICS_BUCKETS - 1)
            str_addf(out, "%g", (double)bucket_us[histogram->scale][b] / 1e6);
        else
            str_adds(out, "+Inf");
        str_addf(out, "\"} %llu\n", sum);
    }
    put_sample(name, "_sum", labels, out);
    str_addf(out, "%.6f\n", (double)histogram->sum_us / 1e6);
    put_sample(name, "_count", labels, out);
    str_addf(out, "%llu\n", sum);
}
