#include "vipu/server/storage/group_commit.h"

#include <uv.h>

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

/* A transaction in another thread: a disk may take its time. Nothing changes the controller meanwhile. */
struct transaction {
    uv_work_t work;
    uv_sem_t is_written;
    struct group_commit *commit; /* NULL: its result has been taken */
    struct store *store;
    const struct controller *controller;
    bool ok;
    struct err err;
};

struct group_commit {
    struct group_commit_owner owner;
    struct transaction *transaction; /* NULL: none is under way */
    bool is_due;                     /* the controller's step is, after the transaction */
    bool may_save;                   /* no: the storage has just failed */
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
static void on_step(struct loop_timer *timer);

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
static bool conclude(struct group_commit *c, bool ok, const struct err *err)
{
    if (ok) {
        controller_saved(c->owner.controller);
        note_success(c);
        return true;
    }
    controller_undo(c->owner.controller);
    note_failure(c, err);
    reject_unsaved(c, err);
    return false;
}

static void set_busy(const struct group_commit *c, bool is_busy)
{
    c->owner.on_busy(c->owner.busy_ctx, is_busy);
}

static void end_busy(struct group_commit *c)
{
    struct transaction *transaction = TAKE(c->transaction);

    if (!transaction)
        return;
    transaction->commit = NULL;
    uv_sem_wait(&transaction->is_written);
    if (conclude(c, transaction->ok, &transaction->err))
        answer_saved(c, false);
    else
        c->may_save = false;
    c->owner.on_idle(c->owner.busy_ctx);
    set_busy(c, false);
}

static void write_transaction(uv_work_t *work)
{
    struct transaction *transaction = CONTAINER_OF(work, struct transaction, work);

    transaction->ok = store_write(transaction->store, transaction->controller, &transaction->err);
    uv_sem_post(&transaction->is_written);
}

static void advance(struct group_commit *c);

static void end_transaction(uv_work_t *work, int status)
{
    struct transaction *transaction = CONTAINER_OF(work, struct transaction, work);
    struct group_commit *c = transaction->commit;

    (void)status; /* it is never cancelled */
    if (c) {
        end_busy(c);
        advance(c);
    }
    uv_sem_destroy(&transaction->is_written);
    mem_free(transaction);
}

static void begin_transaction(struct group_commit *c)
{
    struct transaction *transaction = NEW(struct transaction);

    *transaction =
        (struct transaction){.commit = c, .store = c->owner.store, .controller = c->owner.controller};
    (void)uv_sem_init(&transaction->is_written, 0);
    c->transaction = transaction;
    set_busy(c, true);
    (void)uv_queue_work(loop_uv(c->owner.loop), &transaction->work, write_transaction, end_transaction);
}

static void run_step(struct group_commit *c)
{
    int64_t now = loop_now_ms(c->owner.loop), next;

    c->owner.controller->unix_offset_ms = loop_unix_micros() / 1000 - loop_clock_ms();
    next = controller_step(c->owner.controller, now);
    if (next >= 0)
        loop_timer_start(c->owner.loop, &c->step, next - now, on_step);
    else
        loop_timer_stop(&c->step);
}

/* Saves, does what is due, and saves that; a transaction goes on from where it ends. */
static void advance(struct group_commit *c)
{
    while (!c->transaction) {
        if (!controller_has_changes(c->owner.controller))
            answer_saved(c, false);
        else if (c->may_save) {
            begin_transaction(c);
            return;
        }
        if (!c->is_due)
            return;
        c->is_due = false;
        run_step(c);
    }
}

void group_commit_flush(struct group_commit *c)
{
    struct err err;

    end_busy(c);
    if (!controller_has_changes(c->owner.controller) ||
        conclude(c, store_write(c->owner.store, c->owner.controller, &err), &err))
        answer_saved(c, false);
}

void group_commit_settle(struct group_commit *c)
{
    if (c->transaction)
        return;
    if (controller_has_changes(c->owner.controller)) {
        begin_transaction(c);
        return;
    }
    answer_saved(c, false);
    c->owner.on_idle(c->owner.busy_ctx);
}

bool group_commit_is_busy(const struct group_commit *c)
{
    return c->transaction != NULL;
}

static void on_retry(struct loop_timer *timer)
{
    struct group_commit *c = CONTAINER_OF(timer, struct group_commit, retry);

    c->may_save = true;
    advance(c);
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
    c->may_save = c->is_due = true;
    advance(c);
}

void group_commit_step_soon(struct group_commit *c)
{
    loop_timer_start(c->owner.loop, &c->step, 0, on_step);
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
    group_commit_flush(c);
    loop_timer_stop(&c->retry);
    answer_saved(c, true);
    mem_free(c->waiting);
    mem_free(c);
}
