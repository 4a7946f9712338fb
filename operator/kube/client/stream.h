/* One long answer of the API server, read while it arrives: the request under a watch, a page of a list,
 * or a log. It does not retry: watch_step, or who follows a log, decides. */
#pragma once

#include "operator/kube/client/client.h"

struct stream;

struct stream_request {
    const struct kube_resource *resource;
    const char *ns;           /* NULL: all */
    const char *name, *sub;   /* as in struct kube_request; NULL: the collection */
    const struct strv *query; /* key, value, key, value; borrowed */
    bool is_watch;            /* for the counters: WATCH or LIST */
    int64_t timeout_ms;
    void (*on_head)(void *ctx); /* or NULL: a 2xx answer has begun, maybe without a byte yet */
    bool (*on_bytes)(void *ctx, const char *bytes, size_t len); /* of a 2xx answer; false ends it */
    /* err is ERR_NONE after a complete 2xx answer; else as in kube_status_read, or the transport's. */
    void (*on_end)(void *ctx, const struct err *err, int64_t retry_after_ms);
    void *ctx;
};

/* Callbacks run from the loop, never from inside stream_open; after on_end, or after stream_close, it is
 * gone. */
struct stream *stream_open(struct kube *kube, const struct stream_request *request);
void stream_close(struct stream *stream); /* accepts NULL; not from on_bytes: return false there */
