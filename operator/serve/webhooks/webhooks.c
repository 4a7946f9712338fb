#include "operator/serve/webhooks/webhooks.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/http/http_server.h"
#include "operator/kube/client/client.h"
#include "operator/serve/webhooks/admission.h"
#include "operator/serve/webhooks/type_errors.h"
#include "operator/serve/certificates/cert_rotator.h"

#define MUTATE "/mutate-graphcore-ai-v1alpha1-ipujob"
#define VALIDATE "/validate-graphcore-ai-v1alpha1-ipujob"
#define CONTENT_TYPE "application/json"

enum {
    REVIEW_TIMEOUT_MS = 1000,
    DRY_RUNS_MAX = 4,           /* of all reviews: anyone who reaches the port can cause them */
    DRY_RUN_TIMEOUT_MS = 10000, /* an API server without time still works on it after the review's end */
    WARNING_INTERVAL_MS = 60000,
    /* Half of all. An API server keeps some 25 idle connections, and those in use are not closed. */
    CONNECTIONS_PER_PEER = 128,
    BAD_REQUEST = 400,
    INVALID = 422
};

/* The place of a dry run that the API server works on. It stays taken until the response, although its review
 * may end before. */
struct dry_run_slot {
    struct webhooks *webhooks;
    struct kube_call *call;  /* NULL: free */
    struct dry_run *dry_run; /* NULL: its review has ended */
    int64_t deadline_ms;     /* of that review */
};

struct webhooks {
    struct kube *kube;
    struct http_server_route routes[WEBHOOKS + 1]; /* the last one ends the list */
    struct http_server *http_server;
    struct cert_rotator *cert_rotator;
    uint32_t (*largest_partition)(void *ctx);
    const struct strv *priority_classes;
    struct queue_limits queue_limits;
    bool keeps_limits;
    void (*count_waiting)(void *ctx, const char *ns, struct queue_counts *ret);
    void *ctx;
    struct pending_review *reviews;
    size_t cost_bytes; /* of all of them */
    struct dry_run_slot slots[DRY_RUNS_MAX];
    int64_t next_warning_ms; /* about jobs that are admitted without a dry run */
    struct webhooks_counters counters;
};

/* The dry run of one pod template. */
struct dry_run {
    struct pending_review *review;
    cJSON *template, *rejections; /* of this one: Statuses in their order; both NULL: nothing to ask */
    cJSON *readable;              /* the template without mistyped values; NULL: not needed yet */
    const char *field_validation; /* how to ask next; NULL: finished */
    struct dry_run_slot *slot;    /* NULL: waits for one, or finished */
};

/* A request, during the dry runs of its templates, which run in parallel. */
struct pending_review {
    struct webhooks *webhooks;
    enum webhook webhook;
    struct pending_review *next, **link; /* in the list of all */
    struct http_server_request *request;
    struct admission admission;
    struct strv problems;
    struct dry_run dry_runs[ADMISSION_PODS];
    struct loop_timer timer;
    int64_t deadline_ms;
    int64_t begun_us;
};

static void review_free(struct pending_review *review)
{
    *review->link = review->next;
    if (review->next)
        review->next->link = review->link;
    loop_timer_stop(&review->timer);
    for (size_t i = 0; i < ADMISSION_PODS; i++) {
        if (review->dry_runs[i].slot)
            review->dry_runs[i].slot->dry_run = NULL;
        cJSON_Delete(review->dry_runs[i].template);
        cJSON_Delete(review->dry_runs[i].readable);
        cJSON_Delete(review->dry_runs[i].rejections);
    }
    review->webhooks->cost_bytes -= review->admission.cost_bytes;
    strv_release(&review->problems);
    admission_release(&review->admission);
    mem_free(review);
}

static struct pending_review *review_new_take(struct webhooks *webhooks, enum webhook webhook,
                                              struct http_server_request *request,
                                              struct admission *admission)
{
    struct pending_review *review = NEW(struct pending_review);

    review->webhooks = webhooks;
    review->webhook = webhook;
    review->request = request;
    review->admission = *admission;
    *admission = (struct admission){0};
    webhooks->cost_bytes += review->admission.cost_bytes;
    review->begun_us = loop_clock_us();
    review->deadline_ms = loop_now_ms(kube_loop(webhooks->kube)) + REVIEW_TIMEOUT_MS;
    review->next = webhooks->reviews;
    review->link = &webhooks->reviews;
    if (review->next)
        review->next->link = &review->next;
    webhooks->reviews = review;
    return review;
}

