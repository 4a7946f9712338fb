/* Serves /metrics, and the pages that name jobs, with TLS to authorized clients (auth_filter.h). The
 * certificate is generated and renewed by this process, or read from a directory and reloaded when its files
 * change. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct kube;
struct metrics_server;
struct pages;

struct metrics_server_options {
    uint16_t port;
    const struct strv *names;   /* by which it is reached, for its own certificate; must outlive it */
    const char *certificate_in; /* folder with tls.crt and tls.key; NULL: its own; must outlive it */
    void (*metrics)(void *ctx, struct str *out);
    struct pages *pages; /* whose documents are served here as well; must outlive it */
    void *ctx;
};

/* `kube` may have no write gate. */
MUST_USE struct metrics_server *
metrics_server_new(struct kube *kube, const struct metrics_server_options *options, struct err *err);
void metrics_server_free(struct metrics_server *server); /* not from inside a callback of the loop */
uint16_t metrics_server_port(const struct metrics_server *server);
int64_t metrics_server_certificate_expiry_s(const struct metrics_server *server); /* Unix seconds */
