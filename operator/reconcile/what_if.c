#include "operator/reconcile/what_if.h"

#include "base/core/mem.h"
#include "operator/reconcile/queue/claim_window.h"
#include "operator/reconcile/queue/grants.h"
#include "operator/reconcile/report/plan_text.h"
#include "operator/reconcile/queue/run_times.h"

#define UID "what-if" /* of no object */

struct what_if {
    struct claims_plan *plan;
    struct strv controllers; /* names, as numbered in the plan */
    uint64_t choosing;       /* bit per controller that chooses the IPUs of partitions */
    struct what_if_request request;
};

static struct what_if *begin(const struct reconciler *r, const struct what_if_request *request,
                             const bool *eligible)
{
    struct what_if *what_if;
    AUTO(mem) char *job = mem_printf("%s/" UID, request->ns);
    const struct run_kind kind = run_times_kind(request->ns, request->name, request->image, request->ipus);

    if (!claim_window_is_found(&r->claim_window))
        return NULL;
    what_if = NEW(struct what_if);
    what_if->request = (struct what_if_request){.ipus = request->ipus,
                                                .instances = request->instances,
                                                .priority = request->priority,
                                                .bound_s = request->bound_s};
    for (size_t i = 0; i < pool_count(r->pool); i++) {
        const struct pool_controller *controller = pool_controller(r->pool, i);

        strv_push(&what_if->controllers, controller->config->name);
        if (i < FORECAST_CONTROLLERS && controller->chooses)
            what_if->choosing |= (uint64_t)1 << i;
    }
    what_if->plan = grants_what_if(r, &(struct claim){.job = job,
                                                      .uid = UID,
                                                      .count = request->instances,
                                                      .priority = request->priority,
                                                      .turn_s = loop_unix_micros() / 1000000,
                                                      .arrival = UINT64_MAX,
                                                      .size = request->ipus,
                                                      .bound_s = request->bound_s,
                                                      .run = run_times_of_kind(r, &kind),
                                                      .is_ready = true,
                                                      .eligible = eligible});
    return what_if;
}

struct what_if *what_if_begin(const struct reconciler *r, const struct what_if_request *request)
{
    AUTO(mem) bool *eligible = grants_find_eligible(r, request->node_selector);

    return begin(r, request, eligible);
}

struct what_if *what_if_begin_at(const struct reconciler *r, size_t controller, uint32_t ipus,
                                 int64_t bound_s)
{
    static char none[] = "";
    AUTO(mem) bool *eligible = mem_alloc(pool_count(r->pool) * sizeof(*eligible));

    eligible[controller] = true;
    return begin(
        r,
        &(struct what_if_request){.ns = none, .name = none, .ipus = ipus, .instances = 1, .bound_s = bound_s},
        eligible);
}

void what_if_charge(struct reconciler *r, int64_t work_us)
{
    queue_plan_charge(&r->queue_plan, work_us);
}

bool what_if_step(struct what_if *what_if, uint32_t work)
{
    return claims_plan_step(what_if->plan, work);
}

static const char *why(enum forecast_cause cause)
{
    static const char *const texts[] = {
        [FORECAST_STARTS] = "all of its instances start now",
        [FORECAST_NOT_READY] = "its template is being validated",
        [FORECAST_NO_ROOM] = "fewer IPUs are free than it needs",
        [FORECAST_FRAGMENTED] = "enough IPUs are free, but no aligned block of its size",
        [FORECAST_RESERVED] = "the free block of its size is kept for an earlier job",
        [FORECAST_ORDER] = "a block of its size is free, but nothing passes the first job that waits there",
        [FORECAST_IPU_QUOTA] = "its namespace runs as many IPUs as it may",
        [FORECAST_QUEUE_QUOTA] = "its namespace has as many instances in the queue as it may",
        [FORECAST_TOO_LARGE] =
            "no V-IPU controller that serves its nodes can create a partition of this size",
        [FORECAST_UNAVAILABLE] = "no V-IPU controller that could hold it is available",
        [FORECAST_NO_CONTROLLER] = "no V-IPU controller serves the nodes that it selects"};

    return texts[cause];
}

/* Of the first instance, if it starts now; else the one that would be kept for it. */
static const struct forecast_block *block_of(const struct forecast_plan *plan, uint32_t claim)
{
    for (size_t i = 0; i < plan->start_count; i++)
        if (plan->starts[i].claim == claim)
            return &plan->starts[i].block;
    for (size_t i = 0; i < plan->reserved_count; i++)
        if (plan->reserved[i].claim == claim)
            return &plan->reserved[i].block;
    return NULL;
}

static bool is_counted(const struct what_if *what_if, uint32_t controller)
{
    return controller != FORECAST_NONE &&
           (what_if->choosing >> controller & 1 || !what_if->plan->input.controllers[controller].is_placed);
}

/* The claim that is asked about is among the last. */
const struct forecast_verdict *what_if_verdict(const struct what_if *what_if)
{
    const struct forecast_input *input = &what_if->plan->input;
    size_t claim = input->claim_count - 1;

    while (input->claims[claim].uid != str_hash(UID))
        claim--;
    return &forecast_plan_of(what_if->plan->forecast)->verdicts[claim];
}

const struct forecast_plan *what_if_plan(const struct what_if *what_if, int64_t *ret_now_s)
{
    *ret_now_s = what_if->plan->input.now_s;
    return forecast_plan_of(what_if->plan->forecast);
}

cJSON *what_if_print(const struct what_if *what_if)
{
    const struct forecast_plan *plan = forecast_plan_of(what_if->plan->forecast);
    uint32_t claim = (uint32_t)claims_plan_find(what_if->plan, UID);
    const struct forecast_verdict *verdict = &plan->verdicts[claim];
    const struct forecast_block *block = block_of(plan, claim);
    cJSON *out = json_object(), *blocks;

    json_put_time(out, "asOf", what_if->plan->input.now_s);
    json_put_i64(out, "ipus", what_if->request.ipus);
    json_put_i64(out, "instances", what_if->request.instances);
    json_put_i64(out, "priority", what_if->request.priority);
    json_put_str(out, "start", plan_start_name(verdict));
    json_put_i64(out, "instancesNow", verdict->started);
    plan_put_verdict(out, verdict, is_counted(what_if, verdict->controller));
    json_put_str(out, "message", why(verdict->cause));
    if (verdict->controller != FORECAST_NONE)
        json_put_str(out, "controller", what_if->controllers.items[verdict->controller]);
    if (verdict->position)
        json_put_i64(out, "position", verdict->position);
    blocks = json_put_array(out, "blocks");
    if (block && block->domain_count)
        plan_push_block(blocks, block);
    return out;
}

void what_if_free(struct what_if *what_if)
{
    if (!what_if)
        return;
    claims_plan_free(what_if->plan);
    strv_release(&what_if->controllers);
    mem_free(what_if);
}
