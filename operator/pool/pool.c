#include "operator/pool/pool.h"

#include <string.h>

#include "base/core/backoff.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/log.h"
#include "base/io/loop.h"

/* How often a controller is asked for its partitions. */
#define POLL_FIRST_MS 50     /* something was just sent */
#define POLL_BUSY_MAX_MS 500 /* something is under way */
#define POLL_USED_MS 5000    /* partitions are in use, or somebody waits */
#define POLL_IDLE_MS 60000
#define POLL_DOWN_MAX_MS 5000
#define ATTRIBUTES_MS 60000
/* An acknowledged write that shows no effect for so long is sent again. */
#define AWAIT_MS 10000

enum await { AWAIT_NOTHING, AWAIT_ACTIVE, AWAIT_RESET, AWAIT_GONE };

struct controller {
    struct pool_controller face; /* first: the public part */
    struct pool *pool;
    struct vipu_client *client;
    struct loop_timer timer;
    struct vipu_partitions listed;
    struct map listed_by_id;
    struct map parts; /* id -> struct part */
    struct vipu_call *list_call, *agents_call;
    int64_t list_begun_ms; /* of the one in flight */
    int64_t agents_at_ms;  /* when it was asked last; 0: never */
    int64_t poll_ms;
    int64_t next_poll_ms;
    unsigned failures;
    uint64_t fingerprint; /* of the last list, to see that something changed */
};

struct part {
    struct controller *controller;
    char *id;
    struct part_view view;
    char *trouble;
    uint32_t size;
    bool reserves, is_ours_fresh, started;
    enum await await;
    int64_t await_until_ms;
    bool status_says_gone;
    struct vipu_call *call; /* create, reset or remove */
    struct vipu_call *status_call;
    int64_t
        last_write_ms; /* when its last write was answered or given up; lists begun before prove nothing */
    int64_t sent_ms;
    unsigned sends, failures;
    int64_t seen_ms; /* beginning of the list that view.state is from */
};

struct pool {
    struct loop *loop;
    struct pool_options options;
    struct controller *controllers;
    size_t count;
    bool waiting;
};

static void poll_now(struct controller *c);
static void plan_poll(struct controller *c, int64_t at_most_ms);

static int64_t now_ms(const struct controller *c)
{
    return loop_now_ms(c->pool->loop);
}

static void tell_part(struct part *part)
{
    part->view.trouble = part->trouble;
    part->view.busy = part->call != NULL || part->await != AWAIT_NOTHING;
    part->controller->pool->options.on_part(part->controller->pool->options.ctx,
                                            part->controller->face.config->name, part->id);
}

static void tell_room(struct controller *c)
{
    c->pool->options.on_room(c->pool->options.ctx);
}

/* ---- what a list says ---- */

static enum part_state state_of(const struct vipu_partition *listed)
{
    if (!listed)
        return PART_ABSENT;
    switch (listed->ready_state) {
    case VIPU_READY_ACTIVE:
        return PART_ACTIVE;
    case VIPU_READY_ERROR:
        return PART_ERROR;
    case VIPU_READY_UNDEFINED:
    case VIPU_READY_PENDING:
    case VIPU_READY_REMOVED: /* on its way out; it is gone when it is not listed any more */
        break;
    }
    return PART_PENDING;
}

static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status);

static void ask_status(struct part *part)
{
    if (!part->status_call)
        part->status_call =
            vipu_get_partition_status(part->controller->client, part->id, POOL_DEADLINE_MS, on_status, part);
}

static void end_await(struct part *part, bool is_fresh)
{
    part->await = AWAIT_NOTHING;
    part->failures = 0;
    part->view.fresh = part->view.fresh || is_fresh;
}

/* An acknowledged write whose effect does not show is sent again by whoever decides. */
static void check_patience(struct part *part)
{
    if (part->await != AWAIT_NOTHING && part->await != AWAIT_RESET &&
        now_ms(part->controller) >= part->await_until_ms)
        part->await = AWAIT_NOTHING;
}

static void follow_await(struct part *part)
{
    enum part_state state = part->view.state;

    switch (part->await) {
    case AWAIT_NOTHING:
        return;
    case AWAIT_ACTIVE:
        if (state == PART_ACTIVE || state == PART_ERROR)
            end_await(part, state == PART_ACTIVE);
        break;
    case AWAIT_RESET: /* a list does not tell the operation state */
        ask_status(part);
        break;
    case AWAIT_GONE:
        if (state == PART_ABSENT && part->status_says_gone)
            end_await(part, false);
        else if (state == PART_ABSENT)
            ask_status(part);
        break;
    }
    check_patience(part);
}

