/* Watches: what of history a reader has not had yet, one line each. */
#include <string.h>

#include "local/api/api.h"
#include "base/core/mem.h"
#include "base/io/loop.h"

/* As the real server does: one a minute, and one before the end. */
#define BOOKMARK_MS 60000
#define BEFORE_END_MS 2000

struct api_watch {
    struct api *api;
    struct api_watch *prev, *next;
    struct api_target target;
    uint64_t position; /* sent up to here */
    api_bytes_fn fn;
    void *ctx;
    struct loop_timer bookmark, end;
    int64_t end_ms;
};

static void say(struct api_watch *watch, const char *type, const char *object)
{
    AUTO(str) struct str line = {0};

    str_addf(&line, "{\"type\":\"%s\",\"object\":", type);
    str_adds(&line, object); /* long texts take their time through a format */
    str_adds(&line, "}\n");
    watch->fn(watch->ctx, str_text(&line), line.len);
}

static void say_bookmark(struct api_watch *watch, bool ends_list)
{
    const struct api_kind *kind = watch->target.kind;
    AUTO(mem)
    char *object = mem_printf("{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%"
                              "llu\",\"creationTimestamp\":null%s}}",
                              kind->kind, (unsigned long long)watch->position,
                              ends_list ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");

    say(watch, "BOOKMARK", object);
}

static bool concerns(const struct api_watch *watch, const struct api_change *change)
{
    return change->kind == watch->target.kind &&
           (!watch->target.ns || str_eq(watch->target.ns, change->ns)) &&
           api_selects(api_target_query(&watch->target, "labelSelector"), change->labels);
}

static void tell(struct api_watch *watch)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
    struct api *api = watch->api;
    size_t from = api->history_count;

    while (from > 0 && api->history[from - 1].version > watch->position)
        from--;
    for (size_t i = from; i < api->history_count; i++) {
        const struct api_change *change = &api->history[i];

        watch->position = change->version;
        if (concerns(watch, change))
            say(watch, types[change->type], change->text);
    }
}

void api_watches_tell(struct api *api)
{
    for (struct api_watch *watch = api->watches, *next; watch; watch = next) {
        next = watch->next;
        tell(watch);
    }
}

static void on_bookmark(struct loop_timer *timer);

static void plan_bookmark(struct api_watch *watch)
{
    struct loop *loop = watch->api->loop;
    int64_t left_ms = watch->end_ms - BEFORE_END_MS - loop_now_ms(loop);

    if (left_ms > 0)
        loop_timer_start(loop, &watch->bookmark, left_ms < BOOKMARK_MS ? left_ms : BOOKMARK_MS, on_bookmark);
}

/* There are none of a kind that has not changed since the server started. */
static void on_bookmark(struct loop_timer *timer)
{
    struct api_watch *watch = CONTAINER_OF(timer, struct api_watch, bookmark);

    plan_bookmark(watch);
    if (!watch->api->has_changed[watch->target.kind - api_kinds])
        return;
    watch->position = watch->api->version;
    say_bookmark(watch, false);
}

static void on_end(struct loop_timer *timer)
{
    struct api_watch *watch = CONTAINER_OF(timer, struct api_watch, end);
    api_bytes_fn fn = watch->fn;
    void *fn_ctx = watch->ctx;

    api_watch_close(watch);
    fn(fn_ctx, NULL, 0);
}

static void say_initial(struct api_watch *watch)
{
    size_t count;
    AUTO(mem) struct api_object **found = api_select(watch->api, &watch->target, &count);

    watch->position = watch->api->version;
    for (size_t i = 0; i < count; i++) {
        AUTO(mem) char *text = json_print(found[i]->doc);

        say(watch, "ADDED", text);
    }
    say_bookmark(watch, true);
}

static bool reject(struct api_target *target, struct api_answer *ret, int status, const char *reason,
                   const char *why)
{
    *ret = (struct api_answer){0};
    api_reject(ret, status, reason, "%s", why);
    api_target_release(target);
    return false;
}

bool api_watch_open(struct api *api, const struct api_request *request, api_bytes_fn fn, void *ctx,
                    struct api_watch **ret_watch, struct api_answer *ret)
{
    struct api_target target;
    struct api_watch *watch;
    bool is_list;
    int64_t position = 0, seconds = 300;

    if (!api_target_read(request->url, &target))
        return reject(&target, ret, 404, "NotFound", "the server could not find the requested resource");
    is_list = str_eq(api_target_query(&target, "sendInitialEvents"), "true");
    if (is_list && api->no_stream_lists)
        return reject(
            &target, ret, 422, "Invalid",
            "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
    if (api_target_query(&target, "resourceVersion"))
        parse_i64(api_target_query(&target, "resourceVersion"), 0, INT64_MAX, &position);
    if (api_target_query(&target, "timeoutSeconds"))
        parse_i64(api_target_query(&target, "timeoutSeconds"), 1, 3600, &seconds);
    if (!is_list && (uint64_t)position < api->expired)
        return reject(&target, ret, 410, "Expired", "too old resource version");
    watch = NEW(struct api_watch);
    *watch = (struct api_watch){.api = api,
                                .next = api->watches,
                                .target = target,
                                .position = (uint64_t)position,
                                .fn = fn,
                                .ctx = ctx};
    if (watch->next)
        watch->next->prev = watch;
    api->watches = watch;
    watch->end_ms = loop_now_ms(api->loop) + seconds * 1000;
    plan_bookmark(watch);
    loop_timer_start(api->loop, &watch->end, seconds * 1000, on_end);
    *ret_watch = watch;
    if (is_list)
        say_initial(watch);
    else
        tell(watch);
    return true;
}

void api_watch_close(struct api_watch *watch)
{
    struct api *api = watch->api;

    *(watch->prev ? &watch->prev->next : &api->watches) = watch->next;
    if (watch->next)
        watch->next->prev = watch->prev;
    loop_timer_stop(&watch->bookmark);
    loop_timer_stop(&watch->end);
    api_target_release(&watch->target);
    mem_free(watch);
}

void api_watches_release(struct api *api)
{
    while (api->watches)
        api_watch_close(api->watches);
}
