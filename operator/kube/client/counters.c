#include "operator/kube/client/counters.h"

#include "base/core/mem.h"

static const char *const METHODS[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

struct kube_counter *counters_row(struct counters *counters, const char *method, const char *resource)
{
    struct kube_counter *row;

    for (size_t i = 0; i < counters->count; i++) {
        row = &counters->rows[i];
        if (str_eq(row->method, method) && str_eq(row->resource, resource))
            return row;
    }
    counters->rows = mem_grow(counters->rows, counters->count + 1, sizeof(*counters->rows));
    row = &counters->rows[counters->count++];
    *row = (struct kube_counter){.method = method, .resource = resource};
    return row;
}

void counters_add(struct counters *counters, const struct kube_counter *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct kube_counter *row = counters_row(counters, rows[i].method, rows[i].resource);

        row->sent += rows[i].sent;
        row->failed += rows[i].failed;
        openmetrics_add(&row->durations, &rows[i].durations);
    }
}

void counters_release(struct counters *counters)
{
    mem_free(counters->rows);
    *counters = (struct counters){0};
}

const char *counters_method(const struct kube_request *request)
{
    if (str_eq(request->method, "GET") && request->resource != NULL && request->name == NULL)
        return "LIST";
    for (size_t i = 0; i < COUNT_OF(METHODS); i++)
        if (str_eq(request->method, METHODS[i]))
            return METHODS[i];
    return "OTHER";
}
