/* Who is behind the names of a job's workers: EndpointSlices of its Service, which has no selector. The
 * cluster's own controllers would rewrite theirs with every pod that gets its address or ends. Pure.
 *
 * An instance has slices of its own: by address family, and so many as hold its workers. They are numbered:
 * even ones are of IPv4, odd ones of IPv6, the first two hold the first ENDPOINTS_PER_SLICE workers, and so
 * on. */
#pragma once

#include "operator/api/job/job.h"

/* The API server takes no more. */
#define ENDPOINTS_PER_SLICE 1000u

/* One worker; lists of them have one for each, in the order of their numbers. */
struct endpoint {
    const char *host;    /* its host name */
    const char *address; /* NULL: it has none yet */
};

uint32_t endpoints_slices(uint32_t workers); /* of an instance with so many */
/* "<service>-<instance>-ipv4" or "-ipv6", with "-<n>" behind it for others than the first, owned by the
 * caller. */
char *endpoints_slice_name(const struct job *job, uint32_t instance, uint32_t slice);
/* The slice with those of the workers that belong into it. Owned by the caller. */
cJSON *endpoints_slice(const struct job *job, uint32_t instance, uint32_t slice,
                       const struct endpoint *workers);
/* Tells who is in that slice; 0: nobody. The same for a slice that was made of the same workers. */
uint64_t endpoints_content(const struct endpoint *workers, uint32_t count, uint32_t slice);
uint64_t endpoints_content_seen(const cJSON *slice);
