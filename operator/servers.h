/* What this process answers to beside its pages, whether it leads or not: admission webhooks, /metrics, and
 * the live page, over TLS. They share a connection to the API server that has no write gate and never waits
 * behind work. */
#pragma once

#include "operator/kube/client/client.h"
#include "operator/kube/auth/config_loader.h"
#include "operator/serve/live/live_page.h"
#include "operator/serve/metrics/metrics_server.h"
#include "operator/serve/progress/progress_server.h"
#include "operator/serve/webhooks/webhooks.h"
#include "options.h"

struct loop;
struct servers;

struct servers_options {
    const struct options *options; /* must outlive it, as must ns */
    const char *ns;
    const struct client_config_options *client_config; /* used at the start alone */
    void (*metrics)(void *ctx, struct str *out);
    uint32_t (*largest_partition)(void *ctx); /* as in webhooks_options */
    const struct strv *priority_classes;      /* likewise */
    struct queue_limits queue_limits;
    void (*count_waiting)(void *ctx, const char *ns, struct queue_counts *ret); /* likewise */
    struct pages *pages; /* that are served over TLS, too */
    bool (*report)(void *ctx, const struct token_pod *pod, struct slice body,
                   bool *ret_is_known);                     /* as in progress_server_options */
    bool (*leader)(void *ctx, struct leader_endpoint *ret); /* likewise */
    void *ctx;
};

MUST_USE struct servers *servers_new(struct loop *loop, const struct servers_options *options,
                                     struct err *err);
void servers_stop_metrics(struct servers *servers); /* as servers_free, of that server alone */
/* As progress_server_access; NULL: there is no such server. */
const struct pod_progress *servers_progress(const struct servers *servers);
void servers_free(struct servers *servers); /* not from inside a callback of the loop */
/* The pages may ask while it is being made, and of NULL there is nothing. The first: of its connection to the
 * API server, as kube_counters. */
size_t servers_counters(const struct servers *servers, const struct kube_counter **ret);
struct webhooks *servers_webhooks(const struct servers *servers);            /* NULL without them */
const struct metrics_server *servers_metrics(const struct servers *servers); /* likewise */
const struct live_page *servers_live_page(const struct servers *servers);    /* likewise */
