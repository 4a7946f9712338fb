#include "vipu/server/controller/controller.h"

#include <assert.h>

#include "base/core/mem.h"
#include "vipu/model/shape.h"

#define IPUOF_SERVER_VERSION "1.11.0"

void controller_init(struct controller *c, const struct vipu_clusters *clusters,
                     struct controller_times times, uint32_t max_auto_reset_retries)
{
    *c = (struct controller){
        .clusters = clusters,
        .times = times,
        .max_auto_reset_retries = max_auto_reset_retries,
        .next_number = 1,
    };
    vipu_allocator_init(&c->allocator, clusters);
    health_init(&c->health, &c->allocator);
}

void controller_release(struct controller *c)
{
    for (struct controller_partition *entry = c->first, *next; entry; entry = next) {
        next = entry->next;
        controller_partition_free(entry);
    }
    undo_log_clear(&c->undo);
    due_queue_release(&c->due);
    mem_free(c->changed);
    map_release(&c->by_id);
    strv_release(&c->removed);
    vipu_allocator_release(&c->allocator);
    *c = (struct controller){0};
}

static void note_change(struct controller *c, struct controller_partition *entry)
{
    if (entry->changed_at > 0)
        return;
    c->changed = mem_grow(c->changed, c->changed_count + 1, sizeof(struct controller_partition *));
    c->changed[c->changed_count++] = entry;
    entry->changed_at = c->changed_count;
}

static void forget_change(struct controller *c, struct controller_partition *entry)
{
    struct controller_partition *last;

    if (entry->changed_at == 0)
        return;
    last = c->changed[--c->changed_count];
    c->changed[entry->changed_at - 1] = last;
    last->changed_at = entry->changed_at;
    entry->changed_at = 0;
}

static void schedule(struct controller *c, struct controller_partition *entry)
{
    if (controller_partition_is_timed(entry))
        due_queue_put(&c->due, entry);
    else
        due_queue_remove(&c->due, entry);
}

/* After each change of its state. */
static void track(struct controller *c, struct controller_partition *entry)
{
    note_change(c, entry);
    schedule(c, entry);
}

static void add_take(struct controller *c, struct controller_partition *entry)
{
    entry->previous = c->last;
    *(c->last ? &c->last->next : &c->first) = entry;
    c->last = entry;
    c->count++;
    map_set(&c->by_id, entry->partition.id, entry);
}

/* Out of every list; its IPUs are free, and the caller owns it. */
static void unlist(struct controller *c, struct controller_partition *entry)
{
    if (entry->cluster)
        vipu_allocator_unreserve(&c->allocator, entry->cluster, entry->partition.ipus, entry->partition.size);
    due_queue_remove(&c->due, entry);
    forget_change(c, entry);
    map_remove(&c->by_id, entry->partition.id);
    *(entry->previous ? &entry->previous->next : &c->first) = entry->next;
    *(entry->next ? &entry->next->previous : &c->last) = entry->previous;
    c->count--;
}

static uint32_t duration_of(const struct controller *c, enum vipu_operation_state operation)
{
    switch (operation) {
    case VIPU_OPERATION_CREATING:
        return c->times.create_ms;
    case VIPU_OPERATION_REMOVING:
        return c->times.remove_ms;
    case VIPU_OPERATION_RESETTING:
        return c->times.reset_ms;
    case VIPU_OPERATION_UNDEFINED:
    case VIPU_OPERATION_IDLE:
    case VIPU_OPERATION_FAILED:
        break;
    }
    return 0;
}

static uint32_t removed_ms(const struct controller *c)
{
    uint32_t linger_ms = c->faults ? c->faults->linger_ms : 0;

    return linger_ms > c->times.removed_ms ? linger_ms : c->times.removed_ms;
}

static void begin_operation(struct controller *c, struct controller_partition *entry,
                            enum vipu_operation_state operation, enum fault_moment moment, int64_t now_ms)
{
    controller_partition_begin(entry, operation, now_ms + duration_of(c, operation));
    if (c->faults)
        entry->planned_error = faults_on_operation(c->faults, entry->partition.id, moment);
    track(c, entry);
}

