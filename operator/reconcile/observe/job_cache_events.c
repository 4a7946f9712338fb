#include "base/core/mem.h"
#include "operator/reconcile/state/reconciler_state.h"

struct job_memory *reconciler_memory(struct reconciler *r, const char *key, const char *uid)
{
    struct job_memory *memory = map_get(&r->memories, uid);

    if (!memory) {
        memory = memory_new(key, uid);
        memory->arrival = ++r->arrivals;
        map_set(&r->memories, uid, memory);
    }
    return memory;
}

/* ---- pods ---- */

static void remember_present(struct reconciler *r, const struct pod *pod, struct worker_memory *worker)
{
    worker->state = WORKER_PRESENT;
    worker->revision = pod->revision;
    /* One that waits may be started by the next boot of its node. */
    if (pod->node && pod->phase != POD_PENDING && !worker->has_started) {
        worker->has_started = true;
        worker->boot = node_boot(node_seen(r, pod->node));
    }
    worker->disruption = pod->disruption;
    worker->disrupted_s = pod->disrupted_s;
    if (pod->deleting && !worker->deleting) {
        worker->deleting = true;
        worker->since_ms = loop_now_ms(r->loop);
    }
}

/* What the watch did not see, it does not vouch for: a pod that had no node then may have had one since. */
static void remember_gone(struct reconciler *r, const struct pod *last, bool vanished_unseen,
                          struct worker_memory *worker)
{
    bool fenced = node_is_fenced(r, last->node, worker->boot);
    bool quiet = pod_is_quiet(last, !vanished_unseen, fenced);

    mem_set_str(&worker->pod, last->name);
    mem_set_str(&worker->node, last->node);
    worker->disruption = last->disruption;
    worker->disrupted_s = last->disrupted_s;
    worker->state = quiet ? WORKER_GONE_QUIET : WORKER_GONE_UNKNOWN;
    worker->since_ms = loop_now_ms(r->loop);
}

static const struct record *record_named(const struct reconciler *r, const char *partition)
{
    return store_view(watch_store(r->records), r->options.operator_ns, partition);
}

/* Where a pod is remembered, or NULL. Without a record nothing is decided about a partition: pods that stay
 * for their logs, or go after their job, are not remembered, and what they say of themselves is held against
 * the record. Until the records are listed, all are; and who is remembered is heard out, because a farewell
 * that was missed would make the wait for it endless. */
static struct part_memory *part_of(struct reconciler *r, const struct pod *pod)
{
    const struct record *record = pod->partition ? record_named(r, pod->partition) : NULL;
    struct job_memory *memory = map_get(&r->memories, pod->job_uid);

    if (!pod->partition || pod->worker >= POD_SEATS_MAX)
        return NULL;
    if (record && (!str_eq(record->job_uid, pod->job_uid) || pod->worker >= record_seats(record)))
        return NULL;
    if (!record && watch_is_synced(r->records))
        return memory ? map_get(&memory->parts, pod->partition) : NULL;
    memory = reconciler_memory(r, pod->job_key, pod->job_uid);
    return memory_part(memory, pod->partition, loop_now_ms(r->loop));
}

void memories_see_pod(struct reconciler *r, const struct store_change *change, const struct pod *pod)
{
    struct part_memory *part = part_of(r, pod);
    struct job_memory *memory = map_get(&r->memories, pod->job_uid);

    if (memory)
        memory_saw_version(memory, pod->resource_version);
    if (part && pod->run > part->run)
        part_begin_run(part, pod->run, loop_now_ms(r->loop));
    if (!part || pod->run != part->run)
        return;
    if (change->new)
        remember_present(r, pod, part_worker(part, pod->worker));
    else
        remember_gone(r, pod, change->vanished_unseen, part_worker(part, pod->worker));
}

void memories_see_pods_of(struct reconciler *r, const struct record *record)
{
    for (const struct store_item *i = store_first_of(watch_store(r->pods), record->job_key); i;
         i = store_next_of(i)) {
        const struct pod *pod = i->view;

        if (pod->partition && str_eq(pod->partition, record->name) && str_eq(pod->job_uid, record->job_uid))
            memories_see_pod(r, &(struct store_change){.new = i->view}, pod);
    }
}

/* ---- what nobody asks about ---- */

void memories_forget(struct reconciler *r, const char *key, const char *uid)
{
    for (const struct store_item *i = store_first_of(watch_store(r->records), key); i; i = store_next_of(i)) {
        const struct record *record = i->view;

        if (str_eq(record->job_uid, uid))
            return;
    }
    map_remove(&r->gone, uid);
    map_remove(&r->waiting, uid);
    memory_free(map_remove(&r->memories, uid)); /* uid may be its own */
    reconciler_claims_changed(r);
}

struct owner {
    const struct reconciler *r;
    const char *uid;
};

static bool has_record(void *ctx, const char *partition)
{
    const struct owner *owner = ctx;
    const struct record *record = record_named(owner->r, partition);

    return record && str_eq(record->job_uid, owner->uid);
}

void memories_forget_strangers(struct reconciler *r)
{
    AUTO(mem) struct job_memory **all = mem_alloc((r->memories.count + 1) * sizeof(*all));
    size_t count = 0;
    void *memory;

    for (size_t i = 0; map_next(&r->memories, &i, NULL, &memory);)
        all[count++] = memory;
    for (size_t i = 0; i < count; i++) {
        const struct store_item *item = store_get(watch_store(r->jobs), all[i]->key);

        memory_keep_parts(all[i], has_record, &(struct owner){r, all[i]->uid});
        if (!item || !str_eq(((const struct job *)item->view)->uid, all[i]->uid))
            memories_forget(r, all[i]->key, all[i]->uid);
    }
}
