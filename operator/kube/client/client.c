#include "operator/kube/client/client.h"

#include <string.h>

#include "base/core/map.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/path.h"
#include "operator/kube/client/retry.h"
#include "operator/kube/client/transport.h"

#define WARNINGS_MAX 256u

enum call_state {
    CALL_WAITING, /* in the queue */
    CALL_IN_FLIGHT,
    CALL_BACKING_OFF, /* before it is sent again */
    CALL_OVER,        /* `done` follows in the next turn */
};

struct kube_call {
    struct kube *kube;
    struct kube_call *prev, *next; /* in the client's list of all calls, in order of arrival */
    enum call_state state;
    struct loop_timer timer; /* waiting: timeout; backing off: next attempt; over: report */
    struct http_call *http;

    const char *method; /* a string constant */
    const char *label;  /* of the counter */
    const char *plural;
    char *path;
    char *text; /* the body */
    size_t text_len;
    char *content_type;
    const char *accept;
    enum kube_class class;
    int64_t deadline_ms;
    int64_t sent_us; /* of the try in flight */
    struct retry_state retry;
    struct err rejected; /* while CALL_OVER */

    kube_done_fn done;
    void *ctx;
};

struct kube {
    struct loop *loop;
    struct transport *transport;
    struct kube_call *first, *last;
    unsigned window, in_flight; /* of the work class */
    size_t waiting;
    kube_gate_fn may_write;
    void *gate_ctx;
    void (*on_warning)(const char *text);
    struct map warnings; /* texts that were reported */
};

static void send_waiting(struct kube *kube);
static void wait_turn(struct kube_call *call, int64_t left_ms);

struct kube *kube_new(struct loop *loop, struct client_config *config, const struct kube_options *options,
                      struct err *err)
{
    struct transport *transport = transport_new(loop, config, options, err);
    struct kube *kube;

    if (transport == NULL)
        return NULL;
    kube = NEW(struct kube);
    kube->loop = loop;
    kube->transport = transport;
    kube->window = options->window > 0 ? options->window : KUBE_WINDOW;
    kube->on_warning = options->on_warning;
    return kube;
}

static void set_state(struct kube_call *call, enum call_state state)
{
    call->kube->waiting += (state == CALL_WAITING);
    call->kube->waiting -= (call->state == CALL_WAITING);
    call->state = state;
}

static void call_free(struct kube_call *call)
{
    struct kube *kube = call->kube;

    loop_timer_stop(&call->timer);
    kube->waiting -= call->state == CALL_WAITING;
    *(call->prev != NULL ? &call->prev->next : &kube->first) = call->next;
    *(call->next != NULL ? &call->next->prev : &kube->last) = call->prev;
    mem_free(call->path);
    mem_free(call->text);
    mem_free(call->content_type);
    mem_free(call);
}

void kube_free(struct kube *kube)
{
    if (kube == NULL)
        return;
    while (kube->first != NULL) {
        if (kube->first->state == CALL_IN_FLIGHT)
            http_cancel(kube->first->http);
        call_free(kube->first);
    }
    transport_free(kube->transport);
    map_release(&kube->warnings);
    mem_free(kube);
}

void kube_set_write_gate(struct kube *kube, kube_gate_fn may_write, void *ctx)
{
    kube->may_write = may_write;
    kube->gate_ctx = ctx;
}

/* --- the end of a call --- */

/* Frees the call before `done` runs, so that `done` may do anything. */
static void finish(struct kube_call *call, struct kube_response *res)
{
    kube_done_fn done = call->done;
    struct kube *kube = call->kube;
    void *ctx = call->ctx;

    if (res->err.kind != ERR_NONE)
        counters_row(transport_counters(kube->transport), call->label, call->plural)->failed++;
    call_free(call);
    done(ctx, res);
    cJSON_Delete(res->body);
    send_waiting(kube);
}

static void finish_unsent(struct loop_timer *timer)
{
    struct kube_call *call = CONTAINER_OF(timer, struct kube_call, timer);
    struct err rejected = call->rejected;
    struct kube_response res = {
        .err = rejected,
        .denial = rejected.kind == ERR_DENIED ? KUBE_DENIAL_LEASE : KUBE_DENIAL_NONE,
        .reason = "",
        .message = rejected.msg,
        .retry_after_ms = -1,
        .is_in_doubt = call->retry.is_in_doubt,
    };

    finish(call, &res);
}

/* In the next turn, because callbacks never run inside kube_send. */
static void fail_in_next_turn(struct kube_call *call)
{
    set_state(call, CALL_OVER);
    loop_timer_start(call->kube->loop, &call->timer, 0, finish_unsent);
}

/* --- answers --- */