static void lose_hardware(struct controller *c, struct controller_partition *entry)
{
    entry->cluster = NULL;
    if (entry->operation == VIPU_OPERATION_REMOVING || controller_partition_is_removed(entry))
        return;
    strv_release(&entry->errors);
    strv_push(&entry->errors, "its IPUs are no longer in the controller's configuration");
    controller_partition_fail(entry);
    note_change(c, entry);
}

/* An operation that a restart interrupted starts again. */
static void resume(const struct controller *c, struct controller_partition *entry, int64_t now_ms)
{
    entry->due_ms = now_ms;
    if (controller_partition_is_under_way(entry))
        entry->due_ms += duration_of(c, entry->operation);
    else if (controller_partition_is_removed(entry))
        entry->due_ms += removed_ms(c);
    else if (controller_partition_waits_for_reset(entry))
        entry->due_ms += c->times.auto_reset_ms;
}

bool controller_restore_take(struct controller *c, struct controller_partition *entry, int64_t now_ms,
                             struct err *err)
{
    const struct vipu_partition *p = &entry->partition;
    const struct vipu_cluster *cluster = vipu_clusters_find(c->clusters, p->cluster_id);
    bool is_known = cluster != NULL;

    for (uint32_t i = 0; is_known && i < p->size; i++)
        is_known =
            p->ipus[i].domain_topology_id < cluster->domain_count && p->ipus[i].topology_id < VIPU_ILD_IPUS &&
            (vipu_domain_ipus(&cluster->domains[p->ipus[i].domain_topology_id]) >> p->ipus[i].topology_id &
             1);
    entry->cluster = cluster;
    if (map_get(&c->by_id, p->id))
        err_set(err, ERR_INVALID, "duplicate partition %s", p->id);
    else if (is_known && !vipu_allocator_reserve(&c->allocator, cluster, p->ipus, p->size))
        err_set(err, ERR_INVALID, "partition %s has IPUs of another partition", p->id);
    else {
        if (!is_known)
            lose_hardware(c, entry);
        resume(c, entry, now_ms);
        schedule(c, entry);
        c->health.is_new = true;
        if (entry->number >= c->next_number)
            c->next_number = entry->number + 1;
        add_take(c, entry);
        return true;
    }
    controller_partition_free(entry);
    return false;
}

static struct vipu_partition describe(const struct vipu_requirements *r, const struct vipu_placement *place)
{
    return (struct vipu_partition){
        .id = mem_strdup(r->id),
        .cluster_id = mem_strdup(place->cluster->id),
        .allocation_id = mem_strdup(place->allocation->id),
        .ipuof_server_version = mem_strdup(IPUOF_SERVER_VERSION),
        .size = r->size,
        .num_gcds = r->num_gcds,
        .num_replicas = r->num_replicas,
        .num_ilds = r->num_ilds,
        .reconfigurable = r->reconfigurable,
        .sync_type = r->reconfigurable ? VIPU_SYNC_GS2_DEFAULT : r->sync_type,
        .routing =
            r->routing ? r->routing : vipu_routing_default(r->size / r->num_ilds, place->cluster->torus),
        .gateway_routing = r->gateway_routing,
        .ipus = place->ipus,
    };
}

bool controller_create(struct controller *c, const struct vipu_requirements *given, int64_t now_ms,
                       struct strv *problems, struct err *err)
{
    struct vipu_requirements r = vipu_requirements_with_defaults(given);
    struct vipu_placement place;
    struct controller_partition *entry;
    /* Both always check, so that the caller gets every reason at once. */
    bool is_sound = vipu_requirements_check(&r, problems);
    bool is_free = vipu_allocator_check(&c->allocator, &r, problems);

