/* The server of the live page, on a loopback address: its files, and WebSocket /live. page_access.h decides
 * who gets what.
 *
 * Everything is limited: connections (the oldest without a WebSocket is closed for a new one), WebSockets,
 * the time and size of a request, messages of browsers, and the bytes that a browser has not read. One that
 * reads nothing for a while, or has too much ahead of it, is disconnected; the page then connects again. */
#pragma once

#include "base/core/err.h"
#include "base/io/loop.h"
#include "operator/serve/live/page_access.h"
#include "operator/serve/live/frame.h"

#define PAGE_VIEWERS_MAX 16
/* Beyond what a viewer gets at first. */
#define PAGE_UNSENT_MAX ((size_t)8 * 1024 * 1024)

struct page_server;
struct page_viewer; /* a WebSocket */

struct page_server_options {
    const char *ip; /* a loopback address */
    uint16_t port;  /* 0: any free one */
    const struct asset *assets;
    /* Its result is passed to the others, which must not end viewers either. */
    void *(*on_open)(void *ctx, struct page_viewer *viewer);
    void (*on_message)(void *of_viewer, struct slice text);
    void (*on_close)(void *of_viewer);
    void *ctx;
};

MUST_USE struct page_server *page_server_new(struct loop *loop, const struct page_server_options *options,
                                             struct err *err);
char *page_server_url(const struct page_server *server); /* with the token; owned by the caller */
/* Ends the WebSockets with this code. Runs the loop until all is closed: not from inside its callbacks. */
void page_server_free(struct page_server *server, enum websocket_code code);

void page_viewer_send(struct page_viewer *viewer, struct frame *frame); /* keeps it until it is sent */
/* What was sent so far is what it gets at first. */
void page_viewer_begin(struct page_viewer *viewer);
size_t page_viewer_unsent(const struct page_viewer *viewer);
