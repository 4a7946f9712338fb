#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/timefmt.h"
#include "operator/pool/claims.h"
#include "operator/reconcile/decide/status/status.h"
#include "operator/reconcile/state/reconciler_state.h"

#define CLAIMS_PER_MS 10       /* a line of 5,000 is looked at twice a second */
#define RETELL_MS 5000         /* a changed sentence with the same reason is not urgent */
#define JUDGED_WITHIN_MS 10000 /* after a start, dry runs tell priorities: so long at most */
#define UNJUDGED_AGAIN_MS 50

/* ---- who waits ---- */

static bool same_claims(const struct job_memory *memory, const struct plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind != OP_CLAIM)
            continue;
        const struct claim_memory *claim = memory_claim(memory, plan->ops[i].instance);

        if (!claim || claim->ready != plan->ops[i].ready || claim->record)
            return false;
        count++;
    }
    return count == memory->claim_count;
}

/* A process that has just begun to lead did not see a job come that has never had IPUs. */
static int64_t waits_since(const struct reconciler *r, const struct job_memory *memory)
{
    const struct store_item *item = store_get(watch_store(r->jobs), memory->key);
    const struct job *job = item ? item->view : NULL;
    struct err err = {0};
    AUTO(json) cJSON *status = NULL;

    if (r->all_seen || !job)
        return loop_unix_micros() / 1000000;
    status = job_status(job, &err);
    return status_start_s(status) ? loop_unix_micros() / 1000000 : job->created_s;
}

static int by_instance(const void *a, const void *b)
{
    uint32_t left = ((const struct claim_memory *)a)->instance;
    uint32_t right = ((const struct claim_memory *)b)->instance;

    return (left > right) - (left < right);
}

void grants_set(struct reconciler *r, struct job_memory *memory, const struct plan *plan)
{
    struct claim_memory *claims = NULL;
    size_t count = 0;

    if (same_claims(memory, plan))
        return;
    for (size_t i = 0; i < plan->count; i++) {
        struct claim_memory *old;

        if (plan->ops[i].kind != OP_CLAIM)
            continue;
        claims = mem_grow(claims, count + 1, sizeof(*claims));
        claims[count] = (struct claim_memory){.instance = plan->ops[i].instance};
        old = memory_claim(memory, plan->ops[i].instance);
        if (old && old->ready == plan->ops[i].ready) {
            claims[count] = *old;
            claims[count].record = NULL; /* it claims again, so there is no such record */
            old->granted = NULL;
            old->wait = (struct claim_wait){0};
        }
        claims[count].ready = plan->ops[i].ready;
        claims[count].since_s = old ? old->since_s : waits_since(r, memory);
        count++;
    }
    if (count)
        qsort(claims, count, sizeof(*claims), by_instance);
    memory_free_claims(memory);
    memory->claims = claims;
    memory->claim_count = count;
    if (count)
        map_set(&r->waiting, memory->uid, memory);
    else
        map_remove(&r->waiting, memory->uid);
    reconciler_claims_changed(r);
}

void grants_note_record(struct job_memory *memory, const struct record *record)
{
    struct claim_memory *claim = memory_claim(memory, record->instance);

    if (claim)
        mem_set_str(&claim->record, record->name);
}

/* ---- controllers ---- */

/* Who may not see nodes leaves it to the scheduler, which says so at the pods. */
static bool some_node_has(const struct reconciler *r, const struct vipu_controller_config *config)
{
    if (!config->node_label || !r->nodes)
        return true;
    for (const struct store_item *i = store_first(watch_store(r->nodes)); i; i = store_next(i)) {
        if (node_has_label(i->view, config->node_label, config->node_value))
            return true;
    }
    return false;
}

/* Everything that the queue is told about the controllers, and what it is made of. */
struct outlook {
    struct vipu_pool_view room;
    struct claims_holder *holders; /* found when they are asked for */
    size_t holder_count, holder_cap;
    char *since, *label;
};

struct outlooks {
    struct claims_controller *items;
    struct outlook *parts;
    size_t count;
};