static void report_warning_once(struct kube *kube, struct slice warning)
{
    AUTO(mem) char *text = NULL;

    if (warning.len == 0 || kube->warnings.count >= WARNINGS_MAX)
        return;
    text = mem_strndup(warning.ptr, warning.len);
    if (map_set(&kube->warnings, text, kube))
        return;
    if (kube->on_warning)
        kube->on_warning(text);
    else
        log_warn("API server warning", KV("warning", text));
}

static bool is_json(const char *content_type)
{
    return str_has_prefix(content_type, "application/json") || strstr(content_type, "+json");
}

/* A 2xx answer that is cut or garbled may still have taken effect: the caller must check. */
static cJSON *answer_body(const struct http_response *http, struct err *err)
{
    struct err bad = {0};
    cJSON *body;

    if (http->body.len == 0 || !is_json(http->content_type))
        return NULL;
    body = json_parse(http->body, &bad);
    if (body == NULL && http->status < 300)
        err_set_code(err, ERR_IO, http->status, "invalid response from the API server: %s", bad.msg);
    return body;
}

static void read_answer(const struct http_response *http, const struct err *err, struct kube_response *res,
                        struct kube_status *status)
{
    *res = (struct kube_response){.http_status = http->status,
                                  .bytes = http->body.len,
                                  .date_s = http->date_s,
                                  .err = *err,
                                  .reason = "",
                                  .retry_after_ms = -1};
    if (err->kind == ERR_NONE)
        res->body = answer_body(http, &res->err);
    if (err->kind == ERR_NONE && (http->status < 200 || http->status > 299)) {
        kube_status_read(http->status, res->body, http->retry_after_ms, status);
        res->err = status->err;
        res->denial = status->denial;
        res->reason = status->reason;
        res->retry_after_ms = status->retry_after_ms;
    }
    res->message = status->message != NULL ? status->message : res->err.msg;
}

static void send_again(struct loop_timer *timer)
{
    struct kube_call *call = CONTAINER_OF(timer, struct kube_call, timer);
    int64_t left_ms = call->deadline_ms - loop_now_ms(call->kube->loop);

    wait_turn(call, left_ms > 0 ? left_ms : 0);
}

static bool schedule_retry(struct kube_call *call, const struct kube_response *res)
{
    struct kube *kube = call->kube;
    bool renew;
    int64_t left_ms = call->deadline_ms - loop_now_ms(kube->loop);
    int64_t delay_ms =
        retry_delay_ms(&call->retry, &res->err, res->retry_after_ms, left_ms, loop_random_u32(), &renew);

    if (delay_ms < 0)
        return false;
    if (renew)
        transport_renew(kube->transport);
    set_state(call, CALL_BACKING_OFF);
    loop_timer_start(kube->loop, &call->timer, delay_ms, send_again);
    return true;
}

static void on_answer(void *ctx, const struct http_response *http, const struct err *err)
{
    struct kube_call *call = ctx;
    struct kube *kube = call->kube;
    struct kube_status status = {0};
    struct kube_response res;

    call->http = NULL;
    if (call->class == KUBE_WORK)
        kube->in_flight--;
    openmetrics_observe(
        &counters_row(transport_counters(kube->transport), call->label, call->plural)->durations,
        (uint64_t)(loop_clock_us() - call->sent_us));
    report_warning_once(kube, http->warning);
    read_answer(http, err, &res, &status);
    call->retry.is_in_doubt = call->retry.is_in_doubt || http->was_repeated;
    if (res.err.kind != ERR_NONE && schedule_retry(call, &res)) {
        cJSON_Delete(res.body);
        send_waiting(kube);
    } else {
        res.is_in_doubt = call->retry.is_in_doubt;
        finish(call, &res);
    }
    kube_status_release(&status);
}

/* --- sending --- */

static bool may_send(struct kube_call *call)
{
    const struct kube *kube = call->kube;

    if (call->class == KUBE_LEASE || str_eq(call->method, "GET") || kube->may_write == NULL)
        return true;
    if (kube->may_write(kube->gate_ctx))
        return true;
    err_set(&call->rejected, ERR_DENIED, "request not sent: this replica is not the leader");
    return false;
}

static void send_now(struct kube_call *call)
{
    struct kube *kube = call->kube;
    int64_t left_ms = call->deadline_ms - loop_now_ms(kube->loop);
    struct http_request request = {
        .method = call->method,
        .content_type = call->content_type,
        .accept = call->accept,
        .body = {call->text, call->text_len},
        .timeout_ms = left_ms > 0 ? left_ms : 1,
        .max_body = JSON_MAX_BYTES,
        .on_done = on_answer,
        .ctx = call,
    };

    loop_timer_stop(&call->timer);
    set_state(call, CALL_IN_FLIGHT);
    call->retry.tries++;
    if (call->class == KUBE_WORK)
        kube->in_flight++;
    counters_row(transport_counters(kube->transport), call->label, call->plural)->sent++;
    call->sent_us = loop_clock_us();
    call->http = transport_send(kube->transport, call->class, call->path, &request);
}