static void see(struct part *part, const struct vipu_partition *listed)
{
    enum part_state before = part->view.state, now = state_of(listed);
    bool was_busy = part->view.busy;
    bool was_fresh = part->view.fresh;

    /* Not active, and its pods were never all there: none of them was created, for they need it active. */
    if (now != PART_ACTIVE && now != PART_ERROR && !part->started)
        part->view.quiet = true;
    if (now == PART_ACTIVE && part->view.quiet && !part->started && part->await == AWAIT_NOTHING &&
        (part->sends > 0 || before == PART_PENDING))
        part->view.fresh = true;
    part->view.state = now;
    part->view.size = listed ? listed->size : 0;
    part->view.gcds = listed ? listed->num_gcds : 0;
    follow_await(part);
    if (now == PART_ERROR && before != PART_ERROR)
        ask_status(part);
    if (now != before || was_fresh != part->view.fresh ||
        was_busy != (part->call != NULL || part->await != AWAIT_NOTHING))
        tell_part(part);
}

static uint64_t fingerprint(const struct vipu_partitions *list)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < list->count; i++) {
        uint64_t hash = UINT64_C(1469598103934665603) ^ (uint64_t)list->items[i].ready_state;

        for (const char *p = list->items[i].id; *p; p++)
            hash = (hash ^ (uint8_t)*p) * UINT64_C(1099511628211);
        hash = (hash ^ list->items[i].size) * UINT64_C(1099511628211);
        sum += hash; /* order does not matter */
    }
    return sum;
}

static void index_list(struct controller *c)
{
    map_release(&c->listed_by_id);
    c->listed_by_id = (struct map){0};
    for (size_t i = 0; i < c->listed.count; i++)
        map_set(&c->listed_by_id, c->listed.items[i].id, &c->listed.items[i]);
}

static void see_parts(struct controller *c, int64_t begun_ms)
{
    const char *id;
    void *value;

    for (size_t i = 0; map_next(&c->parts, &i, &id, &value);) {
        struct part *part = value;

        if (part->call || begun_ms <= part->last_write_ms)
            continue; /* this list may be older than our own write */
        part->seen_ms = begun_ms;
        see(part, map_get(&c->listed_by_id, id));
    }
}

/* ---- asking ---- */

static void set_trouble(struct controller *c, const char *text)
{
    if (text && !c->face.trouble) {
        c->face.trouble_since_unix_s = loop_unix_micros() / 1000000;
        log_warn("V-IPU controller is not available", KV("controller", c->face.config->name),
                 KV("cause", text));
    } else if (!text && c->face.trouble) {
        log_info("V-IPU controller is available again", KV("controller", c->face.config->name));
    }
    mem_set_str(&c->face.trouble, text);
}

static void tell_trouble(struct controller *c)
{
    const char *id;
    void *value;

    for (size_t i = 0; map_next(&c->parts, &i, &id, &value);) {
        struct part *part = value;

        if (part->view.state == PART_UNKNOWN) {
            mem_set_str(&part->trouble, c->face.trouble);
            tell_part(part);
        }
    }
}

static void on_listed(void *ctx, const struct vipu_result *result, struct vipu_partitions *list)
{
    struct controller *c = ctx;
    bool was_known = c->face.is_known;
    uint64_t print;

    c->list_call = NULL;
    if (result->err.kind != ERR_NONE) {
        c->face.is_known = false;
        c->failures++;
        set_trouble(c, result->err.msg);
        if (was_known || c->failures == 1) {
            tell_room(c);
            tell_trouble(c);
        }
        plan_poll(c, 0);
        return;
    }
    vipu_partitions_release(&c->listed);
    c->listed = *list;
    *list = (struct vipu_partitions){0};
    c->face.is_known = true;
    c->failures = 0;
    set_trouble(c, NULL);
    index_list(c);
    print = fingerprint(&c->listed);
    if (print != c->fingerprint)
        c->poll_ms = POLL_FIRST_MS;
    see_parts(c, c->list_begun_ms);
    if (!was_known || print != c->fingerprint) {
        c->fingerprint = print;
        tell_room(c);
    }
    plan_poll(c, 0);
}

