#include "operator/vipucontroller/controller_objects.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/api/names.h"
#include "operator/kube/client/client.h"
#include "operator/kube/watch/watch.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/queue/namespace_shares.h"
#include "operator/vipucontroller/controller_facts.h"
#include "operator/vipucontroller/controller_name.h"
#include "operator/vipucontroller/controller_starts.h"
#include "operator/vipucontroller/merge_patch.h"

/* At most one write for each object in this time, and none if its status is as it should be. */
#define WRITE_MS 2000
/* After a rejection, such as one for a missing permission. */
#define REJECTED_MS 60000

struct object {
    char *name, *uid;
    char *operator_ns; /* of the operator that has created it; NULL: a person has */
    char *cordon;
    cJSON *status;
};

struct controller_objects {
    struct loop *loop;
    struct kube *kube;
    struct reconciler *reconciler;
    struct controller_objects_options options;
    struct strv names; /* in the order of the configuration */
    struct watch *watch;
    struct controller_starts *starts;
    struct loop_timer timer;
    struct map writes;     /* name -> struct write, in flight */
    int64_t write_from_ms; /* not before: a write was rejected */
};

struct write {
    struct controller_objects *objects;
    char *name;
    struct kube_call *call;
};

/* ---- what is there ---- */

static void free_object(void *view)
{
    struct object *object = view;

    mem_free(object->name);
    mem_free(object->uid);
    mem_free(object->operator_ns);
    mem_free(object->cordon);
    cJSON_Delete(object->status);
    mem_free(object);
}

static char *annotation(const cJSON *item, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json_at(item, "metadata/annotations"), key);

    return cJSON_IsString(value) ? mem_strdup(value->valuestring) : NULL;
}

static bool view_object(void *ctx, const cJSON *item, void **ret)
{
    struct object *object = NEW(struct object);
    const cJSON *status = json_at(item, "status");

    (void)ctx;
    object->name = mem_strdup(json_str(item, "metadata/name", ""));
    object->uid = mem_strdup(json_str(item, "metadata/uid", ""));
    object->operator_ns = annotation(item, ANNOTATION_OPERATOR);
    object->cordon = annotation(item, ANNOTATION_CORDON);
    object->status = status ? json_dup(status) : NULL;
    *ret = object;
    return true;
}

static const char *cordon_of(const struct object *object)
{
    return object && object->cordon ? object->cordon : "";
}

static int find_controller(const struct controller_objects *o, const char *name)
{
    for (size_t i = 0; i < o->names.count; i++) {
        if (str_eq(o->names.items[i], name))
            return (int)i;
    }
    return -1;
}

static void on_change(void *ctx, const struct store_change *change)
{
    struct controller_objects *o = ctx;
    int index = find_controller(o, change->key);
    const char *text = cordon_of(change->new);

    if (index < 0 || str_eq(text, cordon_of(change->old)))
        return;
    AUTO(cordon) struct cordon cordon = {0};

    cordon_parse(text, &cordon);
    log_info("cordon of V-IPU controller changed",
             KV("controller", o->options.controllers->items[index].name), KV("cordon", text));
    reconciler_set_cordon(o->reconciler, (size_t)index, &cordon);
}

/* ---- writes ---- */

static void on_written(void *ctx, struct kube_response *res)
{
    struct write *write = ctx;
    struct controller_objects *o = write->objects;

    /* Without a response, the watch reports the trouble. 404 and 409: it was removed or created meanwhile,
     * and the watch will show that. */
    if (res->http_status >= 400 && res->http_status != 404 && res->http_status != 409) {
        o->write_from_ms = loop_now_ms(o->loop) + REJECTED_MS;
        log_warn("cannot write VIPUController", KV("name", write->name),
                 KV("cause", res->message[0] ? res->message : res->err.msg));
    }
    map_remove(&o->writes, write->name);
    mem_free(write->name);
    mem_free(write);
}

static void send(struct controller_objects *o, const char *name, const struct kube_request *request)
{
    struct write *write = NEW(struct write);

    write->objects = o;
    write->name = mem_strdup(name);
    map_set(&o->writes, name, write);
    write->call = kube_send(o->kube, request, on_written, write);
}

static void create(struct controller_objects *o, const char *name)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata;

    json_put_str(body, "apiVersion", API_GROUP_VERSION);
    json_put_str(body, "kind", KUBE_VIPU_CONTROLLERS.kind);
    metadata = json_put_object(body, "metadata");
    json_put_str(metadata, "name", name);
    json_put_str(json_put_object(metadata, "annotations"), ANNOTATION_OPERATOR, o->options.operator_ns);
    send(o, name,
         &(struct kube_request){
             .method = "POST", .resource = &KUBE_VIPU_CONTROLLERS, .body = body, .retry_post = true});
}

static void remove_object(struct controller_objects *o, const struct object *object)
{
    AUTO(json) cJSON *body = json_object();

    json_put_str(json_put_object(body, "preconditions"), "uid", object->uid);
    send(o, object->name,
         &(struct kube_request){
             .method = "DELETE", .resource = &KUBE_VIPU_CONTROLLERS, .name = object->name, .body = body});
}

