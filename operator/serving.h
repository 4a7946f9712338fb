/* What this process answers to beside its pages, whether it leads or not: admission webhooks, and /metrics
 * over TLS. They share a connection to the API server that has no write gate and never waits behind work. */
#pragma once

#include "operator/kube/client.h"
#include "operator/kube/identity.h"
#include "operator/serve/scrape.h"
#include "operator/serve/webhooks.h"
#include "options.h"

struct loop;
struct serving;

struct serving_options {
    const struct options *options; /* must outlive it, as must ns */
    const char *ns;
    const struct identity_options *identity; /* used at the start alone */
    void (*metrics)(void *ctx, struct str *out);
    void *ctx;
};

MUST_USE struct serving *serving_new(struct loop *loop, const struct serving_options *options,
                                     struct err *err);
void serving_free(struct serving *serving); /* not from inside a callback of the loop */
/* The pages may ask while it is being made, and of NULL there is nothing. The first: of its connection to the
 * API server, as kube_counters. */
size_t serving_counters(const struct serving *serving, const struct kube_counter **ret);
struct webhooks *serving_webhooks(const struct serving *serving);   /* NULL without them */
const struct scrape *serving_scrape(const struct serving *serving); /* likewise */
