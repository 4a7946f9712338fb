/* forecast-driver: a scenario per line of standard input, as JSON; per line of standard output, its plan. The
 * scenarios are those of tests/forecast/scenario.py, which also reads the plans. With "times", the expected
 * starts are worked out too. A block is [domain, first IPU]; null is unknown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc/json.h"
#include "operator/forecast/forecast.h"

#define DOMAIN_IPUS 64u
#define MAX_LINE ((size_t)1 << 20)
#define SLICE_US 100

struct scenario {
    struct forecast_input input;
    struct forecast_controller *controllers;
    struct forecast_running *running;
    struct forecast_claim *claims;
    struct forecast_reservation *reservations;
};

static void scenario_release(struct scenario *s)
{
    for (size_t i = 0; i < s->input.controller_count; i++)
        mem_free((void *)(uintptr_t)s->controllers[i].domains);
    mem_free(s->controllers);
    mem_free(s->running);
    mem_free(s->claims);
    mem_free(s->reservations);
}
DEFINE_AUTO(scenario);

static int64_t time_of(const cJSON *node, const char *key)
{
    return json_i64(node, key, FORECAST_UNKNOWN);
}

static uint32_t number_of(const cJSON *node, const char *key)
{
    return (uint32_t)json_i64(node, key, 0);
}

static size_t count_of(const cJSON *array)
{
    return (size_t)cJSON_GetArraySize(array);
}

static enum forecast_policy policy_of(const char *name)
{
    return strcmp(name, "strict") == 0    ? FORECAST_STRICT
           : strcmp(name, "bounded") == 0 ? FORECAST_BOUNDED
                                          : FORECAST_PREDICTED;
}

static uint64_t ipus_of(uint32_t first, uint32_t size)
{
    return (size >= DOMAIN_IPUS ? UINT64_MAX : (UINT64_C(1) << size) - 1) << first;
}

static struct forecast_block block_of(const cJSON *place, uint32_t size)
{
    return (struct forecast_block){
        .domain = (uint32_t)place->child->valueint,
        .domain_count = (size + DOMAIN_IPUS - 1) / DOMAIN_IPUS,
        .ipus = ipus_of((uint32_t)place->child->next->valueint, size < DOMAIN_IPUS ? size : DOMAIN_IPUS)};
}

static struct forecast_quantiles quantiles_of(const cJSON *array)
{
    struct forecast_quantiles q = {0};

    if (array && count_of(array) == 3)
        q = (struct forecast_quantiles){(uint32_t)array->child->valuedouble,
                                        (uint32_t)array->child->next->valuedouble,
                                        (uint32_t)array->child->next->next->valuedouble};
    return q;
}

static struct forecast_controller controller_of(const cJSON *node)
{
    uint32_t domains = number_of(node, "domains");
    uint64_t *masks = mem_alloc((domains + 1) * sizeof(*masks));

    memset(masks, 0xff, domains * sizeof(*masks));
    JSON_EACH (failed, json_at(node, "failed"))
        masks[failed->child->valueint] &= ~(UINT64_C(1) << failed->child->next->valueint);
    return (struct forecast_controller){.is_usable = true,
                                        .is_placed = true,
                                        .policy = policy_of(json_str(node, "policy", "")),
                                        .ipus_per_domain = DOMAIN_IPUS,
                                        .domains = masks,
                                        .domain_count = domains};
}

static struct forecast_running running_of(const cJSON *node)
{
    uint32_t size = number_of(node, "size");

    return (struct forecast_running){.uid = number_of(node, "uid"),
                                     .instance = number_of(node, "instance"),
                                     .ns = (uint32_t)json_i64(node, "ns", FORECAST_NONE),
                                     .controller = number_of(node, "controller"),
                                     .block = block_of(json_at(node, "block"), size),
                                     .size = size,
                                     .start_s = json_i64(node, "start", 0),
                                     .end_s = time_of(node, "end"),
                                     .left = quantiles_of(json_at(node, "left"))};
}

static struct forecast_claim claim_of(const cJSON *node)
{
    return (struct forecast_claim){.uid = number_of(node, "uid"),
                                   .instance = number_of(node, "instance"),
                                   .count = (uint32_t)json_i64(node, "count", 1),
                                   .eligible = (uint64_t)json_i64(node, "eligible", 1),
                                   .ns = (uint32_t)json_i64(node, "ns", FORECAST_NONE),
                                   .size = number_of(node, "size"),
                                   .priority = (int32_t)json_i64(node, "priority", 0),
                                   .turn_s = json_i64(node, "turn", 0),
                                   .arrival = number_of(node, "arrival"),
                                   .bound_s = time_of(node, "bound"),
                                   .run = quantiles_of(json_at(node, "run")),
                                   .is_ready = json_bool(node, "ready", true)};
}

static struct forecast_reservation reservation_of(const cJSON *node)
{
    return (struct forecast_reservation){.uid = number_of(node, "uid"),
                                         .instance = number_of(node, "instance"),
                                         .controller = number_of(node, "controller"),
                                         .block = block_of(json_at(node, "block"), number_of(node, "ipus")),
                                         .start_s = time_of(node, "start"),
                                         .promise_s = time_of(node, "promise"),
                                         .since_s = json_i64(node, "since", 0)};
}

static struct scenario scenario_of(const cJSON *doc)
{
    const cJSON *controllers = json_at(doc, "controllers"), *running = json_at(doc, "running"),
                *claims = json_at(doc, "claims"), *reservations = json_at(doc, "reservations");
    struct scenario s = {.controllers = mem_alloc(count_of(controllers) * sizeof(*s.controllers) + 1),
                         .running = mem_alloc(count_of(running) * sizeof(*s.running) + 1),
                         .claims = mem_alloc(count_of(claims) * sizeof(*s.claims) + 1),
                         .reservations = mem_alloc(count_of(reservations) * sizeof(*s.reservations) + 1)};
    struct forecast_input *in = &s.input;

    *in = (struct forecast_input){.now_s = json_i64(doc, "now", 0), .settings = FORECAST_SETTINGS_DEFAULT};
    in->settings.depth = (uint32_t)json_i64(doc, "depth", in->settings.depth);
    in->settings.max_slide_s = time_of(doc, "max_slide");
    in->settings.close_after_s = time_of(doc, "close_after");
    JSON_EACH (node, controllers)
        s.controllers[in->controller_count++] = controller_of(node);
    JSON_EACH (node, running)
        s.running[in->running_count++] = running_of(node);
    JSON_EACH (node, claims)
        s.claims[in->claim_count++] = claim_of(node);
    JSON_EACH (node, reservations)
        s.reservations[in->reservation_count++] = reservation_of(node);
    in->controllers = s.controllers;
    in->running = s.running;
    in->claims = s.claims;
    in->reservations = s.reservations;
    return s;
}

/* ---- the plan ---- */

