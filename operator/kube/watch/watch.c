#include "operator/kube/watch/watch.h"

#include <string.h>

#include "base/text/lines.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/kube/watch/list_reader.h"
#include "operator/kube/client/stream.h"
#include "operator/kube/client/transport.h"
#include "operator/kube/watch/watch_step.h"

/* Bookmarks come each minute. */
#define SILENCE_MS ((int64_t)90000)
/* Errors of a watch arrive soon after the response has begun, or not at all. */
#define SETTLED_MS ((int64_t)5000)
/* The server responds to a streaming list immediately, or does not support it. */
#define LIST_SILENCE_MS ((int64_t)10000)

struct watch {
    struct kube *kube;
    struct loop *loop;
    struct watch_options options;
    char *ns, *label_selector, *field_selector; /* what options point to */
    struct store *store;
    struct watch_state state;
    struct stream *stream;    /* NULL: none */
    struct lines lines;       /* of a watch */
    struct list_reader items; /* of a page */
    bool is_reading_page;
    struct loop_timer timer; /* with a stream: silence; without: the next request */
    int64_t last_read_ms;
    size_t item_bytes;             /* of the object that is being read */
    size_t page_items, page_bytes; /* objects of this page so far */
    struct err failure;            /* local error, while the stream that it ended is closing */
    bool is_full;                  /* that is the failure */
    int64_t finish_wait_ms;        /* >= 0: an event ended the stream, and this follows; -1: none did */
    bool has_reported_synced;
    int64_t trouble_since_ms; /* -1: healthy */
    struct watch_counters counters;
};

static void send(struct loop_timer *timer);

static struct watch_input input_of(const struct watch *watch, enum watch_input_kind what)
{
    return (struct watch_input){
        .what = what,
        .retry_after_ms = -1,
        .now_ms = loop_now_ms(watch->loop),
        .random = loop_random_u32(),
    };
}

/* Log the first failure and the recovery, not the failures in between. */
static void note_trouble(struct watch *watch)
{
    const struct err *trouble = &watch->state.trouble;
    const char *kind = watch->options.resource->plural;

    if (trouble->kind != ERR_NONE && watch->trouble_since_ms < 0) {
        watch->trouble_since_ms = loop_now_ms(watch->loop);
        log_warn("watch failed, retrying", KV("resource", kind), KV("cause", trouble->msg));
    } else if (trouble->kind == ERR_NONE && watch->trouble_since_ms >= 0) {
        watch->trouble_since_ms = -1;
        log_info("watch recovered", KV("resource", kind));
    }
}

static void notify_synced(struct watch *watch)
{
    if (watch->has_reported_synced || !watch->state.is_listed)
        return;
    watch->has_reported_synced = true;
    if (watch->options.on_synced != NULL)
        watch->options.on_synced(watch->options.ctx);
}

/* The object's changes are not tracked; log it so that an admin can find it. */
static void skip_unreadable(struct watch *watch, const struct err *why)
{
    watch->counters.skipped++;
    log_warn("skipping unreadable object", KV("resource", watch->options.resource->plural),
             KV("cause", why->msg));
}

static void change_store(struct watch *watch, const struct watch_output *out)
{
    switch (out->effect) {
    case WATCH_EFFECT_NONE:
        break;
    case WATCH_EFFECT_LIST_BEGIN:
        store_list_begin(watch->store);
        break;
    case WATCH_EFFECT_PUT:
        watch->counters.skipped += !store_put(watch->store, out->item, watch->item_bytes);
        break;
    case WATCH_EFFECT_DELETE:
        watch->counters.skipped += !store_delete(watch->store, out->item);
        break;
    case WATCH_EFFECT_LIST_END:
        watch->counters.lists++;
        store_list_end(watch->store);
        notify_synced(watch);
        break;
    case WATCH_EFFECT_SKIP:
        watch->counters.skipped++;
        log_debug("watch event ignored", KV("resource", watch->options.resource->plural),
                  KV("cause", "unknown event type or another kind"));
        break;
    }
}

static void step(struct watch *watch, const struct watch_input *input, struct watch_output *ret)
{
    watch_step(&watch->state, input, ret);
    watch->counters.expired = watch->state.expirations;
    change_store(watch, ret);
    note_trouble(watch);
    if (ret->renew)
        transport_renew(kube_transport(watch->kube));
}

/* --- reading --- */

/* False: the store has more than it may. */
static bool check_limits(struct watch *watch)
{
    const struct watch_options *options = &watch->options;
    const char *plural = options->resource->plural;

    if (options->max_items && store_count(watch->store) > options->max_items)
        err_set(&watch->failure, ERR_INVALID, "there are more than %zu %s", options->max_items, plural);
    else if (options->max_bytes && store_bytes(watch->store) > options->max_bytes)
        err_set(&watch->failure, ERR_INVALID, "the %s have more than %zu MiB", plural,
                options->max_bytes >> 20);
    else
        return true;
    watch->is_full = true;
    return false;
}

