/* The server of the live page: its files, and WebSocket /live. page_access.h decides who gets what. It serves
 * one person on a loopback address in the clear, or as a service many callers by TLS.
 *
 * Everything is limited: connections without a WebSocket (the oldest of the address that has the most is
 * closed for a new one), WebSockets, the time and size of a request, messages of browsers, and the bytes that
 * a browser has not read. One that reads nothing for a while, has too much ahead of it, or sends much without
 * reading is disconnected; the page then connects again. */
#pragma once

#include "base/core/err.h"
#include "base/http/http_server.h"
#include "base/io/loop.h"
#include "operator/serve/live/page_access.h"
#include "operator/serve/live/frame.h"

#define PAGE_VIEWERS_MAX 16 /* of a person */
/* Beyond what a viewer gets at first. */
#define PAGE_UNSENT_MAX ((size_t)8 * 1024 * 1024)

struct page_server;
struct page_viewer; /* a WebSocket */

/* Who the caller with this token is. Answers by page_viewer_allow or page_viewer_reject, now or later. */
struct page_service {
    const struct strv *hosts; /* by which it is reached; must outlive the server */
    const struct http_server_tls *tls;
    void (*on_token)(void *ctx, struct page_viewer *viewer, struct slice token, const char *peer);
    void (*on_gone)(void *ctx, struct page_viewer *viewer); /* it waits for an answer no more */
};

struct page_server_options {
    const char *ip; /* a loopback address; NULL: all addresses */
    uint16_t port;  /* 0: any free one */
    const struct asset *assets;
    const struct page_service *service;    /* NULL: of one person; its callbacks and hosts are kept */
    unsigned connections_max, viewers_max; /* without a WebSocket, and with one */
    /* Its result is passed to the others, which must not end viewers either. `who` as in page_viewer_allow,
     * else NULL. */
    void *(*on_open)(void *ctx, struct page_viewer *viewer, void *who);
    void (*on_message)(void *of_viewer, struct slice text);
    void (*on_close)(void *of_viewer);
    void *ctx;
};

MUST_USE struct page_server *page_server_new(struct loop *loop, const struct page_server_options *options,
                                             struct err *err);
/* As http_server_set_tls. */
MUST_USE bool page_server_set_tls(struct page_server *server, const struct http_server_tls *tls,
                                  struct err *err);
uint16_t page_server_port(const struct page_server *server);
char *page_server_url(const struct page_server *server); /* with the token; owned by the caller */
/* Ends the WebSockets with this code. Runs the loop until all is closed: not from inside its callbacks. */
void page_server_free(struct page_server *server, enum websocket_code code);

void page_viewer_allow(struct page_viewer *viewer, void *who);
/* With a status of HTTP; 401: the token is no good. */
void page_viewer_reject(struct page_viewer *viewer, int status, const char *why);
/* Ends a WebSocket, which calls on_close. */
void page_viewer_end(struct page_viewer *viewer, enum websocket_code code);

void page_viewer_send(struct page_viewer *viewer, struct frame *frame); /* keeps it until it is sent */
/* What was sent so far is what it gets at first. */
void page_viewer_begin(struct page_viewer *viewer);
size_t page_viewer_unsent(const struct page_viewer *viewer);
