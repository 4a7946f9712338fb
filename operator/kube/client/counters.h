/* How many requests of which kind were sent. Grows by method and resource only, never by object. Pure. */
#pragma once

#include "base/core/mem.h"
#include "operator/kube/client/client.h"

struct counters {
    struct kube_counter *rows;
    size_t count;
};

/* method and resource must be string constants. */
struct kube_counter *counters_row(struct counters *counters, const char *method, const char *resource);
void counters_add(struct counters *counters, const struct kube_counter *rows, size_t count);
void counters_release(struct counters *counters);
DEFINE_AUTO(counters);

/* "LIST" for a GET of a collection; a string constant for each of the methods that the API has. */
const char *counters_method(const struct kube_request *request);
