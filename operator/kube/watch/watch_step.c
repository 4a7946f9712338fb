#include "operator/kube/watch/watch_step.h"

#include <string.h>

#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "operator/kube/client/status.h"

/* Servers close watches after timeoutSeconds; the spread keeps clients from reconnecting at the same time. */
#define WATCH_LEAST_S 300u
#define WATCH_SPREAD_S 301u
/* The server sends no bookmarks for a resource that has not changed since the server started. Then only the
 * end of a request shows that the connection works, so it has to come before the idle timeout. */
#define WATCH_SHORT_S 50u
#define WATCH_SHORT_SPREAD_S 21u
#define WATCH_SLACK_MS ((int64_t)30000)
#define PAGE_TIMEOUT_MS ((int64_t)120000)

/* A watch that ends so soon without an event is not the normal end of one. */
#define INSTANT_MS ((int64_t)1000)
#define STREAM_TRIES 3u

static const struct backoff TROUBLE = {.first_ms = 100, .max_ms = 30000};

/* RBAC rules may be repaired and resources installed meanwhile; neither needs frequent retries. */
static const struct backoff REJECTED = {.first_ms = 1000, .max_ms = 30000};
static const struct backoff ABSENT = {.first_ms = 500, .max_ms = 10000};

void watch_state_init(struct watch_state *state, const char *kind)
{
    *state = (struct watch_state){.kind = kind, .phase = WATCH_STREAM_LIST, .page_limit = WATCH_PAGE_LIMIT};
}

void watch_state_release(struct watch_state *state)
{
    mem_free(state->position);
    mem_free(state->list_position);
    mem_free(state->continue_token);
    *state = (struct watch_state){0};
}

/* --- marks on the way --- */

static void clear_error(struct watch_state *state)
{
    state->stream_failures = 0;
    state->is_renewed = false;
    state->was_silent = false;
    state->trouble = (struct err){0};
}

static void reset_failures(struct watch_state *state)
{
    state->failures = 0;
    clear_error(state);
}

static void list_is_complete(struct watch_state *state, const char *position)
{
    mem_set_str(&state->position, position);
    mem_set_str(&state->continue_token, NULL);
    mem_set_str(&state->list_position, NULL);
    state->phase = WATCH_FOLLOW;
    state->is_listed = true;
    state->needs_full_list = false;
    clear_error(state);
}

/* --- the end of requests --- */

static int64_t back_off(struct watch_state *state, const struct backoff *backoff,
                        const struct watch_input *input)
{
    int64_t delay_ms = backoff_delay_ms(backoff, ++state->failures, input->random);

    return input->retry_after_ms > delay_ms ? input->retry_after_ms : delay_ms;
}

static void list_again(struct watch_state *state)
{
    mem_set_str(&state->continue_token, NULL);
    mem_set_str(&state->list_position, NULL);
    state->phase = state->is_stream_rejected ? WATCH_PAGES : WATCH_STREAM_LIST;
}

/* API concepts, "Efficient detection of changes": 410 means list again. The first time immediately, then with
 * back-off: a server may expire every resource version that it returns. */
static int64_t forget_position(struct watch_state *state, const struct watch_input *input)
{
    if (state->phase == WATCH_PAGES && state->continue_token != NULL)
        state->needs_full_list = true;
    mem_set_str(&state->position, NULL);
    state->expirations++;
    list_again(state);
    return state->failures++ == 0 ? 0 : back_off(state, &TROUBLE, input);
}

/* The server does not support streaming lists, or never completed one. */
static int64_t use_pages(struct watch_state *state, const struct watch_input *input, bool forever)
{
    state->is_stream_rejected = state->is_stream_rejected || forever;
    state->stream_failures = 0;
    list_again(state);
    state->phase = WATCH_PAGES;
    return forever ? 0 : back_off(state, &TROUBLE, input);
}

static int64_t retry_request(struct watch_state *state, const struct watch_input *input,
                             const struct backoff *backoff)
{
    if (state->phase == WATCH_STREAM_LIST && ++state->stream_failures >= STREAM_TRIES)
        return use_pages(state, input, false);
    return back_off(state, backoff, input);
}