static const char *holder_of(const struct record *record)
{
    return record_is_of_nobody(record) ? NULL : record->job_key;
}

static struct claims_holder holder_of_listed(const struct reconciler *r, const char *controller,
                                             const struct vipu_partition *partition)
{
    const struct record *record = store_view(watch_store(r->records), r->options.operator_ns, partition->id);
    bool is_ours = record && !record->spent_s && str_eq(record->controller, controller);

    return (struct claims_holder){
        .job = is_ours ? holder_of(record) : NULL, .partition = partition->id, .size = partition->size};
}

static void add_holder(struct outlook *part, struct claims_holder holder)
{
    if (part->holder_count == part->holder_cap) {
        part->holder_cap = 2 * part->holder_cap + 16;
        part->holders = mem_grow(part->holders, part->holder_cap, sizeof(*part->holders));
    }
    part->holders[part->holder_count++] = holder;
}

/* Who is listed, and whose partition is only on its way. */
static void add_all_holders(const struct reconciler *r, const struct pool_controller *controller,
                            struct outlook *part)
{
    const char *name = controller->config->name;

    for (size_t i = 0; i < controller->listed->count; i++)
        add_holder(part, holder_of_listed(r, name, &controller->listed->items[i]));
    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i)) {
        const struct record *record = i->view;

        if (record->spent_s || !str_eq(record->controller, name) || pool_listed(r->pool, name, record->name))
            continue;
        add_holder(part, (struct claims_holder){
                             .job = holder_of(record), .partition = record->name, .size = record->size});
    }
}

/* Whose end would make room: the cheapest set, or everybody when that cannot be told. */
static void find_holders(const struct reconciler *r, size_t index, uint32_t size, struct outlooks *all)
{
    const struct pool_controller *controller = pool_controller(r->pool, index);
    const struct vipu_partitions *listed = controller->listed;
    struct outlook *part = &all->parts[index];
    AUTO(mem) size_t *blocking = mem_alloc((listed->count + 1) * sizeof(*blocking));
    size_t count = listed->count ? vipu_pool_blockers(&part->room, listed, size, blocking) : 0;

    for (size_t i = 0; i < count; i++)
        add_holder(part, holder_of_listed(r, controller->config->name, &listed->items[blocking[i]]));
    if (count == 0)
        add_all_holders(r, controller, part);
    all->items[index].holders = part->holders;
    all->items[index].holder_count = part->holder_count;
}

static void look_at(const struct reconciler *r, size_t i, struct outlooks *all)
{
    const struct pool_controller *c = pool_controller(r->pool, i);
    const struct vipu_controller_config *config = c->config;
    struct outlook *part = &all->parts[i];
    char since[TIMEFMT_RFC3339_SIZE];

    part->room = pool_room(r->pool, i);
    if (c->trouble)
        part->since = mem_printf("since %s", timefmt_rfc3339(c->trouble_since_unix_s, since));
    if (config->node_label)
        part->label = mem_printf("%s=%s", config->node_label, config->node_value);
    all->items[i] = (struct claims_controller){
        .name = config->name,
        .is_known = c->is_known,
        .trouble = c->trouble,
        .trouble_since = part->since,
        .has_nodes = some_node_has(r, config),
        .node_label = part->label,
        .pool = &part->room,
    };
}

static void outlooks_make(const struct reconciler *r, struct outlooks *all)
{
    all->count = pool_count(r->pool);
    all->items = mem_alloc((all->count + 1) * sizeof(*all->items));
    all->parts = mem_alloc((all->count + 1) * sizeof(*all->parts));
    for (size_t i = 0; i < all->count; i++)
        look_at(r, i, all);
}

static void outlooks_release(struct outlooks *all)
{
    for (size_t i = 0; i < all->count; i++) {
        vipu_pool_view_release(&all->parts[i].room);
        mem_free(all->parts[i].holders);
        mem_free(all->parts[i].since);
        mem_free(all->parts[i].label);
    }
    mem_free(all->items);
    mem_free(all->parts);
}

/* ---- claims ---- */