    if (!is_sound || !is_free)
        return err_set(err, ERR_INVALID, "%s", problems->items[0]);
    if (map_get(&c->by_id, r.id))
        return err_set(err, ERR_EXISTS, "partition %s already exists", r.id);
    if (!vipu_allocator_find(&c->allocator, &r, &place, err))
        return false;
    entry = NEW(struct controller_partition);
    entry->partition = describe(&r, &place);
    entry->cluster = place.cluster;
    entry->number = c->next_number++;
    entry->disable_auto_reset = r.disable_auto_reset;
    entry->relocatable = r.relocatable;
    if (!vipu_allocator_reserve(&c->allocator, entry->cluster, entry->partition.ipus,
                                entry->partition.size)) {
        controller_partition_free(entry);
        return err_set(err, ERR_INTERNAL, "internal: the allocated block is in use");
    }
    undo_log_add(&c->undo, entry, true);
    begin_operation(c, entry, VIPU_OPERATION_CREATING, FAULT_CREATE, now_ms);
    add_take(c, entry);
    return true;
}

static struct controller_partition *find(const struct controller *c, const char *id, struct err *err)
{
    struct controller_partition *entry = map_get(&c->by_id, id);

    if (!entry)
        err_set(err, ERR_NOT_FOUND, "partition \"%s\" not found", id);
    return entry;
}

const struct controller_partition *controller_find(const struct controller *c, const char *id,
                                                   struct err *err)
{
    return find(c, id, err);
}

bool controller_remove(struct controller *c, const char *id, bool force, int64_t now_ms, struct err *err)
{
    struct controller_partition *entry = find(c, id, err);

    if (!entry)
        return false;
    if (controller_partition_is_removed(entry))
        return true;
    undo_log_add(&c->undo, entry, false);
    if (entry->operation != VIPU_OPERATION_REMOVING)
        begin_operation(c, entry, VIPU_OPERATION_REMOVING, FAULT_REMOVE, now_ms);
    entry->is_forced = entry->is_forced || force;
    note_change(c, entry);
    return true;
}

/* Moves it to working IPUs. Without enough free IPUs it stays where it is: the IPUs may work again before
 * its reset ends. */
static void relocate(struct controller *c, struct controller_partition *entry)
{
    struct vipu_partition *p = &entry->partition;
    struct vipu_requirements r = {.id = p->id,
                                  .size = p->size,
                                  .routing = p->routing,
                                  .gateway_routing = p->gateway_routing,
                                  .sync_type = p->sync_type,
                                  .num_ilds = p->num_ilds,
                                  .num_gcds = p->num_gcds,
                                  .num_replicas = p->num_replicas,
                                  .reconfigurable = p->reconfigurable};
    struct vipu_placement place = {.ipus = p->ipus};
    struct err err;

    place.allocation = vipu_clusters_allocation(c->clusters, p->allocation_id, &place.cluster);
    /* A restart with another configuration may have moved the allocation. */
    if (place.allocation && place.cluster == entry->cluster &&
        vipu_allocator_relocate(&c->allocator, &r, &place, &err))
        p->ipus = place.ipus;
}

static void begin_reset(struct controller *c, struct controller_partition *entry, bool relocatable,
                        int64_t now_ms)
{
    if (relocatable && health_fails(&c->health, entry->cluster, &entry->partition))
        relocate(c, entry);
    begin_operation(c, entry, VIPU_OPERATION_RESETTING, FAULT_RESET, now_ms);
}

bool controller_reset(struct controller *c, const char *id, bool relocatable, int64_t now_ms, struct err *err)
{
    struct controller_partition *entry = find(c, id, err);

    if (!entry)
        return false;
    if (controller_partition_is_under_way(entry) || controller_partition_is_removed(entry))
        return err_set(err, ERR_CONFLICT, "partition %s cannot be reset while it is %s", id,
                       controller_partition_is_removed(entry) ? "REMOVED"
                                                              : vipu_operation_state_name(entry->operation));
    if (!entry->cluster)
        return err_set(err, ERR_CONFLICT, "partition %s cannot be reset: %s", id, entry->errors.items[0]);
    undo_log_add(&c->undo, entry, false);
    entry->auto_resets = 0;
    begin_reset(c, entry, relocatable || entry->relocatable, now_ms);
    return true;
}