static void on_agents(void *ctx, const struct vipu_result *result, struct vipu_agents *agents)
{
    struct controller *c = ctx;
    uint32_t before = c->face.total_ipus;

    c->agents_call = NULL;
    if (result->err.kind == ERR_NONE)
        c->face.total_ipus = agents->total_ipus;
    if (before != c->face.total_ipus)
        tell_room(c);
}

static void poll_now(struct controller *c)
{
    int64_t now = now_ms(c);

    if (!c->list_call) {
        c->list_begun_ms = now;
        c->list_call = vipu_list_partitions(c->client, NULL, POOL_DEADLINE_MS, on_listed, c);
    }
    if (!c->agents_call && (c->agents_at_ms == 0 || now >= c->agents_at_ms + ATTRIBUTES_MS)) {
        c->agents_at_ms = now;
        c->agents_call = vipu_list_ipu_attributes(c->client, POOL_DEADLINE_MS, on_agents, c);
    }
}

static void on_timer(struct loop_timer *timer)
{
    struct controller *c = CONTAINER_OF(timer, struct controller, timer);

    c->next_poll_ms = 0;
    poll_now(c);
}

static bool is_under_way(const struct controller *c)
{
    const char *id;
    void *value;

    for (size_t i = 0; map_next(&c->parts, &i, &id, &value);) {
        const struct part *part = value;

        if (part->call || part->await != AWAIT_NOTHING || part->view.state == PART_UNKNOWN ||
            part->view.state == PART_PENDING)
            return true;
    }
    return false;
}

static int64_t next_delay(struct controller *c)
{
    static const struct backoff down = {.first_ms = 200, .max_ms = POLL_DOWN_MAX_MS};
    int64_t delay;

    if (c->failures)
        return backoff_delay_ms(&down, c->failures, loop_dice());
    if (is_under_way(c)) {
        delay = c->poll_ms;
        c->poll_ms = 2 * delay < POLL_BUSY_MAX_MS ? 2 * delay : POLL_BUSY_MAX_MS;
        return delay;
    }
    return c->parts.count || c->pool->waiting ? POLL_USED_MS : POLL_IDLE_MS;
}

/* at_most_ms 0: as often as the state of things asks for. An earlier plan stays. */
static void plan_poll(struct controller *c, int64_t at_most_ms)
{
    int64_t delay = at_most_ms ? at_most_ms : next_delay(c);
    int64_t at = now_ms(c) + delay;

    if (c->list_call && !at_most_ms)
        return;
    if (c->next_poll_ms && c->next_poll_ms <= at)
        return;
    c->next_poll_ms = at;
    loop_timer_start(c->pool->loop, &c->timer, delay, on_timer);
}

static void hurry(struct controller *c)
{
    c->poll_ms = POLL_FIRST_MS;
    plan_poll(c, 1);
}

/* ---- writes ---- */

static void note_failure(struct part *part, const struct err *err)
{
    static const struct backoff patience = {.first_ms = 500, .max_ms = 15000};

    mem_set_str(&part->trouble, err->msg);
    part->failures++;
    part->view.retry_at_ms =
        now_ms(part->controller) + backoff_delay_ms(&patience, part->failures, loop_dice());
}

static void note_unknown(struct part *part)
{
    part->view.unsettled = true;
    part->view.settle_at_ms = part->sent_ms + POOL_DEADLINE_MS + POOL_STRAY_MS;
}

static void start_await(struct part *part, enum await await)
{
    part->await = await;
    part->await_until_ms = now_ms(part->controller) + AWAIT_MS;
    part->status_says_gone = false;
}

/* After each write's end: only a list that begins from now on tells what it did. */
static void end_write(struct part *part)
{
    part->call = NULL;
    part->last_write_ms = now_ms(part->controller);
    part->view.state = part->await == AWAIT_RESET ? part->view.state : PART_UNKNOWN;
    hurry(part->controller);
    tell_part(part);
}

static void on_created(void *ctx, const struct vipu_result *result, const char *id)
{
    struct part *part = ctx;

    (void)id;
    if (result->err.kind == ERR_NONE) {
        start_await(part, AWAIT_ACTIVE);
        mem_set_str(&part->trouble, NULL);
    } else if (result->err.kind == ERR_EXISTS) {
        if (part->sends == 1 && part->is_ours_fresh)
            part->view.refusal = PART_REFUSED_FOREIGN;
        else
            start_await(part, AWAIT_ACTIVE);
    } else {
        note_failure(part, &result->err);
        if (vipu_result_is_unknown(result))
            note_unknown(part);
        else if (result->sent && result->err.kind == ERR_BUSY)
            part->view.refusal = PART_REFUSED_ROOM;
        else if (result->sent && result->err.kind != ERR_NONE)
            part->view.refusal = PART_REFUSED_INVALID;
    }
    end_write(part);
}