/* Which controllers' nodes the job's own node selector allows. */
static void find_eligible(const struct reconciler *r, const struct job *job, struct job_memory *memory)
{
    struct err err = {0};
    AUTO(json) cJSON *pod_template = NULL;
    const cJSON *selector;

    if (memory->eligible && memory->eligible_generation == job->generation)
        return;
    pod_template = job_template(job, &err);
    selector = json_at(pod_template, "spec/nodeSelector");
    mem_free(memory->eligible);
    memory->eligible = mem_alloc(pool_count(r->pool) + 1);
    memory->eligible_generation = job->generation;
    for (size_t i = 0; i < pool_count(r->pool); i++) {
        const struct vipu_controller_config *config = pool_controller(r->pool, i)->config;
        const cJSON *wanted = config->node_label && selector
                                  ? cJSON_GetObjectItemCaseSensitive(selector, config->node_label)
                                  : NULL;

        memory->eligible[i] = !cJSON_IsString(wanted) || str_eq(wanted->valuestring, config->node_value);
    }
}

struct claim_list {
    struct claim *items;
    size_t count, cap;
};

/* From when its record is followed, the pool counts its IPUs as taken; the claim goes when the job is looked
 * at again. In between it must not be counted twice. */
static bool is_served(const struct reconciler *r, const struct claim_memory *claim)
{
    return claim->record && pool_reserves(r->pool, claim->record);
}

static void add_claims(const struct reconciler *r, struct job_memory *memory, struct claim_list *list)
{
    const struct store_item *item = store_get(watch_store(r->jobs), memory->key);
    const struct job *job = item ? item->view : NULL;

    if (!job || !str_eq(job->uid, memory->uid))
        return;
    find_eligible(r, job, memory);
    for (size_t i = 0; i < memory->claim_count; i++) {
        if (is_served(r, &memory->claims[i]))
            continue;
        if (list->count == list->cap) {
            list->cap = list->cap ? 2 * list->cap : 64;
            list->items = mem_grow(list->items, list->cap, sizeof(*list->items));
        }
        list->items[list->count++] = (struct claim){
            .job = job->key,
            .uid = memory->uid,
            .instance = memory->claims[i].instance,
            .priority = memory->priority,
            .created_s = job->created_s,
            .arrival = memory->arrival,
            .size = job->spec.ipus_per_instance,
            .is_ready = memory->claims[i].ready,
            .eligible = memory->eligible,
            .ctx = &memory->claims[i],
        };
    }
}

/* The whole line with what is decided about it. */
struct line {
    struct claim_list claims;
    struct outlooks outlooks;
    struct claim_verdict *verdicts;
};

static void line_make(const struct reconciler *r, struct line *line)
{
    void *value;

    for (size_t i = 0; map_next(&r->waiting, &i, NULL, &value);)
        add_claims(r, value, &line->claims);
    line->verdicts = mem_alloc((line->claims.count + 1) * sizeof(*line->verdicts));
    if (line->claims.count == 0)
        return;
    outlooks_make(r, &line->outlooks);
    claims_decide(line->claims.items, line->claims.count, line->outlooks.items, line->outlooks.count,
                  line->verdicts);
}

static void line_explain(const struct reconciler *r, struct line *line, size_t i, struct claim_wait *ret)
{
    const struct claim *claim = &line->claims.items[i];
    const struct claim_verdict *verdict = &line->verdicts[i];

    if (verdict->why == CLAIM_IS_FIRST)
        find_holders(r, verdict->about, claim->size, &line->outlooks);
    claims_explain(claim, verdict, line->outlooks.items, line->outlooks.count, ret);
}

static void line_release(struct line *line)
{
    mem_free(line->verdicts);
    mem_free(line->claims.items);
    outlooks_release(&line->outlooks);
}

