#include "operator/pool/pool.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "operator/pool/pool_internal.h"

/* Poll delay when a job begins to wait. */
#define WAITING_POLL_MS 50

const char *pool_call_name(enum pool_call call)
{
    static const char *const names[] = {
        [POOL_LIST] = "ListPartitions",    [POOL_ATTRIBUTES] = "ListIPUAttributes",
        [POOL_VERSION] = "GetVersion",     [POOL_STATUS] = "GetPartitionStatus",
        [POOL_CREATE] = "CreatePartition", [POOL_RESET] = "ResetPartition",
        [POOL_REMOVE] = "RemovePartition",
    };

    return names[call];
}

/* ---- partitions with a record ---- */

static struct controller *find_controller(const struct pool *pool, const char *name)
{
    int index = pool_find(pool, name);

    return index < 0 ? NULL : &pool->controllers[index];
}

static struct partition_tracker *find_tracked(const struct pool *pool, const char *controller, const char *id)
{
    struct controller *c = find_controller(pool, controller);

    return c ? map_get(&c->trackers, id) : NULL;
}

void pool_follow(struct pool *pool, const struct pool_track *track)
{
    struct controller *c = find_controller(pool, track->controller);
    struct partition_tracker *tracker;

    if (!c)
        return;
    tracker = map_get(&c->trackers, track->id);
    if (!tracker) {
        tracker = partition_tracker_new(c, track);
        map_set(&c->trackers, track->id, tracker);
        controller_poll_soon(c);
    }
    tracker->size = track->size;
    tracker->reserves = track->reserves;
    tracker->started = track->started;
}

void pool_forget(struct pool *pool, const char *controller, const char *id)
{
    struct controller *c = find_controller(pool, controller);
    struct partition_tracker *tracker = c ? map_remove(&c->trackers, id) : NULL;

    if (tracker)
        partition_tracker_free(tracker);
}

void pool_begin_run(struct pool *pool, const char *controller, const char *id)
{
    struct partition_tracker *tracker = find_tracked(pool, controller, id);

    if (!tracker)
        return;
    tracker->started = false;
    tracker->created_in_run = false;
    tracker->view.quiet = true;
    tracker->view.fresh = false;
    tracker->view.resets_failing_since_ms = 0;
    tracker->view.pods_until_ms = 0;
}

void pool_note_pending_pod(struct pool *pool, const char *controller, const char *id, int64_t until_ms)
{
    struct partition_tracker *tracker = find_tracked(pool, controller, id);

    if (!tracker)
        return;
    partition_tracker_note_pending_pod(tracker, until_ms);
    tracker->view.pods_until_ms = until_ms;
}

struct partition_view pool_partition(const struct pool *pool, const char *controller, const char *id)
{
    struct partition_tracker *tracker = find_tracked(pool, controller, id);

    if (tracker) {
        struct partition_view view = tracker->view;

        view.trouble = tracker->trouble; /* wherever it moved to */
        return view;
    }
    return (struct partition_view){.trouble = find_controller(pool, controller) ? NULL : "not configured"};
}

void pool_create(struct pool *pool, const char *controller, const struct vipu_requirements *requirements)
{
    struct partition_tracker *tracker = find_tracked(pool, controller, requirements->id);

    if (tracker)
        partition_tracker_create(tracker, requirements);
}

void pool_reset(struct pool *pool, const char *controller, const char *id)
{
    struct partition_tracker *tracker = find_tracked(pool, controller, id);

    if (tracker)
        partition_tracker_reset(tracker);
}

void pool_remove(struct pool *pool, const char *controller, const char *id)
{
    struct partition_tracker *tracker = find_tracked(pool, controller, id);

    if (tracker)
        partition_tracker_remove(tracker);
}

/* ---- the pool ---- */

struct pool *pool_new(struct loop *loop, const struct pool_options *options)
{
    struct pool *pool = NEW(struct pool);

    pool->loop = loop;
    pool->options = *options;
    pool->count = options->config->count;
    pool->controllers = mem_alloc((pool->count + 1) * sizeof(*pool->controllers));
    for (size_t i = 0; i < pool->count; i++)
        controller_start(pool, &pool->controllers[i], &options->config->items[i]);
    return pool;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->count; i++)
        controller_stop(&pool->controllers[i]);
    mem_free(pool->controllers);
    mem_free(pool);
}

