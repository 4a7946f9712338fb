/* The objects that the live page shows, as the API server has them: a watch of each kind, whose objects are
 * frames that are ready to be sent. A kind that may not be listed, or that the cluster does not have, is left
 * out, and a frame says so. */
#pragma once

#include "operator/kube/client/resource.h"
#include "operator/kube/watch/store.h"
#include "operator/serve/live/feed.h"
#include "operator/serve/live/frame.h"

struct kube;
struct feed_watches;

struct feed_row {
    enum feed_kind kind;
    const struct kube_resource *resource;
    bool is_cluster_wide;
    const char *label_selector, *field_selector; /* NULL: everything */
};

struct feed_watches_options {
    const struct feed_row *rows; /* constants */
    size_t count;
    const char *ns; /* NULL: all; must outlive it */
    size_t max_items, max_bytes;
    void (*on_change)(void *ctx, enum feed_kind kind, const struct store_change *change);
    void (*on_state)(void *ctx, struct frame *frame);  /* for everybody; borrowed */
    void (*on_synced)(void *ctx);                      /* once */
    void (*on_rejected)(void *ctx);                    /* 401, perhaps again and again; NULL: ignored */
    void (*on_full)(void *ctx, const struct err *err); /* as in watch_options */
    void *ctx;
};

struct feed_watches *feed_watches_new(struct kube *kube, const struct feed_watches_options *options);
void feed_watches_free(struct feed_watches *watches); /* accepts NULL */

bool feed_watches_are_synced(const struct feed_watches *watches);
/* What on_state would say to a new viewer. */
void feed_watches_tell_state(const struct feed_watches *watches, void (*tell)(void *ctx, struct frame *frame),
                             void *ctx);
/* Views are frames. */
const struct store *feed_watches_store(const struct feed_watches *watches, size_t row);