static void reply_take(struct webhooks *webhooks, enum webhook webhook, int64_t begun_us,
                       struct http_server_request *request, char *text)
{
    http_server_reply(request, 200, CONTENT_TYPE, slice_of(text));
    mem_free(text);
    openmetrics_observe(&webhooks->counters.durations[webhook], (uint64_t)(loop_clock_us() - begun_us));
}

/* Log only the field: the rest of a problem quotes user input, perhaps a password in the wrong place. */
static void log_rejection(const struct pending_review *review)
{
    AUTO(mem) char *job = admission_job(&review->admission);
    const char *first = review->problems.items[0];

    log_info("job rejected at admission", KV("job", job), KVF("problems", "%zu", review->problems.count),
             KVF("first", "%.*s", (int)strcspn(first, ":"), first));
}

static char *answer_of(const struct pending_review *review)
{
    const struct webhooks *webhooks = review->webhooks;

    if (review->webhook == WEBHOOK_MUTATE && review->problems.count == 0)
        return admission_mutate(&review->admission);
    return admission_verdict(
        &review->admission, &review->problems,
        &(struct warning_facts){.largest_partition =
                                    review->problems.count ? 0 : webhooks->largest_partition(webhooks->ctx),
                                .priority_classes = webhooks->priority_classes});
}

static void reply(struct pending_review *review)
{
    if (review->problems.count)
        log_rejection(review);
    review->webhooks->counters.denied += review->problems.count > 0;
    reply_take(review->webhooks, review->webhook, review->begun_us, review->request, answer_of(review));
    review_free(review);
}

/* ---- dry runs ---- */

static void reply_with_rejections(struct pending_review *review)
{
    for (size_t i = 0; i < ADMISSION_PODS; i++) {
        JSON_EACH (status, review->dry_runs[i].rejections)
            admission_add_rejection(&review->admission, (enum admission_pods)i, review->dry_runs[i].template,
                                    status, &review->problems);
    }
    reply(review);
}

static void reply_when_reviewed(struct pending_review *review)
{
    for (size_t i = 0; i < ADMISSION_PODS; i++) {
        if (review->dry_runs[i].field_validation)
            return;
    }
    reply_with_rejections(review);
}

/* A warning a minute: a flood of jobs must not fill the log. */
static void log_unreviewed(const struct pending_review *review, const char *cause)
{
    struct webhooks *webhooks = review->webhooks;
    int64_t now_ms = loop_now_ms(kube_loop(webhooks->kube));
    AUTO(mem) char *job = admission_job(&review->admission);

    if (now_ms < webhooks->next_warning_ms) {
        log_debug("cannot validate the job's pods with the API server, admitting the job anyway",
                  KV("job", job), KV("cause", cause));
        return;
    }
    webhooks->next_warning_ms = now_ms + WARNING_INTERVAL_MS;
    log_warn("cannot validate the job's pods with the API server, admitting the job anyway", KV("job", job),
             KV("cause", cause));
}

static void on_deadline(struct loop_timer *timer)
{
    struct pending_review *review = CONTAINER_OF(timer, struct pending_review, timer);

    log_unreviewed(review, "no response within a second");
    reply_with_rejections(review);
}

/* NULL, too, while one is overdue: more would only delay an API server that has no time. */
static struct dry_run_slot *find_free_slot(struct webhooks *webhooks)
{
    int64_t now_ms = loop_now_ms(kube_loop(webhooks->kube));
    struct dry_run_slot *ret = NULL;

    for (size_t i = 0; i < DRY_RUNS_MAX; i++) {
        struct dry_run_slot *slot = &webhooks->slots[i];

        if (!slot->call)
            ret = slot;
        else if (now_ms >= slot->deadline_ms)
            return NULL;
    }
    return ret;
}

/* Of the oldest review: the last in the list. */
static struct dry_run *find_waiting(const struct webhooks *webhooks)
{
    struct dry_run *ret = NULL;

    for (struct pending_review *review = webhooks->reviews; review; review = review->next) {
        for (size_t i = ADMISSION_PODS; i-- > 0;) {
            if (review->dry_runs[i].field_validation && !review->dry_runs[i].slot)
                ret = &review->dry_runs[i];
        }
    }
    return ret;
}

static void on_answer(void *ctx, struct kube_response *res);

