/* The port from which Prometheus reads /metrics: TLS, and only for who may (guard.h). The certificate is this
 * process's own and made anew in time, or read from a folder and taken over when its files change. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct kube;
struct scrape;

struct scrape_options {
    uint16_t port;
    const struct strv *names;   /* by which it is reached, for its own certificate; must outlive it */
    const char *certificate_in; /* folder with tls.crt and tls.key; NULL: its own; must outlive it */
    void (*metrics)(void *ctx, struct str *out);
    void *ctx;
};

/* `kube` may have no write gate. */
MUST_USE struct scrape *scrape_new(struct kube *kube, const struct scrape_options *options, struct err *err);
void scrape_free(struct scrape *scrape); /* not from inside a callback of the loop */
uint16_t scrape_port(const struct scrape *scrape);
int64_t scrape_certificate_end_s(const struct scrape *scrape); /* Unix seconds */