void pool_abort(struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        vipu_client_abort(pool->controllers[i].client);
}

size_t pool_count(const struct pool *pool)
{
    return pool->count;
}

const struct pool_controller *pool_controller(const struct pool *pool, size_t index)
{
    return &pool->controllers[index].public;
}

int pool_find(const struct pool *pool, const char *controller)
{
    for (size_t i = 0; i < pool->count; i++) {
        if (str_eq(pool->controllers[i].public.config->name, controller))
            return (int)i;
    }
    return -1;
}

/* False: nobody knows where it will be. */
static bool take_place(const struct partition_tracker *tracker, struct vipu_pool_view *view)
{
    struct vipu_pool_part part;

    return tracker->place && !tracker->is_place_busy && !tracker->is_place_rejected &&
           vipu_pool_part_of(view, tracker->place, tracker->size, &part) && vipu_pool_take(view, &part);
}

static struct vipu_pool_view free_capacity(const struct controller *c,
                                           bool (*counts)(const struct partition_tracker *tracker))
{
    struct vipu_pool_view view =
        vipu_pool_view_of(&c->listed, (struct vipu_pool_shape){.total_ipus = c->public.total_ipus});
    AUTO(mem) uint32_t *elsewhere = NULL;
    size_t count = 0;
    const char *id;
    void *value;

    for (size_t i = 0; map_next(&c->trackers, &i, &id, &value);) {
        const struct partition_tracker *tracker = value;

        if (!counts(tracker) || map_get(&c->listed_by_id, id) || take_place(tracker, &view))
            continue;
        elsewhere = mem_grow(elsewhere, count + 1, sizeof(*elsewhere));
        elsewhere[count++] = tracker->size;
    }
    cordon_apply(&c->public.cordon, &view);
    while (count)
        vipu_pool_reserve(&view, elsewhere[--count]);
    return view;
}

static bool reserves(const struct partition_tracker *tracker)
{
    return tracker->reserves;
}

static bool was_sent(const struct partition_tracker *tracker)
{
    return tracker->reserves && tracker->sends > 0;
}

struct vipu_pool_view pool_free_capacity(const struct pool *pool, size_t index)
{
    return free_capacity(&pool->controllers[index], reserves);
}

struct vipu_pool_view controller_unsent_capacity(const struct controller *c)
{
    return free_capacity(c, was_sent);
}

void pool_set_cordon(struct pool *pool, size_t index, const struct cordon *cordon)
{
    struct cordon *mine = &pool->controllers[index].public.cordon;

    cordon_release(mine);
    *mine = cordon_copy(cordon);
    pool->options.on_capacity_change(pool->options.ctx);
}

uint32_t pool_largest_partition(const struct pool *pool)
{
    uint32_t largest = 0;

    for (size_t i = 0; i < pool->count; i++) {
        AUTO(vipu_pool_view) struct vipu_pool_view view = pool_free_capacity(pool, i);
        uint32_t capacity = vipu_pool_capacity(&view);

        if (!pool->controllers[i].public.is_known || !pool->controllers[i].public.total_ipus)
            return 0;
        largest = capacity > largest ? capacity : largest;
    }
    return largest;
}

bool pool_reserves(const struct pool *pool, const char *id)
{
    for (size_t i = 0; i < pool->count; i++) {
        const struct partition_tracker *tracker = map_get(&pool->controllers[i].trackers, id);

        if (tracker && tracker->reserves)
            return true;
    }
    return false;
}

void pool_set_waiting(struct pool *pool, bool waiting)
{
    if (waiting && !pool->waiting) {
        pool->waiting = true;
        for (size_t i = 0; i < pool->count; i++)
            controller_poll_within(&pool->controllers[i], WAITING_POLL_MS);
    }
    pool->waiting = waiting;
}

const struct vipu_partition *pool_listed(const struct pool *pool, const char *controller, const char *id)
{
    struct controller *c = find_controller(pool, controller);

    return c ? map_get(&c->listed_by_id, id) : NULL;
}
