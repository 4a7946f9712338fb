/* The queue for IPUs at one time, for the page /queue: all readers share it, and none makes the queue be
 * evaluated again. A row has 80 bytes, and equal texts are kept once. Pure. */
#pragma once

#include "base/core/map.h"
#include "operator/api/page.h"
#include "operator/pool/claims.h"

struct queue_snapshot {
    struct queue_row *rows; /* in the order of the queue */
    size_t count, cap;
    struct map texts; /* each is its own value */
};

void queue_snapshot_release(struct queue_snapshot *snapshot);
/* controller: that has granted the claim; NULL: it waits. */
void queue_snapshot_add(struct queue_snapshot *snapshot, const struct claim *claim, const char *controller,
                        const struct claim_wait *wait);
/* {"queue": [...], "continue": "token", unless nothing follows}. Caller frees. NULL: the token is none of
 * these. */
cJSON *queue_snapshot_print(const struct queue_snapshot *snapshot, const struct page_request *page,
                            struct err *err);