static void send_or_fail(struct kube_call *call)
{
    if (may_send(call))
        send_now(call);
    else
        fail_in_next_turn(call);
}

/* At most one window of other calls precedes the waiting ones, so the walk is short. */
static void send_waiting(struct kube *kube)
{
    for (struct kube_call *call = kube->first; call != NULL; call = call->next) {
        if (kube->in_flight >= kube->window || kube->waiting == 0)
            return;
        if (call->state == CALL_WAITING)
            send_or_fail(call);
    }
}

static void on_timeout(struct loop_timer *timer)
{
    struct kube_call *call = CONTAINER_OF(timer, struct kube_call, timer);

    err_set(&call->rejected, ERR_TIMEOUT, "request not sent: timed out waiting for earlier requests");
    finish_unsent(timer);
}

static void wait_turn(struct kube_call *call, int64_t left_ms)
{
    set_state(call, CALL_WAITING);
    loop_timer_start(call->kube->loop, &call->timer, left_ms, on_timeout);
    if (call->class == KUBE_LEASE)
        send_or_fail(call);
    else
        send_waiting(call->kube);
}

/* --- new calls --- */

static char *path_with_query(const struct kube_request *request)
{
    AUTO(str) struct str path = {0};
    char sign = '?';

    if (request->resource != NULL)
        kube_path_add(&path, request->resource, request->ns, request->name, request->sub);
    else
        str_adds(&path, request->path);
    for (const char *const *pair = request->query; pair != NULL && pair[0] != NULL; pair += 2) {
        str_addc(&path, sign);
        http_add_escaped(&path, pair[0]);
        str_addc(&path, '=');
        http_add_escaped(&path, pair[1]);
        sign = '&';
    }
    return str_take(&path);
}

static void take_body(struct kube_call *call, const struct kube_request *request)
{
    const char *type = request->content_type != NULL ? request->content_type : "application/json";

    if (request->body != NULL) {
        call->text = json_print(request->body);
        call->text_len = slice_of(call->text).len;
    } else if (request->text.len > 0) {
        call->text = mem_dup(request->text.ptr, request->text.len);
        call->text_len = request->text.len;
    }
    if (call->text != NULL)
        call->content_type = mem_strdup(type);
}

static struct kube_call *call_new(struct kube *kube, const struct kube_request *request)
{
    int64_t timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : KUBE_TIMEOUT_MS;
    struct kube_call *call = NEW(struct kube_call);

    call->kube = kube;
    call->label = counters_method(request);
    call->method = str_eq(call->label, "LIST") ? "GET" : call->label;
    call->plural = request->resource != NULL ? request->resource->plural : "";
    call->path = path_with_query(request);
    call->accept = request->accept;
    take_body(call, request);
    call->class = request->class;
    call->deadline_ms = loop_now_ms(kube->loop) + timeout_ms;
    call->retry.is_safe = retry_is_safe(call->method, call->content_type, request->retry_post);
    call->prev = kube->last;
    *(kube->last != NULL ? &kube->last->next : &kube->first) = call;
    kube->last = call;
    call->state = CALL_OVER; /* until it is queued */
    return call;
}

struct kube_call *kube_send(struct kube *kube, const struct kube_request *request, kube_done_fn done,
                            void *ctx)
{
    struct kube_call *call = call_new(kube, request);

    call->done = done;
    call->ctx = ctx;
    wait_turn(call, call->deadline_ms - loop_now_ms(kube->loop));
    return call;
}

void kube_cancel(struct kube_call *call)
{
    struct kube *kube;

    if (call == NULL)
        return;
    kube = call->kube;
    if (call->state == CALL_IN_FLIGHT) {
        http_cancel(call->http);
        if (call->class == KUBE_WORK)
            kube->in_flight--;
    }
    call_free(call);
    send_waiting(kube);
}

void kube_abort(struct kube *kube)
{
    transport_abort(kube->transport);
}

/* --- accessors --- */

struct loop *kube_loop(const struct kube *kube)
{
    return kube->loop;
}

void kube_renew_credentials(struct kube *kube)
{
    transport_renew(kube->transport);
}

struct transport *kube_transport(const struct kube *kube)
{
    return kube->transport;
}

size_t kube_counters(const struct kube *kube, const struct kube_counter **ret)
{
    const struct counters *counters = transport_counters(kube->transport);

    *ret = counters->rows;
    return counters->count;
}
