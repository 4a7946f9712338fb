#include "operator/history/history_object.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/history/history.h"
#include "operator/kube/client/client.h"

enum { TICK_MS = 1000, WRITE_EVERY_MS = 60 * 1000, RETRY_MS = 10 * 1000 };

struct history_object {
    struct kube *kube;
    struct history *history;
    const char *ns, *name;
    struct loop_timer tick;
    struct kube_call *call;
    bool is_read;
    char *uid, *resource_version; /* as read or written last; NULL: there is none */
    struct history_mark sent;
    int64_t read_from_ms, write_from_ms; /* not before */
};

static int64_t now_ms(const struct history_object *it)
{
    return loop_now_ms(kube_loop(it->kube));
}

static void note_version(struct history_object *it, const cJSON *object)
{
    mem_set_str(&it->uid, json_str(object, "metadata/uid", NULL));
    mem_set_str(&it->resource_version, json_str(object, "metadata/resourceVersion", NULL));
}

/* ---- reading ---- */

static void take(struct history_object *it, const cJSON *object)
{
    AUTO(mem) char *problem = history_read(it->history, json_at(object, "data"));

    it->is_read = true;
    note_version(it, object);
    if (problem)
        log_warn("ignoring a part of the history of run times", KV("configmap", it->name),
                 KV("cause", problem));
    log_info("history of run times read", KV("configmap", it->name),
             KVF("runs", "%u", history_run_count(it->history)));
}

static void on_read(void *ctx, struct kube_response *res)
{
    struct history_object *it = ctx;

    it->call = NULL;
    if (res->err.kind == ERR_NONE || res->err.kind == ERR_NOT_FOUND) {
        take(it, res->err.kind == ERR_NONE ? res->body : NULL);
        return;
    }
    log_warn("cannot read the history of run times", KV("configmap", it->name), KV("cause", res->err.msg));
    it->read_from_ms = now_ms(it) + RETRY_MS;
}

static void read_object(struct history_object *it)
{
    it->call = kube_send(
        it->kube,
        &(struct kube_request){.method = "GET", .resource = &KUBE_CONFIGMAPS, .ns = it->ns, .name = it->name},
        on_read, it);
}

/* ---- writing ---- */

static void on_written(void *ctx, struct kube_response *res)
{
    struct history_object *it = ctx;

    it->call = NULL;
    if (res->err.kind == ERR_NONE) {
        it->history->saved = it->sent;
        note_version(it, res->body);
        return;
    }
    log_warn("cannot write the history of run times", KV("configmap", it->name), KV("cause", res->err.msg));
    /* Another writer has changed, created or deleted it: nothing was written. Of a write without an answer
     * nobody knows; if it has taken effect, its runs will count twice. */
    if (res->err.kind == ERR_CONFLICT || res->err.kind == ERR_EXISTS || res->err.kind == ERR_NOT_FOUND) {
        it->is_read = false;
        it->write_from_ms = now_ms(it) + RETRY_MS;
    }
}

static void write_object(struct history_object *it)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");

    json_put_str(body, "apiVersion", "v1");
    json_put_str(body, "kind", KUBE_CONFIGMAPS.kind);
    json_put_str(metadata, "name", it->name);
    json_put_str(metadata, "uid", it->uid);
    json_put_str(metadata, "resourceVersion", it->resource_version);
    json_put_take(body, "data", history_print(it->history));
    it->sent = it->history->noted;
    it->write_from_ms = now_ms(it) + WRITE_EVERY_MS;
    it->call = kube_send(it->kube,
                         &(struct kube_request){.method = it->uid ? "PATCH" : "POST",
                                                .resource = &KUBE_CONFIGMAPS,
                                                .ns = it->ns,
                                                .name = it->uid ? it->name : NULL,
                                                .body = body,
                                                .content_type = it->uid ? KUBE_MERGE_PATCH : NULL},
                         on_written, it);
}

/* ---- life ---- */

static void on_tick(struct loop_timer *timer)
{
    struct history_object *it = CONTAINER_OF(timer, struct history_object, tick);

    if (!it->call && !it->is_read && now_ms(it) >= it->read_from_ms)
        read_object(it);
    else if (!it->call && it->is_read && !history_is_saved(it->history) && now_ms(it) >= it->write_from_ms)
        write_object(it);
    loop_timer_start(kube_loop(it->kube), &it->tick, TICK_MS, on_tick);
}

struct history_object *history_object_new(struct kube *kube, struct history *history, const char *ns,
                                          const char *name)
{
    struct history_object *it = NEW(struct history_object);

    *it = (struct history_object){.kube = kube, .history = history, .ns = ns, .name = name};
    loop_timer_start(kube_loop(kube), &it->tick, 0, on_tick);
    return it;
}

void history_object_free(struct history_object *it)
{
    if (!it)
        return;
    loop_timer_stop(&it->tick);
    kube_cancel(it->call);
    mem_free(it->uid);
    mem_free(it->resource_version);
    mem_free(it);
}