static void on_reset(void *ctx, const struct vipu_result *result)
{
    struct part *part = ctx;

    if (result->err.kind == ERR_NONE) {
        start_await(part, AWAIT_RESET);
        mem_set_str(&part->trouble, NULL);
    } else {
        note_failure(part, &result->err);
    }
    end_write(part);
}

static void on_removed(void *ctx, const struct vipu_result *result)
{
    struct part *part = ctx;
    bool gate_closed = !result->sent;

    if (vipu_result_is_unknown(result))
        note_unknown(part);
    if (result->err.kind != ERR_NONE && result->err.kind != ERR_NOT_FOUND)
        note_failure(part, &result->err);
    if (!gate_closed)
        start_await(part, AWAIT_GONE);
    end_write(part);
}

/* The partition's own status: the end of a reset, the proof of a removal, the reasons of an error. */
static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    struct part *part = ctx;
    bool answered = result->sent && result->err.kind != ERR_TIMEOUT && result->err.kind != ERR_IO;

    part->status_call = NULL;
    if (part->await == AWAIT_GONE && answered &&
        (result->err.kind != ERR_NONE || status->ready_state == VIPU_READY_REMOVED)) {
        part->status_says_gone = true;
        part->last_write_ms = now_ms(part->controller); /* the list that confirms it must begin later */
        part->view.state = PART_UNKNOWN;
        hurry(part->controller);
        return;
    }
    if (result->err.kind != ERR_NONE)
        return;
    if (part->await == AWAIT_RESET) {
        if (status->operation_state == VIPU_OPERATION_RESETTING || status->ready_state == VIPU_READY_PENDING)
            return;
        end_await(part, status->ready_state == VIPU_READY_ACTIVE);
        tell_part(part);
    }
    if (status->error_count) {
        mem_set_str(&part->trouble, status->errors[0]);
        tell_part(part);
    }
}

/* ---- parts ---- */

static struct controller *find_controller(const struct pool *pool, const char *name)
{
    int index = pool_find(pool, name);

    return index < 0 ? NULL : &pool->controllers[index];
}

static struct part *find_part(const struct pool *pool, const char *controller, const char *id)
{
    struct controller *c = find_controller(pool, controller);

    return c ? map_get(&c->parts, id) : NULL;
}

void pool_follow(struct pool *pool, const struct pool_track *track)
{
    struct controller *c = find_controller(pool, track->controller);
    struct part *part;

    if (!c)
        return;
    part = map_get(&c->parts, track->id);
    if (!part) {
        part = NEW(struct part);
        part->controller = c;
        part->id = mem_strdup(track->id);
        part->is_ours_fresh = track->is_ours_fresh;
        part->view.quiet = track->is_ours_fresh;
        part->last_write_ms = now_ms(c);
        if (track->is_unsettled) {
            part->view.unsettled = true;
            part->view.settle_at_ms = now_ms(c) + POOL_DEADLINE_MS + POOL_STRAY_MS;
        }
        map_set(&c->parts, track->id, part);
        hurry(c);
    }
    part->size = track->size;
    part->reserves = track->reserves;
    part->started = track->started;
}

static void free_part(struct part *part)
{
    vipu_call_cancel(part->call);
    vipu_call_cancel(part->status_call);
    mem_free(part->id);
    mem_free(part->trouble);
    mem_free(part);
}

void pool_forget(struct pool *pool, const char *controller, const char *id)
{
    struct controller *c = find_controller(pool, controller);
    struct part *part = c ? map_remove(&c->parts, id) : NULL;

    if (part)
        free_part(part);
}

void pool_begin_run(struct pool *pool, const char *controller, const char *id)
{
    struct part *part = find_part(pool, controller, id);

    if (!part)
        return;
    part->started = false;
    part->view.quiet = true;
    part->view.fresh = false;
}

struct part_view pool_part(const struct pool *pool, const char *controller, const char *id)
{
    struct part *part = find_part(pool, controller, id);

