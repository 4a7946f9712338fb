/* The admission webhooks' server, at the original's two paths, over TLS. It decides nothing: admission.h
 * makes the responses. It dry-runs changed pod templates on the API server, a few at a time, and allows the
 * request if that does not respond within a second: a webhook must not block users. The mutating webhook does
 * so only for a job that it rejects anyway, so that its answer has the mistakes of the templates too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/openmetrics.h"
#include "operator/api/queue/queue_limits.h"

struct kube;
struct webhooks;

struct webhooks_options {
    uint16_t port;
    const char *ns;           /* of the Secret with the certificate */
    const char *name;         /* of both webhook configurations, and of that Secret unless it is given */
    const char *given;        /* the Secret that another program keeps, or NULL */
    const struct strv *names; /* by which the API server reaches it; must outlive it */
    uint32_t (*largest_partition)(void *ctx); /* that some V-IPU controller could ever create; 0: not known */
    const struct strv *priority_classes; /* that order the queue, as in queue_priority.h; must outlive it */
    struct queue_limits queue_limits;
    bool keeps_limits; /* some V-IPU controller lets jobs past others by the limits of those that have IPUs */
    void (*count_waiting)(void *ctx, const char *ns, struct queue_counts *ret); /* instances, now */
    void *ctx;
};

/* `kube` must not have a write gate: replicas that do not lead answer too. */
MUST_USE struct webhooks *webhooks_new(struct kube *kube, const struct webhooks_options *options,
                                       struct err *err);
void webhooks_free(struct webhooks *webhooks); /* not from inside a callback of the loop */
/* Before shutdown: asks the API server to use other replicas. */
void webhooks_drain(struct webhooks *webhooks);
uint16_t webhooks_port(const struct webhooks *webhooks);
/* Whether the serving certificate is one that the API server trusts. */
bool webhooks_are_trusted(const struct webhooks *webhooks);
int64_t webhooks_certificate_end_s(const struct webhooks *webhooks); /* Unix seconds; 0 without one */

enum webhook { WEBHOOK_MUTATE, WEBHOOK_VALIDATE, WEBHOOKS };
const char *webhook_name(enum webhook webhook);

struct webhooks_counters {
    struct openmetrics_histogram durations[WEBHOOKS]; /* from the request to the response */
    uint64_t denied;                                  /* rejected reviews */
};
const struct webhooks_counters *webhooks_counters(const struct webhooks *webhooks);
