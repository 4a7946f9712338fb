/* The operator's pages on plain HTTP:
 * - for the kubelet: /healthz (liveness) and /readyz (readiness);
 * - for an admin: /queue (instances that wait for IPUs), /controllers (V-IPU controllers and their state),
 *   /partitions, and /loglevel, which PUT changes;
 * - the read-only pages of the vendor's V-IPU proxy: /health, /stats, /query;
 * - /metrics, unless it requires authorization. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/doc/json.h"

struct loop;
struct pages;
struct str;

struct pages_options {
    uint16_t port;
    /* NULL when well; else one sentence that says what is wrong. */
    const char *(*is_well)(void *ctx);
    const char *(*is_ready)(void *ctx);
    /* An addition to the body of /readyz; NULL: none. Owned by the caller. */
    char *(*remark)(void *ctx);
    /* JSON, owned by the caller; NULL: this process does not lead, and does not know. */
    cJSON *(*queue)(void *ctx);
    cJSON *(*controllers)(void *ctx);          /* likewise */
    cJSON *(*partitions)(void *ctx);           /* likewise */
    cJSON *(*stats)(void *ctx);                /* likewise */
    cJSON *(*query)(void *ctx, uint32_t size); /* likewise: a size of partitions, in IPUs */
    /* "host:port" of the leader's endpoints; NULL: this process, or unknown. */
    const char *(*leader)(void *ctx);
    void (*metrics)(void *ctx, struct str *out); /* NULL: not served here */
    void *ctx;
};

MUST_USE struct pages *pages_new(struct loop *loop, const struct pages_options *options, struct err *err);
uint16_t pages_port(const struct pages *pages);
void pages_free(struct pages *pages);