void controller_set_key_hash(struct controller *c, const char *id, const char *hash)
{
    struct controller_partition *entry = map_get(&c->by_id, id);

    mem_set_str(&entry->key_hash, hash);
    note_change(c, entry);
}

struct vipu_status controller_status(const struct controller *c, const struct controller_partition *entry)
{
    return (struct vipu_status){
        .partition_id = entry->partition.id,
        .ready_state = entry->partition.ready_state,
        .operation_state = entry->operation,
        .errors = entry->errors.items,
        .error_count = entry->errors.count,
        .max_auto_reset_retries = entry->disable_auto_reset ? 0 : c->max_auto_reset_retries,
        .auto_reset_retry_count = entry->auto_resets,
        .last_auto_reset_unix_s = entry->last_auto_reset_unix_s,
    };
}

static void drop(struct controller *c, struct controller_partition *entry)
{
    unlist(c, entry);
    strv_push(&c->removed, entry->partition.id);
    controller_partition_free(entry);
}

void controller_forget(struct controller *c)
{
    undo_log_clear(&c->undo);
    while (c->last)
        drop(c, c->last);
}

/* Fails the operation if a fault says so; its errors say why. */
static bool collect_errors(const struct controller *c, struct controller_partition *entry)
{
    bool fails = health_fails(&c->health, entry->cluster, &entry->partition);

    if (!entry->planned_error && !fails)
        return false;
    strv_release(&entry->errors);
    if (entry->planned_error)
        strv_push(&entry->errors, entry->planned_error);
    if (fails)
        health_explain(&c->health, entry->cluster, &entry->partition, &entry->errors);
    return true;
}

static void fail(struct controller *c, struct controller_partition *entry, int64_t now_ms)
{
    if (!entry->disable_auto_reset && entry->auto_resets < c->max_auto_reset_retries)
        controller_partition_await_reset(entry, now_ms + c->times.auto_reset_ms);
    else
        controller_partition_fail(entry);
    track(c, entry);
}

static void auto_reset(struct controller *c, struct controller_partition *entry, int64_t now_ms)
{
    entry->auto_resets++;
    entry->last_auto_reset_unix_s = (now_ms + c->unix_offset_ms) / 1000;
    begin_reset(c, entry, entry->relocatable, now_ms);
}

static void finish_removal(struct controller *c, struct controller_partition *entry, int64_t now_ms)
{
    if (!entry->is_forced && collect_errors(c, entry)) {
        controller_partition_fail(entry);
    } else if (removed_ms(c) > 0) {
        controller_partition_leave(entry, now_ms + removed_ms(c));
    } else {
        drop(c, entry);
        return;
    }
    track(c, entry);
}

static void finish_reset(struct controller *c, struct controller_partition *entry, int64_t now_ms)
{
    if (!collect_errors(c, entry))
        controller_partition_settle(entry);
    else if (entry->auto_resets > 0)
        fail(c, entry, now_ms);
    else
        controller_partition_fail(entry);
    track(c, entry);
}

/* Completes what was due. */
static void finish_operation(struct controller *c, struct controller_partition *entry, int64_t now_ms)
{
    if (controller_partition_waits_for_reset(entry))
        auto_reset(c, entry, now_ms);
    else if (controller_partition_is_removed(entry))
        drop(c, entry);
    else if (entry->operation == VIPU_OPERATION_REMOVING)
        finish_removal(c, entry, now_ms);
    else
        finish_reset(c, entry, now_ms);
}

/* An active partition fails: its automatic resets are counted from here. */
static void fail_active_partition(struct controller *c, struct controller_partition *entry, int64_t now_ms)
{
    if (!collect_errors(c, entry))
        return;
    entry->auto_resets = 0;
    fail(c, entry, now_ms);
}