static int64_t after_denial(struct watch_state *state, const struct watch_input *input,
                            struct watch_output *out)
{
    if (input->err->code != 401 || state->is_renewed)
        return back_off(state, &REJECTED, input);
    state->is_renewed = true;
    out->renew = true;
    return 0;
}

/* A restored etcd is older than the resource version of this watch: the server returns a timeout each time.
 */
static bool is_version_too_large(const struct err *err)
{
    return err->code == 504 && strstr(err->msg, "Too large resource version") != NULL;
}

static bool is_stream_rejection(const struct watch_state *state, const struct err *err)
{
    return state->phase == WATCH_STREAM_LIST && err->kind == ERR_INVALID && err->code >= 400;
}

static int64_t after_failure(struct watch_state *state, const struct watch_input *input,
                             struct watch_output *out)
{
    state->supports_bookmarks = false;
    if (is_stream_rejection(state, input->err)) /* no trouble: pages follow */
        return use_pages(state, input, true);
    state->trouble = *input->err;
    if (is_version_too_large(input->err))
        return forget_position(state, input);
    switch (input->err->kind) {
    case ERR_GONE:
        return forget_position(state, input);
    case ERR_DENIED:
        return after_denial(state, input, out);
    case ERR_NOT_FOUND:
        return back_off(state, &ABSENT, input);
    case ERR_BUSY:
        return back_off(state, &TROUBLE, input);
    case ERR_INVALID:
        if (input->err->code >= 400) /* it rejects the resource version or the token */
            return forget_position(state, input);
        return retry_request(state, input, &TROUBLE);
    case ERR_NONE:
    case ERR_EXISTS:
    case ERR_CONFLICT:
    case ERR_TIMEOUT:
    case ERR_IO:
    case ERR_INTERNAL:
        break;
    }
    return retry_request(state, input, &TROUBLE);
}

static int64_t after_end(struct watch_state *state, const struct watch_input *input)
{
    if (state->phase == WATCH_FOLLOW) {
        if (state->events == 0 && input->now_ms - state->sent_ms < INSTANT_MS)
            return back_off(state, &TROUBLE, input);
        reset_failures(state);
        return 0;
    }
    err_set(&state->trouble, ERR_IO, "the list ended before it was complete");
    return retry_request(state, input, &TROUBLE);
}

/* Not an error: the server may have no bookmarks to send. The next request is short. */
static bool is_idle_without_bookmarks(const struct watch_state *state)
{
    return state->phase == WATCH_FOLLOW && state->is_long && !state->supports_bookmarks;
}

static void on_idle(struct watch_state *state, const struct watch_input *input, struct watch_output *out)
{
    if (is_idle_without_bookmarks(state)) {
        out->wait_ms = 0;
        return;
    }
    state->supports_bookmarks = false;
    state->was_silent = true;
    err_set(&state->trouble, ERR_TIMEOUT, "timed out: no data from the API server");
    out->wait_ms =
        state->phase == WATCH_STREAM_LIST ? use_pages(state, input, false) : back_off(state, &TROUBLE, input);
}

/* The stream delivers all changes from here on. After an idle timeout only a received event proves that. */
static void on_settled(struct watch_state *state)
{
    if (state->phase == WATCH_FOLLOW && !state->was_silent)
        reset_failures(state);
}

/* --- events of a stream --- */

static void on_error_event(struct watch_state *state, const struct watch_input *input, const cJSON *status,
                           struct watch_output *out)
{
    struct kube_status rejection;
    struct watch_input closed = *input;

    kube_status_read(kube_status_code(status), status, -1, &rejection);
    closed.err = &rejection.err;
    closed.retry_after_ms = rejection.retry_after_ms;
    out->finish = true;
    out->wait_ms = after_failure(state, &closed, out);
    kube_status_release(&rejection);
}

