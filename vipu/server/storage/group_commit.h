/* Makes changes durable before their callers get a response: all changes of one turn of the loop share one
 * transaction, and the responses are sent after it. Also drives the controller's timers: does what is due,
 * saves it, and schedules the next step. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/io/loop.h"
#include "vipu/server/calls/metrics.h"
#include "vipu/server/calls/rpc.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/storage/store.h"

struct group_commit;

struct group_commit_owner {
    struct loop *loop;
    struct controller *controller;
    struct store *store;
    struct metrics *metrics;
    /* Called if a change could not be written: the state in memory is newer than the one on disk, and the
     * program has to end. */
    void (*on_failure)(void *ctx, const struct err *err);
    void *failure_ctx;
    void (*on_time)(void *ctx); /* called before the controller's step */
    void *time_ctx;
};

struct group_commit *group_commit_new(const struct group_commit_owner *owner);
/* Saves, and responds to all waiting calls. Accepts NULL. */
void group_commit_free(struct group_commit *commit);

/* Does what is due and schedules the next step. */
void group_commit_step(struct group_commit *commit);
/* Responds when the change is on disk and, if id is not NULL, when that partition's operation has ended. The
 * reply is moved in. */
void group_commit_reply_take(struct group_commit *commit, struct rpc *rpc, const char *until,
                             struct str *reply);
