#include "vipu/server/storage/group_commit.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "vipu/wire/grpc/grpc.h"

#define RETRY_MS 1000

/* A call whose change waits for the transaction and, if it has a partition's id, for the end of the
 * partition's operation. */
struct waiting {
    struct rpc *rpc;
    struct str reply;
    char *until;
    bool is_saved;
};

struct group_commit {
    struct group_commit_owner owner;
    struct loop_timer commit;
    struct loop_timer step;
    struct loop_timer retry; /* of what time has changed, while the storage cannot be written */
    bool is_failing;
    struct waiting *waiting;
    size_t count;
};

static const struct controller_partition *held_of(const struct group_commit *c, const char *id)
{
    struct err err;

    return id ? controller_find(c->owner.controller, id, &err) : NULL;
}

static void answer_one(const struct group_commit *c, struct waiting *waiting, const struct err *err)
{
    const struct controller_partition *entry = held_of(c, waiting->until);

    if (err)
        rpc_reject(waiting->rpc, grpc_status_of_kind(err->kind), err->msg);
    else if (entry && entry->errors.count > 0)
        rpc_reject(waiting->rpc, GRPC_INTERNAL, entry->errors.items[0]);
    else
        rpc_reply(waiting->rpc, str_slice(&waiting->reply));
    str_release(&waiting->reply);
    mem_free(waiting->until);
}

/* Calls that also wait for an operation stay, unless the server stops. */
static void answer_saved(struct group_commit *c, bool all)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct controller_partition *entry = held_of(c, c->waiting[i].until);

        c->waiting[i].is_saved = true;
        if (!all && entry && controller_partition_is_under_way(entry))
            c->waiting[kept++] = c->waiting[i];
        else
            answer_one(c, &c->waiting[i], NULL);
    }
    c->count = kept;
}

static void reject_unsaved(struct group_commit *c, const struct err *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++) {
        if (c->waiting[i].is_saved)
            c->waiting[kept++] = c->waiting[i];
        else
            answer_one(c, &c->waiting[i], err);
    }
    c->count = kept;
}

static void on_retry(struct loop_timer *timer);

static void note_failure(struct group_commit *c, const struct err *err)
{
    c->owner.metrics->storage_failures++;
    if (!c->is_failing)
        log_error("changes are rejected until the storage can be written", KV("cause", err->msg));
    c->is_failing = true;
    loop_timer_start(c->owner.loop, &c->retry, RETRY_MS, on_retry);
}

static void note_success(struct group_commit *c)
{
    c->owner.metrics->storage_commits++;
    if (c->is_failing)
        log_info("the storage can be written again");
    c->is_failing = false;
    loop_timer_stop(&c->retry);
}

/* What cannot be saved is undone, and its callers hear why. What time has changed stays in memory: it would
 * happen again after a restart. */
static bool save(struct group_commit *c)
{
    struct err err;

    if (!controller_has_changes(c->owner.controller))
        return true;
    if (store_save(c->owner.store, c->owner.controller, &err)) {
        note_success(c);
        return true;
    }
    controller_undo(c->owner.controller);
    note_failure(c, &err);
    reject_unsaved(c, &err);
    return false;
}

void group_commit_flush(struct group_commit *c)
{
    if (save(c))
        answer_saved(c, false);
}

static void on_retry(struct loop_timer *timer)
{
    group_commit_flush(CONTAINER_OF(timer, struct group_commit, retry));
}

static void on_commit(struct loop_timer *timer)
{
    group_commit_step(CONTAINER_OF(timer, struct group_commit, commit));
}

static void on_step(struct loop_timer *timer)
{
    struct group_commit *c = CONTAINER_OF(timer, struct group_commit, step);

    c->owner.on_time(c->owner.time_ctx);
    group_commit_step(c);
}

void group_commit_step(struct group_commit *c)
{
    int64_t now = loop_now_ms(c->owner.loop), next;

    group_commit_flush(c); /* a step makes requests final */
    c->owner.controller->unix_offset_ms = loop_unix_micros() / 1000 - loop_clock_ms();
    next = controller_step(c->owner.controller, now);
    group_commit_flush(c);
    if (next >= 0)
        loop_timer_start(c->owner.loop, &c->step, next - now, on_step);
    else
        loop_timer_stop(&c->step);
}

void group_commit_reply_take(struct group_commit *c, struct rpc *rpc, const char *until, struct str *reply)
{
    c->waiting = mem_grow(c->waiting, c->count + 1, sizeof(*c->waiting));
    c->waiting[c->count++] = (struct waiting){.rpc = rpc, .reply = *reply, .until = mem_strdup(until)};
    *reply = (struct str){0};
    loop_timer_start(c->owner.loop, &c->commit, 0, on_commit);
}

struct group_commit *group_commit_new(const struct group_commit_owner *owner)
{
    struct group_commit *c = NEW(struct group_commit);

    c->owner = *owner;
    return c;
}

void group_commit_free(struct group_commit *c)
{
    if (!c)
        return;
    loop_timer_stop(&c->commit);
    loop_timer_stop(&c->step);
    (void)save(c);
    loop_timer_stop(&c->retry);
    answer_saved(c, true);
    mem_free(c->waiting);
    mem_free(c);
}