static bool ends_initial_events(const cJSON *object)
{
    return str_eq(json_str(object, "metadata/annotations/k8s.io~1initial-events-end", ""), "true");
}

static void on_bookmark(struct watch_state *state, const cJSON *object, struct watch_output *out)
{
    const char *version = json_str(object, "metadata/resourceVersion", "");

    if (version[0] == '\0')
        return;
    out->effect = WATCH_EFFECT_NONE;
    if (state->phase == WATCH_FOLLOW) {
        mem_set_str(&state->position, version);
        state->supports_bookmarks = true;
    } else if (ends_initial_events(object)) {
        list_is_complete(state, version);
        out->effect = WATCH_EFFECT_LIST_END;
    }
}

/* Versions of a list that is not complete are no position: what comes later in it may be older. */
static void on_object(struct watch_state *state, const cJSON *object, enum watch_effect effect,
                      struct watch_output *out)
{
    const char *version = json_str(object, "metadata/resourceVersion", "");

    out->effect = effect;
    out->item = object;
    if (state->phase == WATCH_FOLLOW && version[0] != '\0')
        mem_set_str(&state->position, version);
}

static enum watch_effect effect_of(const char *type)
{
    if (str_eq(type, "ADDED") || str_eq(type, "MODIFIED"))
        return WATCH_EFFECT_PUT;
    return str_eq(type, "DELETED") ? WATCH_EFFECT_DELETE : WATCH_EFFECT_SKIP;
}

static void on_event(struct watch_state *state, const struct watch_input *input, struct watch_output *out)
{
    const char *type = json_str(input->object, "type", "");
    const cJSON *object = json_at(input->object, "object");
    enum watch_effect effect = effect_of(type);

    state->events++;
    if (str_eq(type, "ERROR")) {
        on_error_event(state, input, object, out);
        return;
    }
    if (state->phase == WATCH_FOLLOW)
        reset_failures(state);
    out->effect = WATCH_EFFECT_SKIP;
    if (!str_eq(json_str(object, "kind", ""), state->kind))
        return;
    if (str_eq(type, "BOOKMARK"))
        on_bookmark(state, object, out);
    else if (effect != WATCH_EFFECT_SKIP)
        on_object(state, object, effect, out);
}

/* --- pages --- */

static void bad_page(struct watch_state *state, const struct watch_input *input, const char *what,
                     struct watch_output *out)
{
    err_set(&state->trouble, ERR_INVALID, "%s", what);
    list_again(state);
    out->wait_ms = back_off(state, &TROUBLE, input);
}

static bool is_list_of(const cJSON *page, const char *kind)
{
    const char *said = json_str(page, "kind", "");
    size_t length = strlen(kind);

    return strncmp(said, kind, length) == 0 && str_eq(said + length, "List");
}

static void set_page_limit(struct watch_state *state, size_t limit)
{
    state->page_limit = limit > WATCH_PAGE_LIMIT   ? WATCH_PAGE_LIMIT
                        : limit < WATCH_PAGE_LEAST ? WATCH_PAGE_LEAST
                                                   : (unsigned)limit;
}

/* The first page's version: a later one could hide changes to objects of the pages before it. */
static void on_page(struct watch_state *state, const struct watch_input *input, struct watch_output *out)
{
    const char *version = json_str(input->object, "metadata/resourceVersion", "");
    const char *token = json_str(input->object, "metadata/continue", "");

    if (!is_list_of(input->object, state->kind)) {
        bad_page(state, input, "the response is not a list of this kind", out);
        return;
    }
    if (version[0] == '\0') {
        bad_page(state, input, "the list has no resource version", out);
        return;
    }
    if (input->bytes > 0)
        set_page_limit(state, input->items * WATCH_PAGE_BYTES / input->bytes);
    if (state->list_position == NULL)
        mem_set_str(&state->list_position, version);
    out->wait_ms = 0;
    if (token[0] != '\0') {
        mem_set_str(&state->continue_token, token);
        return;
    }
    AUTO(mem) char *position = TAKE(state->list_position);
    list_is_complete(state, position);
    out->effect = WATCH_EFFECT_LIST_END;
}

