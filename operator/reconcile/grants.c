#include <string.h>

#include "base/core/mem.h"
#include "base/core/timefmt.h"
#include "operator/pool/claims.h"
#include "operator/reconcile/state.h"

/* Holders named in one sentence; the rest is counted. */
#define HOLDERS_SHOWN 4
/* A changed sentence with the same reason is not urgent. */
#define RETELL_MS 5000

/* ---- who waits ---- */

static bool same_claims(const struct job_memory *memory, const struct plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind != OP_CLAIM)
            continue;
        const struct claim_memory *claim = memory_claim(memory, plan->ops[i].instance);

        if (!claim || claim->ready != plan->ops[i].ready)
            return false;
        count++;
    }
    return count == memory->claim_count;
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
            old->granted = NULL;
            old->text = NULL;
        }
        claims[count].ready = plan->ops[i].ready;
        count++;
    }
    for (size_t i = 0; i < memory->claim_count; i++) {
        mem_free(memory->claims[i].granted);
        mem_free(memory->claims[i].text);
    }
    mem_free(memory->claims);
    memory->claims = claims;
    memory->claim_count = count;
    reconciler_claims_changed(r);
}

/* ---- controllers ---- */

static bool some_node_has(const struct reconciler *r, const struct vipu_controller_config *config)
{
    if (!config->node_label)
        return true;
    for (const struct store_item *i = store_first(watch_store(r->nodes)); i; i = store_next(i)) {
        if (node_has_label(i->view, config->node_label, config->node_value))
            return true;
    }
    return false;
}

static char *name_holders(const struct reconciler *r, const struct pool_controller *controller)
{
    struct str out = {0};
    size_t shown = 0;

    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i)) {
        const struct record *record = i->view;

        if (str_eq(record->controller, controller->config->name) && shown++ < HOLDERS_SHOWN)
            str_addf(&out, "%s%s (%u)", out.len ? ", " : "", record->job_key, record->size);
    }
    for (size_t i = 0; i < controller->listed->count; i++) {
        const struct vipu_partition *partition = &controller->listed->items[i];

        if (!store_view(watch_store(r->records), r->options.operator_ns, partition->id) &&
            shown++ < HOLDERS_SHOWN)
            str_addf(&out, "%spartition %s (%u), which is not the operator's", out.len ? ", " : "",
                     partition->id, partition->size);
    }
    if (shown > HOLDERS_SHOWN)
        str_addf(&out, " and %zu more", shown - HOLDERS_SHOWN);
    return shown ? str_take(&out) : NULL;
}

struct outlooks {
    struct claims_controller *items;
    struct vipu_pool_view *rooms;
    char **texts; /* two per controller and the label */
    size_t count;
};

static void look_at(const struct reconciler *r, size_t i, struct outlooks *all)
{
    const struct pool_controller *c = pool_controller(r->pool, i);
    char since[TIMEFMT_RFC3339_SIZE];
    char **texts = &all->texts[3 * i];

    all->rooms[i] = pool_room(r->pool, i);
    texts[0] = name_holders(r, c);
    texts[1] = c->trouble ? mem_printf("since %s", timefmt_rfc3339(c->trouble_since_unix_s, since)) : NULL;
    texts[2] =
        c->config->node_label ? mem_printf("%s=%s", c->config->node_label, c->config->node_value) : NULL;
    all->items[i] = (struct claims_controller){
        .name = c->config->name,
        .is_known = c->is_known,
        .trouble = c->trouble,
        .trouble_since = texts[1],
        .has_nodes = some_node_has(r, c->config),
        .node_label = texts[2],
        .pool = &all->rooms[i],
        .holders = texts[0],
    };
}

static void outlooks_make(const struct reconciler *r, struct outlooks *all)
{
    all->count = pool_count(r->pool);
    all->items = mem_alloc((all->count + 1) * sizeof(*all->items));
    all->rooms = mem_alloc((all->count + 1) * sizeof(*all->rooms));
    all->texts = mem_alloc((3 * all->count + 1) * sizeof(*all->texts));
    for (size_t i = 0; i < all->count; i++)
        look_at(r, i, all);
}

static void outlooks_release(struct outlooks *all)
{
    for (size_t i = 0; i < all->count; i++)
        vipu_pool_view_release(&all->rooms[i]);
    for (size_t i = 0; i < 3 * all->count; i++)
        mem_free(all->texts[i]);
    mem_free(all->items);
    mem_free(all->rooms);
    mem_free(all->texts);
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
    pod_template = json_parse(slice_of(job->template_json), &err);
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

static void add_claims(const struct reconciler *r, struct job_memory *memory, struct claim_list *list)
{
    const struct store_item *item = store_get(watch_store(r->jobs), memory->key);
    const struct job *job = item ? item->view : NULL;

    if (!job || !str_eq(job->uid, memory->uid))
        return;
    find_eligible(r, job, memory);
    for (size_t i = 0; i < memory->claim_count; i++) {
        if (list->count == list->cap) {
            list->cap = list->cap ? 2 * list->cap : 64;
            list->items = mem_grow(list->items, list->cap, sizeof(*list->items));
        }
        list->items[list->count++] = (struct claim){
            .job = job->key,
            .uid = memory->uid,
            .instance = memory->claims[i].instance,
            .created_s = job->created_s,
            .arrival = memory->arrival,
            .size = job->spec.ipus_per_instance,
            .is_ready = memory->claims[i].ready,
            .eligible = memory->eligible,
        };
    }
}

static void answer(struct reconciler *r, const struct claims_controller *controllers,
                   const struct claim *claim, struct claim_verdict *verdict)
{
    struct job_memory *memory = map_get(&r->memories, claim->uid);
    struct claim_memory *mine = memory_claim(memory, claim->instance);
    const char *granted = verdict->controller >= 0 ? controllers[verdict->controller].name : NULL;
    bool news = !str_eq(granted, mine->granted) || !str_eq(verdict->reason, mine->reason) ||
                (!mine->granted && !mine->text);
    bool retold = !str_eq(verdict->text, mine->text);

    mem_set_str(&mine->granted, granted);
    mine->reason = verdict->reason;
    mem_free(mine->text);
    mine->text = TAKE(verdict->text);
    if (news)
        queue_add(r->queue, memory->key);
    else if (retold)
        queue_add_at(r->queue, memory->key, loop_now_ms(r->loop) + RETELL_MS);
}

void grants_refresh(struct reconciler *r)
{
    struct claim_list list = {0};
    struct outlooks outlooks = {0};
    struct claim_verdict *verdicts;
    void *value;

    /* After a start, nobody is served before everybody has been seen. */
    r->all_seen = r->all_seen || queue_ready(r->queue) == 0;
    if (!r->all_seen) {
        r->claims_changed = true;
        return;
    }

    for (size_t i = 0; map_next(&r->memories, &i, NULL, &value);)
        add_claims(r, value, &list);
    pool_set_waiting(r->pool, list.count > 0);
    if (list.count) {
        verdicts = mem_alloc(list.count * sizeof(*verdicts));
        outlooks_make(r, &outlooks);
        claims_decide(list.items, list.count, outlooks.items, outlooks.count, verdicts);
        for (size_t i = 0; i < list.count; i++)
            answer(r, outlooks.items, &list.items[i], &verdicts[i]);
        outlooks_release(&outlooks);
        mem_free(verdicts);
    }
    mem_free(list.items);
}
