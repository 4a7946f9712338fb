/* The certificate of a server for people and scrapers: generated and renewed by this process, or read from a
 * directory and read again when its files change. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/http/http_server.h"

struct loop;
struct server_certificate;

struct server_certificate_options {
    const char *server;       /* its name in the log */
    const char *directory;    /* with tls.crt and tls.key; NULL: its own; must outlive it */
    const struct strv *names; /* by which the server is reached, for its own; must outlive it */
    /* Use this one from now on; not for the first one. Borrowed for the call. */
    bool (*use)(void *ctx, const struct http_server_tls *tls, struct err *err);
    void *ctx;
};

MUST_USE struct server_certificate *
server_certificate_new(struct loop *loop, const struct server_certificate_options *options, struct err *err);
void server_certificate_free(struct server_certificate *certificate); /* accepts NULL */
struct http_server_tls server_certificate_tls(const struct server_certificate *certificate); /* borrowed */
int64_t server_certificate_end_s(const struct server_certificate *certificate); /* Unix seconds */