static bool is_active(const struct controller_partition *entry)
{
    return entry->partition.ready_state == VIPU_READY_ACTIVE;
}

void controller_set_faults(struct controller *c, struct faults *faults, int64_t now_ms)
{
    undo_log_clear(&c->undo);
    c->faults = faults;
    health_look(&c->health, faults, now_ms);
    for (struct controller_partition *entry = c->first; faults && entry; entry = entry->next) {
        bool may_fail = is_active(entry) || controller_partition_is_under_way(entry);

        if (!may_fail || entry->planned_error)
            continue;
        entry->planned_error = faults_on_operation(faults, entry->partition.id, FAULT_NOW);
        if (is_active(entry))
            fail_active_partition(c, entry, now_ms);
    }
}

static void earlier_deadline(int64_t at, int64_t *next)
{
    if (at >= 0 && (*next < 0 || at < *next))
        *next = at;
}

/* Only after a check of the hardware: between two, no active partition begins to fail. */
static void fail_active_partitions(struct controller *c, int64_t now_ms)
{
    if (!c->health.is_new)
        return;
    c->health.is_new = false;
    if (!c->health.is_any)
        return;
    CONTROLLER_EACH (entry, c)
        if (is_active(entry))
            fail_active_partition(c, entry, now_ms);
}

int64_t controller_step(struct controller *c, int64_t now_ms)
{
    struct controller_partition *entry;
    int64_t next;

    undo_log_clear(&c->undo);
    health_step(&c->health, now_ms);
    fail_active_partitions(c, now_ms);
    while ((entry = due_queue_first(&c->due)) && entry->due_ms <= now_ms)
        finish_operation(c, entry, now_ms);
    next = c->health.next_ms;
    if (entry)
        earlier_deadline(entry->due_ms, &next);
    return next;
}

bool controller_has_changes(const struct controller *c)
{
    return c->removed.count > 0 || c->changed_count > 0;
}

void controller_saved(struct controller *c)
{
    for (size_t i = 0; i < c->changed_count; i++)
        c->changed[i]->changed_at = 0;
    mem_free(c->changed);
    c->changed = NULL;
    c->changed_count = 0;
    strv_release(&c->removed);
    undo_log_clear(&c->undo);
}

/* Undone from the last to the first, so the IPUs from before are free again. */
static void undo_move(struct controller *c, struct controller_partition *entry, struct vipu_ipu *ipus_take)
{
    struct vipu_partition *p = &entry->partition;
    bool is_free = true;

    if (entry->cluster) {
        vipu_allocator_unreserve(&c->allocator, entry->cluster, p->ipus, p->size);
        is_free = vipu_allocator_reserve(&c->allocator, entry->cluster, ipus_take, p->size);
    }
    assert(is_free);
    (void)is_free;
    mem_free(p->ipus);
    p->ipus = ipus_take;
}

static void undo_change(struct controller *c, struct undo_step *step)
{
    struct controller_partition *entry = step->entry;

    undo_move(c, entry, TAKE(step->ipus));
    entry->partition.ready_state = step->ready_state;
    entry->operation = step->operation;
    entry->auto_resets = step->auto_resets;
    entry->due_ms = step->due_ms;
    entry->is_forced = step->is_forced;
    mem_free(entry->planned_error);
    entry->planned_error = TAKE(step->planned_error);
    mem_free(entry->key_hash);
    entry->key_hash = TAKE(step->key_hash);
    schedule(c, entry);
    if (!step->was_changed)
        forget_change(c, entry);
}

void controller_undo(struct controller *c)
{
    struct undo_step step;

    while (undo_log_pop(&c->undo, &step)) {
        if (step.is_new) {
            unlist(c, step.entry);
            controller_partition_free(step.entry);
        } else {
            undo_change(c, &step);
        }
    }
    undo_log_clear(&c->undo);
}