static void send_dry_run(struct dry_run_slot *slot, struct dry_run *dry_run)
{
    const struct pending_review *review = dry_run->review;
    const char *const query[] = {"dryRun", "All", "fieldValidation", dry_run->field_validation, NULL};

    dry_run->slot = slot;
    slot->webhooks = review->webhooks;
    slot->dry_run = dry_run;
    slot->deadline_ms = review->deadline_ms;
    slot->call =
        kube_send(review->webhooks->kube,
                  &(struct kube_request){.method = "POST",
                                         .resource = &KUBE_POD_TEMPLATES,
                                         .ns = review->admission.ns,
                                         .query = query,
                                         .body = dry_run->readable ? dry_run->readable : dry_run->template,
                                         .timeout_ms = DRY_RUN_TIMEOUT_MS},
                  on_answer, slot);
}

static void send_waiting(struct webhooks *webhooks)
{
    struct dry_run_slot *slot;
    struct dry_run *dry_run;

    while ((slot = find_free_slot(webhooks)) && (dry_run = find_waiting(webhooks)))
        send_dry_run(slot, dry_run);
}

static void take_answer(struct dry_run *dry_run, const struct kube_response *res)
{
    bool rejected = res->body && (res->http_status == BAD_REQUEST || res->http_status == INVALID);
    cJSON *mistyped;

    dry_run->slot = NULL;
    dry_run->field_validation = NULL;
    if (rejected && !dry_run->readable)
        dry_run->readable = json_dup(dry_run->template);
    mistyped = rejected ? type_errors_remove(dry_run->readable, res->body) : NULL;
    if (rejected)
        json_push_take(dry_run->rejections, mistyped ? mistyped : json_dup(res->body));
    else if (res->err.kind != ERR_NONE)
        log_unreviewed(dry_run->review, res->err.msg);
    /* Run again to find further errors. */
    if (mistyped)
        dry_run->field_validation = "Strict";
    else if (rejected && admission_is_about_unknown_fields(res->body))
        dry_run->field_validation = "Ignore";
}

static void on_answer(void *ctx, struct kube_response *res)
{
    struct dry_run_slot *slot = ctx;
    struct pending_review *review = slot->dry_run ? slot->dry_run->review : NULL;

    slot->call = NULL;
    if (review)
        take_answer(slot->dry_run, res);
    send_waiting(slot->webhooks);
    if (review)
        reply_when_reviewed(review);
}

static void start_dry_runs(struct pending_review *review)
{
    for (size_t i = 0; i < ADMISSION_PODS; i++) {
        struct dry_run *dry_run = &review->dry_runs[i];

        dry_run->review = review;
        dry_run->template = admission_pod_template(&review->admission, (enum admission_pods)i);
        if (!dry_run->template)
            continue;
        dry_run->rejections = json_array();
        dry_run->field_validation = "Strict";
    }
    loop_timer_start(kube_loop(review->webhooks->kube), &review->timer, REVIEW_TIMEOUT_MS, on_deadline);
    send_waiting(review->webhooks);
}

static void check_queue(struct pending_review *review)
{
    const struct webhooks *webhooks = review->webhooks;
    struct queue_counts counts;

    webhooks->count_waiting(webhooks->ctx, review->admission.ns, &counts);
    admission_check_queue(&review->admission, &webhooks->queue_limits, &counts, &review->problems);
}

static void review_job(struct pending_review *review)
{
    admission_validate(&review->admission, &review->problems);
    if (review->webhooks->keeps_limits)
        admission_check_limits(&review->admission, &review->problems);
    if (review->problems.count == 0)
        check_queue(review);
    if (review->webhook == WEBHOOK_VALIDATE || review->problems.count)
        start_dry_runs(review);
}

/* ---- requests ---- */

/* As a Status, whose message the API server hands on to the user; of a text it says "unknown reason". */
static bool read_request(const struct webhooks *webhooks, struct http_server_request *request,
                         const struct http_server_request_info *view, struct admission *ret)
{
    struct err err;
    int status;

    if (admission_read(view->body, ret, &err) && admission_fits(ret, webhooks->cost_bytes, &err))
        return true;
    AUTO(mem) char *text = admission_reject_unread(&err, &status);
    http_server_reply(request, status, CONTENT_TYPE, slice_of(text));
    return false;
}

static void on_request(struct webhooks *webhooks, enum webhook webhook, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    AUTO(admission) struct admission admission = {0};

    if (!read_request(webhooks, request, view, &admission))
        return;
    struct pending_review *review = review_new_take(webhooks, webhook, request, &admission);
    if (admission_needs_validation(&review->admission))
        review_job(review);
    reply_when_reviewed(review);
}

static void on_mutate(void *ctx, struct http_server_request *request,
                      const struct http_server_request_info *view)
{
    on_request(ctx, WEBHOOK_MUTATE, request, view);
}