static bool on_line(struct watch *watch, struct slice line)
{
    struct err err = {0};
    AUTO(json) cJSON *event = json_parse(line, &err);
    struct watch_input input = input_of(watch, WATCH_INPUT_EVENT);
    struct watch_output out;

    watch->counters.items++;
    if (event == NULL) {
        skip_unreadable(watch, &err);
        return true;
    }
    input.object = event;
    watch->item_bytes = line.len;
    step(watch, &input, &out);
    if (out.finish)
        watch->finish_wait_ms = out.wait_ms;
    return check_limits(watch) && !out.finish;
}

static bool read_lines(struct watch *watch, const char *bytes, size_t len)
{
    struct slice line;

    if (!lines_push(&watch->lines, bytes, len, &watch->failure))
        return false;
    while (lines_next(&watch->lines, &line))
        if (!on_line(watch, line))
            return false;
    return true;
}

/* Items of a typed list have neither kind nor apiVersion: the list has them. */
static void name_kind(const struct watch *watch, cJSON *item)
{
    AUTO(str) struct str version = {0};

    if (json_at(item, "kind") != NULL)
        return;
    kube_api_version_add(&version, watch->options.resource);
    json_put_str(item, "kind", watch->options.resource->kind);
    json_put_str(item, "apiVersion", str_text(&version));
}

static bool on_item(void *ctx, struct slice text, struct err *err)
{
    struct watch *watch = ctx;
    struct err bad = {0};
    AUTO(json) cJSON *item = json_parse(text, &bad);

    (void)err; /* one item that cannot be read must not hide the others */
    watch->counters.items++;
    watch->page_items++;
    watch->page_bytes += text.len;
    if (item == NULL) {
        skip_unreadable(watch, &bad);
        return true;
    }
    name_kind(watch, item);
    watch->counters.skipped += !store_put(watch->store, item, text.len);
    return check_limits(watch);
}

static bool on_bytes(void *ctx, const char *bytes, size_t len)
{
    struct watch *watch = ctx;

    watch->last_read_ms = loop_now_ms(watch->loop);
    if (watch->is_reading_page)
        return list_reader_feed(&watch->items, bytes, len, on_item, watch, &watch->failure);
    return read_lines(watch, bytes, len);
}

/* --- the end of a request --- */

static void forget_bytes(struct watch *watch)
{
    lines_release(&watch->lines);
    list_reader_release(&watch->items);
}

static void send_later(struct watch *watch, const struct watch_output *out)
{
    loop_timer_start(watch->loop, &watch->timer, out->wait_ms, send);
}

static void on_closed(struct watch *watch, const struct err *err, int64_t retry_after_ms)
{
    struct watch_input input = input_of(watch, WATCH_INPUT_CLOSED);
    struct watch_output out;

    input.err = err;
    input.retry_after_ms = retry_after_ms;
    step(watch, &input, &out);
    send_later(watch, &out);
}

static void on_page_end(struct watch *watch, struct err *err)
{
    AUTO(json) cJSON *envelope = list_reader_end(&watch->items, err);
    struct watch_input input = input_of(watch, WATCH_INPUT_PAGE);
    struct watch_output out;

    if (envelope == NULL) {
        on_closed(watch, err, -1);
        return;
    }
    input.object = envelope;
    input.items = watch->page_items;
    input.bytes = watch->page_bytes;
    step(watch, &input, &out);
    send_later(watch, &out);
}

static void on_end(void *ctx, const struct err *err, int64_t retry_after_ms)
{
    struct watch *watch = ctx;
    struct err failure = watch->failure.kind != ERR_NONE ? watch->failure : *err;

    watch->stream = NULL;
    if (watch->is_full)
        watch->options.on_full(watch->options.ctx, &failure);
    else if (watch->finish_wait_ms >= 0)
        loop_timer_start(watch->loop, &watch->timer, watch->finish_wait_ms, send);
    else if (failure.kind == ERR_NONE && watch->is_reading_page)
        on_page_end(watch, &failure);
    else
        on_closed(watch, &failure, retry_after_ms);
    forget_bytes(watch);
}

static int64_t silence_limit_ms(const struct watch *watch)
{
    return watch->state.phase == WATCH_STREAM_LIST ? LIST_SILENCE_MS : watch->options.idle_timeout_ms;
}

static void on_idle_timeout(struct loop_timer *timer)
{
    struct watch *watch = CONTAINER_OF(timer, struct watch, timer);
    int64_t left_ms = watch->last_read_ms + silence_limit_ms(watch) - loop_now_ms(watch->loop);
    struct watch_input input = input_of(watch, WATCH_INPUT_IDLE);
    struct watch_output out;

    if (left_ms > 0) {
        loop_timer_start(watch->loop, &watch->timer, left_ms, on_idle_timeout);
        return;
    }
    watch->counters.silent++;
    stream_close(TAKE(watch->stream));
    forget_bytes(watch);
    step(watch, &input, &out);
    send_later(watch, &out);
}

