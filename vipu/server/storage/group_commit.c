#include "vipu/server/storage/group_commit.h"

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"

/* A call whose change waits for the transaction and, if it has a partition's id, for the end of the
 * partition's operation. */
struct waiting {
    struct rpc *rpc;
    struct str reply;
    char *until;
};

struct group_commit {
    struct group_commit_owner owner;
    struct loop_timer commit;
    struct loop_timer step;
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

/* Calls that also wait for an operation stay, unless there is an error or the server stops. */
static void answer_waiting(struct group_commit *c, const struct err *err, bool all)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct controller_partition *entry = held_of(c, c->waiting[i].until);

        if (!err && !all && entry && controller_partition_is_under_way(entry))
            c->waiting[kept++] = c->waiting[i];
        else
            answer_one(c, &c->waiting[i], err);
    }
    c->count = kept;
}

static bool save(struct group_commit *c)
{
    struct err err;

    if (!controller_has_changes(c->owner.controller))
        return true;
    if (store_save(c->owner.store, c->owner.controller, &err)) {
        c->owner.metrics->storage_commits++;
        return true;
    }
    answer_waiting(c, &err, true);
    c->owner.on_failure(c->owner.failure_ctx, &err);
    return false;
}

static void on_commit(struct loop_timer *timer)
{
    struct group_commit *c = CONTAINER_OF(timer, struct group_commit, commit);

    if (!save(c))
        return;
    answer_waiting(c, NULL, false);
    group_commit_step(c);
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

    c->owner.controller->unix_offset_ms = loop_unix_micros() / 1000 - loop_clock_ms();
    next = controller_step(c->owner.controller, now);
    if (!save(c))
        return;
    answer_waiting(c, NULL, false);
    if (next >= 0)
        loop_timer_start(c->owner.loop, &c->step, next - now, on_step);
    else
        loop_timer_stop(&c->step);
}

void group_commit_reply_take(struct group_commit *c, struct rpc *rpc, const char *until, struct str *reply)
{
    c->waiting = mem_grow(c->waiting, c->count + 1, sizeof(*c->waiting));
    c->waiting[c->count++] = (struct waiting){rpc, *reply, mem_strdup(until)};
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
    if (save(c))
        answer_waiting(c, NULL, true);
    mem_free(c->waiting);
    mem_free(c);
}