static void answer(struct reconciler *r, struct line *line, size_t i)
{
    const struct claim *claim = &line->claims.items[i];
    const struct claim_verdict *verdict = &line->verdicts[i];
    const struct claims_controller *controllers = line->outlooks.items;
    struct claim_memory *mine = claim->ctx;
    const char *granted = verdict->controller >= 0 ? controllers[verdict->controller].name : NULL;
    struct claim_wait wait;
    bool news, retold;

    if (claims_is_told(claim, verdict, controllers, &mine->wait)) {
        mine->wait.place = verdict->place;
        return;
    }
    line_explain(r, line, i, &wait);
    news = !str_eq(granted, mine->granted) || !str_eq(wait.reason, mine->wait.reason) ||
           (!mine->granted && !mine->wait.text);
    retold = !str_eq(wait.text, mine->wait.text);
    mem_set_str(&mine->granted, granted);
    claim_wait_release(&mine->wait);
    mine->wait = wait;
    if (news)
        queue_add(r->queue, claim->job);
    else if (retold)
        queue_add_at(r->queue, claim->job, loop_now_ms(r->loop) + RETELL_MS);
}

/* Of those that were there at the start: who comes later stands behind until it is judged. */
static bool somebody_is_unjudged(const struct reconciler *r)
{
    void *value;

    for (size_t i = 0; map_next(&r->waiting, &i, NULL, &value);) {
        const struct job_memory *memory = value;

        for (size_t c = 0; memory->arrival <= r->first_arrivals && c < memory->claim_count; c++) {
            if (!memory->claims[c].ready)
                return true;
        }
    }
    return false;
}

/* After a start, nobody is served before everybody has been seen, and is known by its priority. */
static bool may_serve(struct reconciler *r)
{
    int64_t now = loop_now_ms(r->loop);

    if (r->all_judged)
        return true;
    if (!r->all_seen && queue_ready(r->queue) == 0) {
        r->all_seen = true;
        r->first_arrivals = r->arrivals;
        r->judged_by_ms = now + JUDGED_WITHIN_MS;
    }
    r->all_judged = r->all_seen && (now >= r->judged_by_ms || !somebody_is_unjudged(r));
    return r->all_judged;
}

void grants_refresh(struct reconciler *r)
{
    struct line line = {0};

    if (!may_serve(r)) {
        r->claims_changed = true;
        r->line_due_ms = loop_now_ms(r->loop) + (r->all_seen ? UNJUDGED_AGAIN_MS : 0);
        return;
    }
    line_make(r, &line);
    r->line_due_ms = loop_now_ms(r->loop) + (int64_t)line.claims.count / CLAIMS_PER_MS;
    pool_set_waiting(r->pool, line.claims.count > 0);
    for (size_t i = 0; i < line.claims.count; i++)
        answer(r, &line, i);
    line_release(&line);
}

/* ---- for who asks ---- */

static cJSON *print_claim(const struct reconciler *r, struct line *line, size_t i)
{
    const struct claim *claim = &line->claims.items[i];
    const struct claim_verdict *verdict = &line->verdicts[i];
    cJSON *out = json_object();
    char created[TIMEFMT_RFC3339_SIZE];
    struct claim_wait wait;

    line_explain(r, line, i, &wait);
    json_put_str(out, "job", claim->job);
    json_put_i64(out, "instance", claim->instance);
    json_put_i64(out, "ipus", claim->size);
    json_put_i64(out, "priority", claim->priority);
    json_put_str(out, "created", timefmt_rfc3339(claim->created_s, created));
    json_put_str(out, "state",
                 verdict->controller >= 0 ? "Granted"
                 : claim->is_ready        ? "Waiting"
                                          : "CheckingTemplate");
    json_put_str(out, "reason", wait.reason);
    json_put_str(out, "message", wait.text);
    json_put_str(out, "controller",
                 verdict->controller >= 0 ? line->outlooks.items[verdict->controller].name : wait.controller);
    if (wait.place)
        json_put_i64(out, "place", wait.place);
    claim_wait_release(&wait);
    return out;
}

cJSON *grants_print(const struct reconciler *r)
{
    struct line line = {0};
    cJSON *out = json_object(), *list = json_put_array(out, "queue");

    line_make(r, &line);
    for (size_t i = 0; i < line.claims.count; i++)
        json_push_take(list, print_claim(r, &line, i));
    line_release(&line);
    return out;
}