static void on_settled(struct loop_timer *timer)
{
    struct watch *watch = CONTAINER_OF(timer, struct watch, timer);
    struct watch_input input = input_of(watch, WATCH_INPUT_SETTLED);
    struct watch_output out;

    step(watch, &input, &out);
    on_idle_timeout(timer);
}

static void on_head(void *ctx)
{
    struct watch *watch = ctx;

    if (watch->trouble_since_ms >= 0 && silence_limit_ms(watch) > SETTLED_MS)
        loop_timer_start(watch->loop, &watch->timer, SETTLED_MS, on_settled);
}

/* --- sending --- */

static void send(struct loop_timer *timer)
{
    struct watch *watch = CONTAINER_OF(timer, struct watch, timer);
    AUTO(strv) struct strv query = {0};
    struct watch_input input = input_of(watch, WATCH_INPUT_SEND);
    struct watch_output out;

    step(watch, &input, &out);
    watch_query(&watch->state, watch->label_selector, watch->field_selector, loop_random_u32(), &query);
    watch->is_reading_page = watch->state.phase == WATCH_PAGES;
    watch->counters.pages += watch->is_reading_page;
    watch->counters.streams += !watch->is_reading_page;
    lines_init(&watch->lines, JSON_MAX_BYTES);
    list_reader_init(&watch->items, JSON_MAX_BYTES);
    watch->last_read_ms = loop_now_ms(watch->loop);
    watch->page_items = watch->page_bytes = 0;
    watch->failure = (struct err){0};
    watch->finish_wait_ms = -1;
    watch->stream = stream_open(watch->kube, &(struct stream_request){
                                                 .resource = watch->options.resource,
                                                 .ns = watch->ns,
                                                 .query = &query,
                                                 .is_watch = !watch->is_reading_page,
                                                 .timeout_ms = watch_timeout_ms(&watch->state),
                                                 .on_head = on_head,
                                                 .on_bytes = on_bytes,
                                                 .on_end = on_end,
                                                 .ctx = watch,
                                             });
    loop_timer_start(watch->loop, &watch->timer, silence_limit_ms(watch), on_idle_timeout);
}

/* --- life --- */

struct watch *watch_new(struct kube *kube, const struct watch_options *options)
{
    struct watch *watch = NEW(struct watch);

    watch->kube = kube;
    watch->loop = kube_loop(kube);
    watch->options = *options;
    if (watch->options.idle_timeout_ms == 0)
        watch->options.idle_timeout_ms = SILENCE_MS;
    watch->ns = mem_strdup(options->ns);
    watch->label_selector = mem_strdup(options->label_selector);
    watch->field_selector = mem_strdup(options->field_selector);
    watch->trouble_since_ms = -1;
    watch->store = store_new(&(struct store_options){
        .view = options->view,
        .view_free = options->view_free,
        .index_key = options->index_key,
        .on_change = options->on_change,
        .ctx = options->ctx,
    });
    watch_state_init(&watch->state, options->resource->kind);
    loop_timer_start(watch->loop, &watch->timer, 0, send);
    return watch;
}

void watch_free(struct watch *watch)
{
    if (watch == NULL)
        return;
    loop_timer_stop(&watch->timer);
    stream_close(TAKE(watch->stream));
    forget_bytes(watch);
    watch_state_release(&watch->state);
    store_free(watch->store);
    mem_free(watch->ns);
    mem_free(watch->label_selector);
    mem_free(watch->field_selector);
    mem_free(watch);
}

bool watch_is_synced(const struct watch *watch)
{
    return watch->state.is_listed;
}

const char *watch_resource(const struct watch *watch)
{
    return watch->options.resource->plural;
}

const struct store *watch_store(const struct watch *watch)
{
    return watch->store;
}

bool watch_can_compare(const char *resource_version)
{
    return resource_version[0] != '\0' && resource_version[strspn(resource_version, "0123456789")] == '\0';
}

bool watch_has_passed(const struct watch *watch, const char *resource_version)
{
    const char *position = watch->state.position;
    size_t have = position != NULL ? strlen(position) : 0, want = strlen(resource_version);

    if (position == NULL || !watch_can_compare(position) || !watch_can_compare(resource_version))
        return false;
    return have != want ? have > want : strcmp(position, resource_version) >= 0;
}

const struct err *watch_trouble(const struct watch *watch, int64_t *ret_since_ms)
{
    if (watch->trouble_since_ms < 0)
        return NULL;
    *ret_since_ms = watch->trouble_since_ms;
    return &watch->state.trouble;
}

const struct watch_counters *watch_counters(const struct watch *watch)
{
    return &watch->counters;
}