static void put_time(cJSON *object, const char *key, int64_t time_s)
{
    if (time_s == FORECAST_UNKNOWN)
        (void)json_put_take(object, key, cJSON_CreateNull());
    else
        (void)json_put_i64(object, key, time_s);
}

static void put_place(cJSON *object, uint64_t uid, uint32_t instance, uint32_t controller,
                      struct forecast_block block)
{
    cJSON *place = json_put_array(object, "block");

    (void)json_put_i64(object, "uid", (int64_t)uid);
    (void)json_put_i64(object, "instance", instance);
    (void)json_put_i64(object, "controller", controller);
    (void)json_push_take(place, cJSON_CreateNumber(block.domain));
    (void)json_push_take(place, cJSON_CreateNumber(__builtin_ctzll(block.ipus)));
    (void)json_put_i64(object, "ipus", (int64_t)block.domain_count * __builtin_popcountll(block.ipus));
}

static cJSON *plan_doc(const struct forecast_plan *plan, const struct forecast_input *in)
{
    cJSON *doc = json_object(), *starts = json_put_array(doc, "starts"),
          *reserved = json_put_array(doc, "reserved"), *verdicts = json_put_array(doc, "verdicts");

    for (size_t i = 0; i < plan->start_count; i++) {
        const struct forecast_start *start = &plan->starts[i];

        put_place(json_push_take(starts, json_object()), in->claims[start->claim].uid, start->instance,
                  start->controller, start->block);
    }
    for (size_t i = 0; i < plan->reserved_count; i++) {
        const struct forecast_reservation *r = &plan->reserved[i];
        cJSON *node = json_push_take(reserved, json_object());

        put_place(node, r->uid, r->instance, r->controller, r->block);
        put_time(node, "start", r->start_s);
        put_time(node, "promise", r->promise_s);
        (void)json_put_i64(node, "since", r->since_s);
        (void)json_put_bool(node, "open", r->is_open);
        (void)json_put_bool(node, "closed", r->is_closed);
    }
    for (size_t i = 0; i < in->claim_count; i++) {
        const struct forecast_verdict *v = &plan->verdicts[i];
        cJSON *node = json_push_take(verdicts, json_object());

        (void)json_put_i64(node, "uid", (int64_t)in->claims[i].uid);
        (void)json_put_i64(node, "started", v->started);
        (void)json_put_i64(node, "position", v->position);
        (void)json_put_i64(node, "cause", v->cause);
        (void)json_put_i64(node, "basis", v->basis);
        put_time(node, "p10", v->p10_s);
        put_time(node, "p50", v->p50_s);
        put_time(node, "p90", v->p90_s);
    }
    put_time(doc, "wake", plan->next_wake_s);
    return doc;
}

static void print_plan(const struct scenario *s, bool with_times)
{
    struct forecast *forecast = forecast_new(&s->input);
    AUTO(json) cJSON *doc = NULL;
    AUTO(mem) char *text = NULL;

    while (with_times && !forecast_step(forecast, SLICE_US))
        continue;
    doc = plan_doc(forecast_plan_of(forecast), &s->input);
    text = json_print(doc);
    (void)puts(text);
    (void)fflush(stdout);
    forecast_free(forecast);
}

int main(void)
{
    AUTO(mem) char *line = mem_alloc(MAX_LINE);

    while (fgets(line, MAX_LINE, stdin)) {
        struct err err;
        AUTO(json) cJSON *doc = json_parse(slice_of(line), &err);

        if (!doc) {
            (void)fprintf(stderr, "forecast-driver: %s\n", err.msg);
            return 2;
        }
        AUTO(scenario) struct scenario s = scenario_of(doc);

        print_plan(&s, json_bool(doc, "times", false));
    }
    return 0;
}
