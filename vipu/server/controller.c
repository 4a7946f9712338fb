#include "vipu/server/controller.h"

#include <string.h>

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
    occupancy_init(&c->occupancy, clusters);
}

static void held_free(struct held *held)
{
    vipu_partition_release(&held->partition);
    mem_free(held);
}

void controller_release(struct controller *c)
{
    for (size_t i = 0; i < c->count; i++)
        held_free(c->list[i]);
    mem_free(c->list);
    map_release(&c->by_id);
    strv_release(&c->removed);
    occupancy_release(&c->occupancy);
    *c = (struct controller){0};
}

static void add_take(struct controller *c, struct held *held)
{
    c->list = mem_grow(c->list, c->count + 1, sizeof(*c->list));
    c->list[c->count++] = held;
    map_set(&c->by_id, held->partition.id, held);
}

static void begin(struct held *held, enum vipu_operation_state operation, uint32_t duration_ms,
                  int64_t now_ms)
{
    held->operation = operation;
    held->due_ms = now_ms + duration_ms;
    held->partition.ready_state = VIPU_READY_PENDING;
    held->is_changed = true;
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

static bool is_under_way(const struct held *held)
{
    return held->operation == VIPU_OPERATION_CREATING || held->operation == VIPU_OPERATION_REMOVING ||
           held->operation == VIPU_OPERATION_RESETTING;
}

static void lose_hardware(struct held *held)
{
    held->cluster = NULL;
    if (held->operation == VIPU_OPERATION_REMOVING)
        return;
    held->operation = VIPU_OPERATION_FAILED;
    held->partition.ready_state = VIPU_READY_ERROR;
    held->error = "its IPUs are no longer in the controller's configuration";
}

bool controller_restore_take(struct controller *c, struct held *held, int64_t now_ms, struct err *err)
{
    const struct vipu_partition *p = &held->partition;
    const struct vipu_cluster *cluster = vipu_clusters_find(c->clusters, p->cluster_id);
    bool is_known = cluster != NULL;

    for (uint32_t i = 0; is_known && i < p->size; i++)
        is_known =
            p->ipus[i].domain_topology_id < cluster->domain_count && p->ipus[i].topology_id < VIPU_ILD_IPUS &&
            (vipu_domain_ipus(&cluster->domains[p->ipus[i].domain_topology_id]) >> p->ipus[i].topology_id &
             1);
    held->cluster = cluster;
    if (map_get(&c->by_id, p->id))
        err_set(err, ERR_INVALID, "partition %s is there twice", p->id);
    else if (is_known && !occupancy_take(&c->occupancy, cluster, p->ipus, p->size))
        err_set(err, ERR_INVALID, "partition %s has IPUs that another partition has", p->id);
    else {
        if (!is_known)
            lose_hardware(held);
        if (is_under_way(held))
            held->due_ms = now_ms + duration_of(c, held->operation);
        if (held->number >= c->next_number)
            c->next_number = held->number + 1;
        add_take(c, held);
        return true;
    }
    held_free(held);
    return false;
}

static struct vipu_partition describe(const struct vipu_requirements *r, const struct occupancy_place *place)
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
    struct occupancy_place place;
    struct held *held;
    /* Both always look: a caller learns every reason at once. */
    bool is_sound = vipu_requirements_check(&r, problems);
    bool is_free = occupancy_check(&c->occupancy, &r, problems);

    if (!is_sound || !is_free)
        return err_set(err, ERR_INVALID, "%s", problems->items[0]);
    if (map_get(&c->by_id, r.id))
        return err_set(err, ERR_EXISTS, "partition %s exists already", r.id);
    if (!occupancy_find(&c->occupancy, &r, &place, err))
        return false;
    held = NEW(struct held);
    held->partition = describe(&r, &place);
    held->cluster = place.cluster;
    held->number = c->next_number++;
    held->disable_auto_reset = r.disable_auto_reset;
    held->relocatable = r.relocatable;
    occupancy_take(&c->occupancy, held->cluster, held->partition.ipus, held->partition.size);
    begin(held, VIPU_OPERATION_CREATING, c->times.create_ms, now_ms);
    add_take(c, held);
    return true;
}

static struct held *find(const struct controller *c, const char *id, struct err *err)
{
    struct held *held = map_get(&c->by_id, id);

    if (!held)
        err_set(err, ERR_NOT_FOUND, "there is no partition \"%s\"", id);
    return held;
}

const struct held *controller_find(const struct controller *c, const char *id, struct err *err)
{
    return find(c, id, err);
}

/* `force` means to go on when the hardware reports errors; simulated hardware reports none, so both ways end
 * the same. */
bool controller_remove(struct controller *c, const char *id, bool force, int64_t now_ms, struct err *err)
{
    struct held *held = find(c, id, err);

    (void)force;
    if (!held)
        return false;
    if (held->operation != VIPU_OPERATION_REMOVING)
        begin(held, VIPU_OPERATION_REMOVING, c->times.remove_ms, now_ms);
    return true;
}

bool controller_reset(struct controller *c, const char *id, bool relocatable, int64_t now_ms, struct err *err)
{
    struct held *held = find(c, id, err);

    if (!held)
        return false;
    if (is_under_way(held))
        return err_set(err, ERR_CONFLICT, "partition %s cannot be reset while it is %s", id,
                       vipu_operation_state_name(held->operation));
    if (!held->cluster)
        return err_set(err, ERR_CONFLICT, "partition %s cannot be reset: %s", id, held->error);
    held->relocatable = held->relocatable || relocatable;
    begin(held, VIPU_OPERATION_RESETTING, c->times.reset_ms, now_ms);
    return true;
}

static void drop(struct controller *c, size_t index)
{
    struct held *held = c->list[index];

    if (held->cluster)
        occupancy_give(&c->occupancy, held->cluster, held->partition.ipus, held->partition.size);
    strv_push(&c->removed, held->partition.id);
    map_remove(&c->by_id, held->partition.id);
    memmove(&c->list[index], &c->list[index + 1], (c->count - index - 1) * sizeof(*c->list));
    c->count--;
    held_free(held);
}

static void settle(struct held *held)
{
    held->operation = VIPU_OPERATION_IDLE;
    held->partition.ready_state = VIPU_READY_ACTIVE;
    held->is_changed = true;
}

int64_t controller_step(struct controller *c, int64_t now_ms)
{
    int64_t next = -1;

    for (size_t i = 0; i < c->count;) {
        struct held *held = c->list[i];

        if (!is_under_way(held)) {
            i++;
        } else if (held->due_ms > now_ms) {
            next = next < 0 || held->due_ms < next ? held->due_ms : next;
            i++;
        } else if (held->operation == VIPU_OPERATION_REMOVING) {
            drop(c, i);
        } else {
            settle(held);
            i++;
        }
    }
    return next;
}

bool controller_has_changes(const struct controller *c)
{
    bool changed = c->removed.count > 0;

    for (size_t i = 0; i < c->count && !changed; i++)
        changed = c->list[i]->is_changed;
    return changed;
}

void controller_saved(struct controller *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->list[i]->is_changed = false;
    strv_release(&c->removed);
}
