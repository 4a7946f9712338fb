#include "schedule/samples.h"

void samples_add(struct samples *s, double value)
{
    if (s->count == s->capacity)
        s->values =
            mem_grow(s->values, s->capacity = s->capacity ? 2 * s->capacity : 256, sizeof(*s->values));
    s->values[s->count++] = value;
    s->sum += value;
}

double samples_mean(const struct samples *s)
{
    return s->count ? s->sum / (double)s->count : 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double samples_quantile(struct samples *s, double q)
{
    if (!s->count)
        return 0;
    qsort(s->values, s->count, sizeof(*s->values), by_value);
    return s->values[(size_t)(q * (double)(s->count - 1) + 0.5)];
}

void samples_release(struct samples *s)
{
    mem_free(s->values);
    *s = (struct samples){0};
}
