#include "operator/kube/leader_election/lease.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/text/timefmt.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/kube/leader_election/lease_step.h"

#define RELEASE_TIMEOUT_MS ((int64_t)2000)
#define HOST_NAME_BYTES 256

struct lease {
    struct kube *kube;
    struct loop *loop;
    struct lease_options options;
    char *ns, *name, *self;
    struct lease_state state;
    struct err last_logged; /* the error that was logged last */
    struct kube_call *call; /* NULL: none in flight */
    bool is_writing;        /* the call in flight is a write */
    struct loop_timer timer;
    void (*on_released)(void *ctx); /* while leaving */
    void *on_released_ctx;
    struct loop_timer release_timer; /* while leaving */
};

static void apply_output(struct lease *lease, const struct lease_output *out);

/* --- bodies --- */

static void put_holder(const struct lease *lease, cJSON *spec)
{
    char now[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339_micro(loop_unix_micros(), now);
    json_put_str(spec, "holderIdentity", lease->self);
    json_put_i64(spec, "leaseDurationSeconds", lease->state.duration_ms / 1000);
    json_put_str(spec, "renewTime", now);
    if (!str_eq(lease->state.other, lease->self)) {
        json_put_str(spec, "acquireTime", now);
        json_put_i64(spec, "leaseTransitions",
                     lease->state.transitions + (lease->state.resource_version != NULL));
    }
}

static void put_note(const struct lease *lease, cJSON *metadata)
{
    AUTO(mem) char *note = lease->options.note ? lease->options.note(lease->options.ctx) : NULL;

    if (note)
        json_put_str(json_put_object(metadata, "annotations"), LEASE_NOTE, note);
}

static cJSON *new_body(const struct lease *lease)
{
    cJSON *body = json_object();
    cJSON *metadata;

    json_put_str(body, "apiVersion", "coordination.k8s.io/v1");
    json_put_str(body, "kind", "Lease");
    metadata = json_put_object(body, "metadata");
    json_put_str(metadata, "name", lease->name);
    json_put_str(metadata, "namespace", lease->ns);
    put_note(lease, metadata);
    put_holder(lease, json_put_object(body, "spec"));
    return body;
}

/* The version makes it a compare-and-swap: of two candidates one gets a 409. */
static cJSON *patch_body(const struct lease *lease, bool release)
{
    cJSON *body = json_object(), *metadata = json_put_object(body, "metadata");
    cJSON *spec;

    assert(lease->state.resource_version != NULL);
    json_put_str(metadata, "resourceVersion", lease->state.resource_version);
    spec = json_put_object(body, "spec");
    if (!release) {
        put_note(lease, metadata);
        put_holder(lease, spec);
        return body;
    }
    json_put_str(spec, "holderIdentity", "");
    json_put_i64(spec, "leaseDurationSeconds", LEASE_RELEASED_DURATION_S);
    return body;
}

/* --- answers --- */

static bool record_of(struct kube_response *res, struct lease_record *ret)
{
    if (res->err.kind != ERR_NONE)
        return false;
    if (lease_record_read(res->body, ret))
        return true;
    return err_set(&res->err, ERR_IO, "the response is not a Lease");
}

/* It is tried again every 2 s. Texts have times in them; kind and code are what changes with the cause. */
static void note_trouble(struct lease *lease)
{
    const struct err *trouble = &lease->state.trouble;
    bool is_news = trouble->kind != lease->last_logged.kind || trouble->code != lease->last_logged.code;

    if (is_news && trouble->kind != ERR_NONE)
        log_warn("lease request failed, retrying", KV("name", lease->name), KV("cause", trouble->msg));
    else if (is_news)
        log_info("lease requests recovered", KV("name", lease->name));
    lease->last_logged = *trouble;
}

static void on_read(void *ctx, struct kube_response *res)
{
    struct lease *lease = ctx;
    struct lease_record record;
    struct lease_output out;
    bool has_record = record_of(res, &record);

    lease->call = NULL;
    lease_on_read(&lease->state, has_record ? &record : NULL, &res->err, loop_clock_ms(), &out);
    note_trouble(lease);
    apply_output(lease, &out);
}

static void on_written(void *ctx, struct kube_response *res)
{
    struct lease *lease = ctx;
    struct lease_record record;
    struct lease_output out;
    bool has_record = record_of(res, &record);

    lease->call = NULL;
    lease_on_written(&lease->state, has_record ? &record : NULL, &res->err, loop_clock_ms(), &out);
    note_trouble(lease);
    apply_output(lease, &out);
}

/* --- acts --- */

static void request(struct lease *lease, const char *method, cJSON *body, kube_done_fn done)
{
    lease->state.sent_ms = loop_clock_ms();
    lease->is_writing = done == on_written;
    lease->call = kube_send(lease->kube,
                            &(struct kube_request){
                                .method = method,
                                .resource = &KUBE_LEASES,
                                .ns = lease->ns,
                                .name = str_eq(method, "POST") ? NULL : lease->name,
                                .body = body,
                                .content_type = str_eq(method, "PATCH") ? KUBE_MERGE_PATCH : NULL,
                                .timeout_ms = lease_request_timeout_ms(&lease->state, lease->state.sent_ms),
                                .class = KUBE_LEASE,
                            },
                            done, lease);
    cJSON_Delete(body);
}

static void on_time(struct loop_timer *timer)
{
    struct lease *lease = CONTAINER_OF(timer, struct lease, timer);
    struct lease_output out;

    kube_cancel(TAKE(lease->call)); /* only the deadline comes while one is in flight */
    lease_on_time(&lease->state, loop_clock_ms(), &out);
    apply_output(lease, &out);
}

static void finish_release(struct lease *lease)
{
    void (*on_released)(void *ctx) = lease->on_released;

    loop_timer_stop(&lease->timer);
    loop_timer_stop(&lease->release_timer);
    kube_cancel(TAKE(lease->call));
    lease->on_released = NULL;
    if (on_released != NULL)
        on_released(lease->on_released_ctx);
}

static void send_action(struct lease *lease, enum lease_action what)
{
    switch (what) {
    case LEASE_READ:
        request(lease, "GET", NULL, on_read);
        break;
    case LEASE_CREATE:
        request(lease, "POST", new_body(lease), on_written);
        break;
    case LEASE_WRITE:
        request(lease, "PATCH", patch_body(lease, false), on_written);
        break;
    case LEASE_RELEASE:
        request(lease, "PATCH", patch_body(lease, true), on_written);
        break;
    case LEASE_WAIT:
    case LEASE_END:
        break;
    }
}

static void watch_clock(struct lease *lease, const struct lease_output *out)
{
    int64_t deadline_ms = lease_deadline_ms(&lease->state);
    int64_t left_ms = deadline_ms - loop_clock_ms();

    loop_timer_stop(&lease->timer);
    if (out->act == LEASE_WAIT)
        loop_timer_start(lease->loop, &lease->timer, out->wait_ms, on_time);
    else if (deadline_ms != INT64_MAX)
        loop_timer_start(lease->loop, &lease->timer, left_ms > 0 ? left_ms : 0, on_time);
}

static void notify_owner(const struct lease *lease, const struct lease_output *out)
{
    if (out->was_lost && lease->options.on_lost != NULL)
        lease->options.on_lost(lease->options.ctx);
    if (out->has_started && lease->options.on_started != NULL)
        lease->options.on_started(lease->options.ctx);
}

static void apply_output(struct lease *lease, const struct lease_output *out)
{
    if (out->act == LEASE_END) {
        finish_release(lease);
        return;
    }
    send_action(lease, out->act);
    watch_clock(lease, out);
    notify_owner(lease, out);
}

/* --- life --- */

static char *unique_name(const char *address)
{
    char host[HOST_NAME_BYTES] = "";

    (void)gethostname(host, sizeof(host) - 1);
    return mem_printf("%s_%08x%08x%s%s", host, loop_random_u32(), loop_random_u32(),
                      address != NULL ? "@" : "", address != NULL ? address : "");
}

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

struct lease *lease_new(struct kube *kube, const struct lease_options *options)
{
    struct lease *lease = NEW(struct lease);
    struct lease_state *state = &lease->state;

    lease->kube = kube;
    lease->loop = kube_loop(kube);
    lease->options = *options;
    lease->ns = mem_strdup(options->ns);
    lease->name = mem_strdup(options->name);
    lease->self = options->holder != NULL ? mem_strdup(options->holder) : unique_name(options->address);
    lease_state_init(state, lease->self);
    state->duration_ms = or_default(options->duration_ms, state->duration_ms);
    state->renew_deadline_ms = or_default(options->renew_deadline_ms, state->renew_deadline_ms);
    state->retry_ms = or_default(options->retry_ms, state->retry_ms);
    loop_timer_start(lease->loop, &lease->timer, 0, on_time);
    return lease;
}

void lease_free(struct lease *lease)
{
    if (lease == NULL)
        return;
    loop_timer_stop(&lease->timer);
    loop_timer_stop(&lease->release_timer);
    kube_cancel(lease->call);
    lease_state_release(&lease->state);
    mem_free(lease->ns);
    mem_free(lease->name);
    mem_free(lease->self);
    mem_free(lease);
}

bool lease_is_held(const struct lease *lease, int64_t clock_ms)
{
    return lease_state_is_held(&lease->state, clock_ms);
}

const char *lease_holder(const struct lease *lease)
{
    return lease->self;
}

const char *lease_seen_holder(const struct lease *lease)
{
    return lease->state.other;
}

/* What others wrote: nothing but an address may pass. */
const char *lease_other_address(const struct lease *lease)
{
    const char *at =
        lease->state.is_held || lease->state.other == NULL ? NULL : strrchr(lease->state.other, '@');

    if (at == NULL || at[1] == '\0' || at[1 + strspn(at + 1, "0123456789abcdefABCDEF.:[]")] != '\0')
        return NULL;
    return at + 1;
}

const char *lease_other_note(const struct lease *lease)
{
    return lease->state.is_held ? NULL : lease->state.other_note;
}

bool lease_is_healthy(const struct lease *lease, int64_t clock_ms)
{
    return !lease->state.is_held ||
           clock_ms < lease->state.renewed_ms + lease->state.duration_ms + lease->state.retry_ms;
}

bool lease_is_known(const struct lease *lease, int64_t clock_ms)
{
    return lease_state_is_known(&lease->state, clock_ms);
}

static void on_release_timeout(struct loop_timer *timer)
{
    finish_release(CONTAINER_OF(timer, struct lease, release_timer));
}

/* In the next turn, because callbacks never run inside the caller's own call. */
void lease_release(struct lease *lease, void (*done)(void *ctx), void *ctx)
{
    struct lease_output out;

    lease->on_released = done;
    lease->on_released_ctx = ctx;
    loop_timer_stop(&lease->timer);
    if (!lease->is_writing)
        kube_cancel(TAKE(lease->call));
    lease_begin_release(&lease->state, lease->call != NULL, &out);
    loop_timer_start(lease->loop, &lease->release_timer, out.act == LEASE_END ? 0 : RELEASE_TIMEOUT_MS,
                     on_release_timeout);
    if (out.act != LEASE_END)
        send_action(lease, out.act);
}
