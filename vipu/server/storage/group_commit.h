/* Changes are on disk before their callers get a response: all changes of a turn of the loop share one
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
    /* A change could not be written: what the memory holds is ahead of the disk, and the program has to end.
     */
    void (*on_failure)(void *ctx, const struct err *err);
    void *failure_ctx;
    void (*on_time)(void *ctx); /* before what is due is done */
    void *time_ctx;
};

struct group_commit *group_commit_new(const struct group_commit_owner *owner);
/* Saves, and answers all waiting calls. NULL is fine. */
void group_commit_free(struct group_commit *commit);

/* Does what is due, and comes back for what is not. */
void group_commit_step(struct group_commit *commit);
/* Answers when the change is on disk, and with an id (NULL: none) when that partition is through with what it
 * was asked for. The reply is moved in. */
void group_commit_reply_take(struct group_commit *commit, struct rpc *rpc, const char *until,
                             struct str *reply);