/* --- sending --- */

static void on_send(struct watch_state *state, const struct watch_input *input, struct watch_output *out)
{
    state->sent_ms = input->now_ms;
    state->events = 0;
    state->is_long = state->phase != WATCH_FOLLOW || state->supports_bookmarks;
    state->supports_bookmarks = false;
    if (state->phase == WATCH_STREAM_LIST || (state->phase == WATCH_PAGES && state->continue_token == NULL))
        out->effect = WATCH_EFFECT_LIST_BEGIN;
}

void watch_step(struct watch_state *state, const struct watch_input *input, struct watch_output *ret)
{
    bool has_failed = input->what == WATCH_INPUT_IDLE || input->what == WATCH_INPUT_CLOSED;

    *ret = (struct watch_output){.effect = WATCH_EFFECT_NONE, .wait_ms = -1};
    if (has_failed && state->phase == WATCH_PAGES)
        set_page_limit(state, state->page_limit / 2);
    switch (input->what) {
    case WATCH_INPUT_SEND:
        on_send(state, input, ret);
        break;
    case WATCH_INPUT_SETTLED:
        on_settled(state);
        break;
    case WATCH_INPUT_EVENT:
        on_event(state, input, ret);
        break;
    case WATCH_INPUT_PAGE:
        on_page(state, input, ret);
        break;
    case WATCH_INPUT_CLOSED:
        ret->wait_ms =
            input->err->kind != ERR_NONE ? after_failure(state, input, ret) : after_end(state, input);
        break;
    case WATCH_INPUT_IDLE:
        on_idle(state, input, ret);
        break;
    }
}

static void add(struct strv *query, const char *key, const char *value)
{
    strv_push(query, key);
    strv_push(query, value);
}

static void page_query(const struct watch_state *state, struct strv *query)
{
    if (!state->needs_full_list) {
        strv_push(query, "limit");
        strv_pushf(query, "%u", state->page_limit);
    }
    if (state->continue_token != NULL) {
        add(query, "continue", state->continue_token);
    } else if (state->position != NULL) {
        /* Not older than the last observed version; the first list is the most recent one (no version).
         * Version "0" (any) costs the API server less, but right after a change of leader, decisions on an
         * old list would repeat what the previous leader has done. */
        add(query, "resourceVersion", state->position);
        add(query, "resourceVersionMatch", "NotOlderThan");
    }
}

static void stream_query(const struct watch_state *state, uint32_t random, struct strv *query)
{
    add(query, "watch", "true");
    add(query, "allowWatchBookmarks", "true");
    if (state->position != NULL)
        add(query, "resourceVersion", state->position);
    if (state->phase == WATCH_STREAM_LIST) {
        add(query, "sendInitialEvents", "true");
        add(query, "resourceVersionMatch", "NotOlderThan");
    }
    strv_push(query, "timeoutSeconds");
    strv_pushf(query, "%u",
               state->is_long ? WATCH_LEAST_S + random % WATCH_SPREAD_S
                              : WATCH_SHORT_S + random % WATCH_SHORT_SPREAD_S);
}

void watch_query(const struct watch_state *state, const char *label_selector, const char *field_selector,
                 uint32_t random, struct strv *ret)
{
    if (label_selector != NULL)
        add(ret, "labelSelector", label_selector);
    if (field_selector != NULL)
        add(ret, "fieldSelector", field_selector);
    if (state->phase == WATCH_PAGES)
        page_query(state, ret);
    else
        stream_query(state, random, ret);
}

int64_t watch_timeout_ms(const struct watch_state *state)
{
    uint32_t most_s = state->is_long ? WATCH_LEAST_S + WATCH_SPREAD_S : WATCH_SHORT_S + WATCH_SHORT_SPREAD_S;

    return state->phase == WATCH_PAGES ? PAGE_TIMEOUT_MS : (int64_t)most_s * 1000 + WATCH_SLACK_MS;
}