static void on_validate(void *ctx, struct http_server_request *request,
                        const struct http_server_request_info *view)
{
    on_request(ctx, WEBHOOK_VALIDATE, request, view);
}

static void on_gone(void *ctx, struct http_server_request *request)
{
    struct webhooks *webhooks = ctx;
    struct pending_review *review = webhooks->reviews;

    while (review && review->request != request)
        review = review->next;
    if (review)
        review_free(review);
}

/* ---- the server ---- */

static void on_certificate(void *ctx, const struct certificate *certificate)
{
    struct webhooks *webhooks = ctx;
    struct err err;

    if (http_server_set_tls(webhooks->http_server,
                            &(struct http_server_tls){certificate->cert, certificate->key}, &err))
        log_info("webhook certificate loaded",
                 KVF("days_left", "%lld",
                     (long long)((certificate_end_s(certificate) - loop_unix_micros() / 1000000) / 86400)));
    else
        log_error("cannot use the webhook certificate", KV("cause", err.msg));
}

/* The initial certificate is not trusted by the API server; it only allows to open the port, or to fail, at
 * once. */
static struct http_server *open_server(struct webhooks *webhooks, const struct webhooks_options *options,
                                       struct err *err)
{
    AUTO(certificate) struct certificate own = {0};

    certificate_make(options->names, loop_unix_micros() / 1000000, NULL, &own);
    return http_server_new(kube_loop(webhooks->kube),
                           &(struct http_server_options){.port = options->port,
                                                         .routes = webhooks->routes,
                                                         .connections_per_peer = CONNECTIONS_PER_PEER,
                                                         .tls = &(struct http_server_tls){own.cert, own.key}},
                           err);
}

struct webhooks *webhooks_new(struct kube *kube, const struct webhooks_options *options, struct err *err)
{
    struct webhooks *webhooks = NEW(struct webhooks);

    webhooks->kube = kube;
    webhooks->largest_partition = options->largest_partition;
    webhooks->priority_classes = options->priority_classes;
    webhooks->queue_limits = options->queue_limits;
    webhooks->keeps_limits = options->keeps_limits;
    webhooks->count_waiting = options->count_waiting;
    webhooks->ctx = options->ctx;
    webhooks->routes[WEBHOOK_MUTATE] = (struct http_server_route){.path = MUTATE,
                                                                  .methods = "POST",
                                                                  .fn = on_mutate,
                                                                  .gone = on_gone,
                                                                  .ctx = webhooks,
                                                                  .max_body = ADMISSION_MAX_BYTES};
    webhooks->routes[WEBHOOK_VALIDATE] = (struct http_server_route){.path = VALIDATE,
                                                                    .methods = "POST",
                                                                    .fn = on_validate,
                                                                    .gone = on_gone,
                                                                    .ctx = webhooks,
                                                                    .max_body = ADMISSION_MAX_BYTES};
    webhooks->http_server = open_server(webhooks, options, err);
    if (!webhooks->http_server) {
        mem_free(webhooks);
        return NULL;
    }
    webhooks->cert_rotator =
        cert_rotator_new(kube, &(struct cert_rotator_options){.ns = options->ns,
                                                              .name = options->name,
                                                              .given = options->given,
                                                              .names = options->names,
                                                              .on_certificate = on_certificate,
                                                              .ctx = webhooks});
    return webhooks;
}

void webhooks_free(struct webhooks *webhooks)
{
    if (!webhooks)
        return;
    cert_rotator_free(webhooks->cert_rotator);
    http_server_free(webhooks->http_server); /* and with it every pending review */
    for (size_t i = 0; i < DRY_RUNS_MAX; i++)
        kube_cancel(webhooks->slots[i].call);
    mem_free(webhooks);
}

void webhooks_drain(struct webhooks *webhooks)
{
    http_server_drain(webhooks->http_server);
}

uint16_t webhooks_port(const struct webhooks *webhooks)
{
    return http_server_port(webhooks->http_server);
}

bool webhooks_are_trusted(const struct webhooks *webhooks)
{
    return webhooks_certificate_end_s(webhooks) != 0;
}

int64_t webhooks_certificate_end_s(const struct webhooks *webhooks)
{
    return cert_rotator_expiry_s(webhooks->cert_rotator);
}

const char *webhook_name(enum webhook webhook)
{
    return webhook == WEBHOOK_MUTATE ? "mutate" : "validate";
}

const struct webhooks_counters *webhooks_counters(const struct webhooks *webhooks)
{
    return &webhooks->counters;
}
