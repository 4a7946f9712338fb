/* The operator's pages on plain HTTP:
 * - for the kubelet: /healthz (liveness) and /readyz (readiness);
 * - for an admin: /queue (instances that wait for IPUs), /controllers (V-IPU controllers and their state),
 *   /partitions, POST /whatif (when would a job start), and /loglevel, which PUT changes;
 * - the read-only pages of the vendor's V-IPU proxy: /health, /stats, /query;
 * - /metrics, unless it requires authorization.
 * Pages that name jobs are for local connections; the metrics server serves them to others. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/http/http_server.h"
#include "operator/api/page.h"
#include "operator/serve/pages/leader_proxy.h"
#include "operator/serve/pages/what_if_page.h"

struct loop;
struct pages;
struct str;
struct token_pod;

struct pages_options {
    uint16_t port;
    /* NULL when well; else one sentence that says what is wrong. */
    const char *(*is_well)(void *ctx);
    const char *(*is_ready)(void *ctx);
    /* An addition to the body of /readyz; NULL: none. Owned by the caller. */
    char *(*remark)(void *ctx);
    /* JSON, owned by the caller; NULL: this process does not lead, and does not know. */
    cJSON *(*stats)(void *ctx);
    cJSON *(*query)(void *ctx, uint32_t size); /* likewise: a size of partitions, in IPUs */
    cJSON *(*list)(void *ctx, enum page_list list, const struct page_request *request); /* likewise */
    /* NULL: this process does not lead, or has not seen all objects yet. */
    struct what_if *(*what_if)(void *ctx, const struct what_if_request *request);
    bool (*leader)(void *ctx, struct leader_endpoint *ret); /* false: this process, or unknown */
    const char *key; /* of this process as the leader: who shows it may read the lists; must outlive it */
    void (*metrics)(void *ctx, struct str *out); /* NULL: not served here */
    /* As in progress_server_options: a standby sends it on, with the key. */
    bool (*progress)(void *ctx, const struct token_pod *pod, struct slice body, bool *ret_is_known);
    void *ctx;
};

enum { PAGES_CONNECTIONS_PER_PEER = 16 };

/* Answers an authorized request for one of the lists (page_list_path) or for WHAT_IF_PATH, now or later. */
void pages_serve(struct pages *pages, struct http_server_request *request,
                 const struct http_server_request_info *view);
void pages_cancel(struct pages *pages, struct http_server_request *request); /* it left */
MUST_USE struct pages *pages_new(struct loop *loop, const struct pages_options *options, struct err *err);
const struct what_if_counts *pages_what_ifs(const struct pages *pages);
uint16_t pages_port(const struct pages *pages);
void pages_free(struct pages *pages);