static void write_status(struct controller_objects *o, const struct object *object,
                         const struct controller_facts *facts)
{
    AUTO(json)
    cJSON *status =
        controller_status(facts, &o->options.publication, object->status, loop_unix_micros() / 1000000);
    cJSON *patch = merge_patch(object->status, status);
    AUTO(json) cJSON *body = json_object();

    if (!patch)
        return;
    json_put_str(json_put_object(body, "metadata"), "uid", object->uid);
    json_put_take(body, "status", patch);
    send(o, object->name,
         &(struct kube_request){.method = "PATCH",
                                .resource = &KUBE_VIPU_CONTROLLERS,
                                .name = object->name,
                                .sub = "status",
                                .body = body,
                                .content_type = KUBE_MERGE_PATCH});
}

static void update_configured(struct controller_objects *o, size_t index, const struct share_list *shares)
{
    const char *name = o->names.items[index];
    const struct object *object = store_view(watch_store(o->watch), NULL, name);
    AUTO(controller_report) struct controller_report report = {0};

    if (map_get(&o->writes, name))
        return;
    if (!object) {
        create(o, name);
        return;
    }
    if (object->status && !reconciler_knows_queue(o->reconciler))
        return; /* what the previous leader knew stays until this one knows it */
    controller_report_read(o->reconciler, index, &report);
    if (object->status && !report.facts.is_known && !report.facts.trouble)
        return; /* nor has the controller answered yet */
    report.facts.starts = controller_starts_of(o->starts, index, &report.facts.start_count);
    report.facts.shares = shares;
    write_status(o, object, &report.facts);
}

static bool is_ours(const struct controller_objects *o, const struct object *object)
{
    return str_eq(object->operator_ns, o->options.operator_ns);
}

/* No controller of the configuration: one of an earlier configuration, or a person's. */
static void update_stray(struct controller_objects *o, const struct object *object)
{
    if (find_controller(o, object->name) >= 0 || map_get(&o->writes, object->name))
        return;
    if (is_ours(o, object))
        remove_object(o, object);
    else if (!object->operator_ns)
        write_status(o, object, &(struct controller_facts){0});
}

static void update(struct controller_objects *o)
{
    AUTO(share_list) struct share_list shares = {0};

    namespace_shares_read(o->reconciler, &shares);
    for (size_t i = 0; i < o->names.count; i++)
        update_configured(o, i, &shares);
    for (const struct store_item *i = store_first(watch_store(o->watch)); i; i = store_next(i))
        update_stray(o, i->view);
}

/* ---- life ---- */

/* Without the definition, or without permission to read, nobody can have cordoned anything. */
static bool is_unavailable(const struct controller_objects *o)
{
    const struct err *trouble = watch_trouble(o->watch, &(int64_t){0});

    return trouble && (trouble->kind == ERR_NOT_FOUND || trouble->kind == ERR_DENIED);
}

static void on_timer(struct loop_timer *timer)
{
    struct controller_objects *o = CONTAINER_OF(timer, struct controller_objects, timer);

    if (watch_is_synced(o->watch) && reconciler_is_synced(o->reconciler) &&
        loop_now_ms(o->loop) >= o->write_from_ms)
        update(o);
    if (is_unavailable(o))
        reconciler_cordons_known(o->reconciler);
    loop_timer_start(o->loop, &o->timer, WRITE_MS, on_timer);
}

static void on_synced(void *ctx)
{
    struct controller_objects *o = ctx;

    reconciler_cordons_known(o->reconciler);
    loop_timer_start(o->loop, &o->timer, 0, on_timer);
}

struct controller_objects *controller_objects_new(struct loop *loop, struct kube *kube,
                                                  struct reconciler *reconciler,
                                                  const struct controller_objects_options *options)
{
    struct controller_objects *o = NEW(struct controller_objects);

    o->loop = loop;
    o->kube = kube;
    o->reconciler = reconciler;
    o->options = *options;
    for (size_t i = 0; i < options->controllers->count; i++)
        strv_push_take(&o->names,
                       controller_name(options->controllers, i, options->publication.hides_address));
    o->watch = watch_new(kube, &(struct watch_options){.resource = &KUBE_VIPU_CONTROLLERS,
                                                       .view = view_object,
                                                       .view_free = free_object,
                                                       .on_change = on_change,
                                                       .on_synced = on_synced,
                                                       .ctx = o});
    o->starts = controller_starts_new(loop, reconciler);
    loop_timer_start(loop, &o->timer, WRITE_MS, on_timer);
    return o;
}

void controller_objects_free(struct controller_objects *o)
{
    void *value;

    if (!o)
        return;
    loop_timer_stop(&o->timer);
    for (size_t i = 0; map_next(&o->writes, &i, NULL, &value);) {
        struct write *write = value;

        kube_cancel(write->call);
        mem_free(write->name);
        mem_free(write);
    }
    map_release(&o->writes);
    watch_free(o->watch);
    controller_starts_free(o->starts);
    strv_release(&o->names);
    mem_free(o);
}