    if (part)
        return part->view;
    return (struct part_view){
        .trouble = find_controller(pool, controller) ? NULL : "it is not in the operator's configuration"};
}

void pool_create(struct pool *pool, const char *controller, const struct vipu_requirements *requirements)
{
    struct part *part = find_part(pool, controller, requirements->id);

    if (!part || part->call)
        return;
    part->sends++;
    part->sent_ms = now_ms(part->controller);
    part->view.refusal = PART_NOT_REFUSED;
    part->call =
        vipu_create_partition(part->controller->client, requirements, POOL_DEADLINE_MS, on_created, part);
    part->view.busy = true;
}

void pool_reset(struct pool *pool, const char *controller, const char *id)
{
    struct part *part = find_part(pool, controller, id);

    if (!part || part->call)
        return;
    part->sent_ms = now_ms(part->controller);
    part->call = vipu_reset_partition(part->controller->client, id, false, POOL_DEADLINE_MS, on_reset, part);
    part->view.busy = true;
}

void pool_remove(struct pool *pool, const char *controller, const char *id)
{
    struct part *part = find_part(pool, controller, id);

    if (!part || part->call)
        return;
    part->sent_ms = now_ms(part->controller);
    part->call =
        vipu_remove_partition(part->controller->client, id, true, POOL_DEADLINE_MS, on_removed, part);
    part->view.busy = true;
}

/* ---- the pool ---- */

static bool may_send(void *ctx)
{
    struct controller *c = ctx;

    return c->pool->options.may_send(c->pool->options.ctx);
}

static void start_controller(struct pool *pool, struct controller *c,
                             const struct vipu_controller_config *config)
{
    c->pool = pool;
    c->face.config = config;
    c->face.listed = &c->listed;
    c->poll_ms = POLL_FIRST_MS;
    c->client = vipu_client_new(pool->loop, &(struct vipu_client_options){
                                                .host = config->host,
                                                .port = config->port,
                                                .default_deadline_ms = POOL_DEADLINE_MS,
                                                .may_send = may_send,
                                                .may_send_ctx = c,
                                            });
    plan_poll(c, 1);
}

struct pool *pool_new(struct loop *loop, const struct pool_options *options)
{
    struct pool *pool = NEW(struct pool);

    pool->loop = loop;
    pool->options = *options;
    pool->count = options->config->count;
    pool->controllers = mem_alloc((pool->count + 1) * sizeof(*pool->controllers));
    for (size_t i = 0; i < pool->count; i++)
        start_controller(pool, &pool->controllers[i], &options->config->items[i]);
    return pool;
}

static void stop_controller(struct controller *c)
{
    const char *id;
    void *value;

    loop_timer_stop(&c->timer);
    for (size_t i = 0; map_next(&c->parts, &i, &id, &value);)
        free_part(value);
    map_release(&c->parts);
    vipu_client_free(c->client);
    map_release(&c->listed_by_id);
    vipu_partitions_release(&c->listed);
    mem_free(c->face.trouble);
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->count; i++)
        stop_controller(&pool->controllers[i]);
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
    return &pool->controllers[index].face;
}

int pool_find(const struct pool *pool, const char *controller)
{
    for (size_t i = 0; i < pool->count; i++) {
        if (str_eq(pool->controllers[i].face.config->name, controller))
            return (int)i;
    }
    return -1;
}

struct vipu_pool_view pool_room(const struct pool *pool, size_t index)
{
    const struct controller *c = &pool->controllers[index];
    struct vipu_pool_view view =
        vipu_pool_view_of(&c->listed, (struct vipu_pool_shape){.total_ipus = c->face.total_ipus});
    const char *id;
    void *value;

    for (size_t i = 0; map_next(&c->parts, &i, &id, &value);) {
        const struct part *part = value;

        if (part->reserves && !map_get(&c->listed_by_id, id))
            vipu_pool_take(&view, part->size);
    }
    return view;
}

void pool_set_waiting(struct pool *pool, bool waiting)
{
    if (waiting && !pool->waiting) {
        pool->waiting = true;
        for (size_t i = 0; i < pool->count; i++)
            plan_poll(&pool->controllers[i], POLL_FIRST_MS);
    }
    pool->waiting = waiting;
}

const struct vipu_partition *pool_listed(const struct pool *pool, const char *controller, const char *id)
{
    struct controller *c = find_controller(pool, controller);

    return c ? map_get(&c->listed_by_id, id) : NULL;
}
