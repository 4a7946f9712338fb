/* One request of an HTTP pool: libcurl's easy handle, what it sends and what has arrived. Knows nothing of
 * the pool's connections or turns. Private to base/http/http_client*.c. */
#pragma once

#include <curl/curl.h>

#include "base/http/http_client.h"
#include "base/io/loop.h"

/* The pool's options, copied; blobs point into the texts. */
struct http_settings {
    char *user_agent;
    char *ca_pem;
    char *cert_pem;
    char *key_pem;
    char *server_name;
    char *proxy_url;
    bool env_proxy;
    bool insecure;
};

struct http_list;

struct http_call {
    struct http_client *http;
    struct http_list *list; /* the list it is in: waiting or running */
    struct http_call *prev, *next;

    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    char why[CURL_ERROR_SIZE];
    struct err err; /* ERR_NONE, or why it will end */
    bool is_paused; /* until the next turn of the loop */
    bool cancelled; /* from inside one of libcurl's callbacks; freed as soon as libcurl has returned */

    struct str body;
    size_t header_bytes;
    unsigned sends; /* libcurl repeats a request whose connection breaks before any byte of the response */
    void (*on_head)(void *ctx);
    http_bytes_fn on_bytes;
    http_done_fn on_done;
    void *ctx;

    struct loop_timer idle;
    int64_t idle_timeout_ms;
    int64_t started_ms;
    int64_t last_read_ms;
};

/* Never fails: for a request that cannot be sent, call->err is set. */
struct http_call *http_call_new(struct http_client *http, const struct http_settings *settings,
                                const struct http_request *request);
void http_call_free(struct http_call *call);
/* on_bytes may get more bytes in this turn of the loop; else http_client.c continues the call in the next
 * one. */
bool http_client_may_read(struct http_client *http, size_t len);
/* Translates libcurl's result into call->err, unless the reason is already known. */
void http_call_set_result(struct http_call *call, CURLcode code);
/* Borrows from the call. */
void http_call_response(const struct http_call *call, struct http_response *ret);

void http_settings_init(struct http_settings *settings, const struct http_client_options *options);
void http_settings_release(struct http_settings *settings);
