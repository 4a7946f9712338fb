/* What the kubelet asks: /healthz (is this process well) and /readyz (is it of use); and what an admin asks:
 * /queue, who waits for IPUs. On plain HTTP. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/doc/json.h"

struct health;
struct loop;

struct health_options {
    uint16_t port;
    /* NULL when well; else one sentence that says what is wrong. */
    const char *(*is_well)(void *ctx);
    const char *(*is_ready)(void *ctx);
    /* JSON, owned by the caller; NULL: this process does not lead, and does not know. */
    cJSON *(*queue)(void *ctx);
    void *ctx;
};

MUST_USE struct health *health_new(struct loop *loop, const struct health_options *options, struct err *err);
uint16_t health_port(const struct health *health);
void health_free(struct health *health);
