/* HTTP client: libcurl's multi interface on the loop. One struct http_client is one pool of connections with
 * one set of credentials' transport settings (TLS, proxy); requests on it share connections (HTTP/2 where the
 * peer offers it). Redirects are off, TLS is verified, every request has a time and a size limit. No request
 * blocks the loop.
 *
 * Callbacks run from the loop, never from inside http_send. After on_done the request is gone; after
 * http_cancel no callback of it runs. Callbacks may send and cancel requests, but must not free the pool. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct http_client;
struct http_call;
struct loop;

/* All borrowed only during http_client_new. PEM bytes, not paths: after a rotation a new pool is created. */
struct http_client_options {
    const char *user_agent;
    const char *ca_pem;   /* NULL: the system's CA certificates */
    const char *cert_pem; /* client certificate and key, or NULL */
    const char *key_pem;
    const char *server_name;  /* name for verification and SNI instead of the URL's host, or NULL */
    const char *proxy_url;    /* NULL: none */
    bool env_proxy;           /* without proxy_url, those of the environment: HTTPS_PROXY, NO_PROXY */
    bool insecure;            /* do not verify the peer: kubeconfig's insecure-skip-tls-verify */
    unsigned max_connections; /* to one host; 0 means 2 */
    size_t turn_bytes; /* that on_bytes gets in one turn of the loop, so that a peer that sends faster than
                          they are read does not keep the loop from everything else; 0: no limit */
};

struct http_response {
    int status;               /* HTTP status */
    struct slice body;        /* complete body, borrowed; empty if on_bytes received it */
    int64_t retry_after_ms;   /* from Retry-After in seconds; -1 when absent */
    int64_t date_s;           /* from Date, in seconds since 1970; -1 when absent */
    const char *content_type; /* "" when absent; borrowed */
    struct slice warning;     /* the first Warning header's text; empty when absent */
    bool was_repeated;        /* after its connection broke: the first request may have taken effect */
};

/* err->kind is ERR_NONE if a complete response arrived, whatever its status. Else the transport failed:
 * ERR_TIMEOUT, ERR_IO, ERR_DENIED (TLS verification), ERR_INVALID (too large); res->status is 0 or the
 * status that had arrived. */
typedef void (*http_done_fn)(void *ctx, const struct http_response *res, const struct err *err);
/* Bytes of a response with a 2xx status as they arrive; return false to end the call (on_done follows,
 * ERR_INVALID). Bodies of other statuses are collected for on_done. */
typedef bool (*http_bytes_fn)(void *ctx, int status, const char *bytes, size_t len);

struct http_request {
    const char *method; /* "GET"... */
    const char *url;
    const char *content_type;   /* of the body, or NULL */
    const char *accept;         /* or NULL: application/json */
    const char *bearer_token;   /* or NULL; never logged */
    struct slice body;          /* copied */
    const char *const *headers; /* more "Name: value" lines, NULL-terminated, or NULL; copied */
    int64_t timeout_ms;         /* whole request; 0: none (streams) */
    int64_t
        idle_timeout_ms; /* ends with ERR_TIMEOUT if no byte arrives for so long; 0: none. At least 1000 */
    size_t max_body;     /* of a collected body; 0 means 4 MiB */
    void (*on_head)(void *ctx); /* or NULL. Called when a 2xx status and its headers have arrived; the body
                                   may follow much later */
    http_bytes_fn on_bytes;     /* or NULL */
    http_done_fn on_done;
    void *ctx;
};

MUST_USE struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options,
                                             struct err *err);
void http_client_free(struct http_client *http); /* cancels what is in flight */
struct http_call *http_send(struct http_client *http, const struct http_request *request);
void http_cancel(struct http_call *call); /* accepts NULL; call must not have finished */
/* Closes every connection at once, including busy ones: for the loss of a lease. Calls in flight end with
 * ERR_IO. */
void http_abort_connections(struct http_client *http);
unsigned http_in_flight(const struct http_client *http);

/* RFC 3986: unreserved characters are kept. Appended to out. */
void http_add_escaped(struct str *out, const char *text);
