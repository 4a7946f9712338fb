/* Makes changes durable before their callers get a response: all changes of one turn of the loop share one
 * transaction, and the responses are sent after it. The transaction runs in another thread, so that the loop
 * goes on however long the disk takes: calls end at their deadlines, and connections are served. Calls that
 * arrive meanwhile wait until it is over. Also drives the controller's timers: does what is due,
 * saves it, and schedules the next step.
 *
 * While the storage cannot be written, each change is undone and its caller hears why. Every further change
 * tries again, and so does a timer while what time has changed is not saved. */
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
    void (*on_time)(void *ctx); /* called before the controller's step */
    void *time_ctx;
    void (*on_busy)(void *ctx, bool is_busy); /* a transaction begins or ends */
    /* No transaction is under way, and everything is saved or cannot be: what changes the controller by
     * anything but a request is done there. It is called after each transaction, before on_busy. */
    void (*on_idle)(void *ctx);
    void *busy_ctx; /* of both */
};

struct group_commit *group_commit_new(const struct group_commit_owner *owner);
/* Saves, and responds to all waiting calls. Accepts NULL. */
void group_commit_free(struct group_commit *commit);

/* Saves and responds now, however long the disk takes. */
void group_commit_flush(struct group_commit *commit);
/* Saves and responds, and calls on_idle: now, or when the disk has done its part. */
void group_commit_settle(struct group_commit *commit);
bool group_commit_is_busy(const struct group_commit *commit);
/* Saves, does what is due, saves that, and schedules the next step. */
void group_commit_step(struct group_commit *commit);
/* The same in the next turn of the loop. */
void group_commit_step_soon(struct group_commit *commit);
/* Responds when the change is on disk, or could not be saved, and, if id is not NULL, when that partition's
 * operation has ended. The reply is moved in. */
void group_commit_reply_take(struct group_commit *commit, struct rpc *rpc, const char *until,
                             struct str *reply);
