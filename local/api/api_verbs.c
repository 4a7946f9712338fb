/* One request, one answer: get, create, patch, delete. */
#include <stdarg.h>
#include <string.h>

#include "local/api/api.h"
#include "base/core/mem.h"
#include "base/io/loop.h"

void api_reject(struct api_answer *ret, int status, const char *reason, const char *fmt, ...)
{
    AUTO(json) cJSON *body = json_object();
    AUTO(mem) char *message = NULL;
    va_list args;

    va_start(args, fmt);
    message = mem_vprintf(fmt, args);
    va_end(args);
    json_put_str(body, "kind", "Status");
    json_put_str(body, "apiVersion", "v1");
    json_put_str(body, "status", "Failure");
    json_put_str(body, "message", message);
    json_put_str(body, "reason", reason);
    json_put_i64(body, "code", status);
    mem_free(ret->body);
    *ret = (struct api_answer){.status = status, .body = json_print(body), .retry_after_ms = -1};
}

static void answer_with(struct api_answer *ret, int status, const cJSON *doc)
{
    *ret = (struct api_answer){.status = status, .body = json_print(doc), .retry_after_ms = -1};
}

/* Printed when it was changed last, as a rule right now. */
static void answer_with_object(const struct api *api, struct api_answer *ret, int status,
                               const struct api_object *object)
{
    const struct api_change *last = api->history_count ? &api->history[api->history_count - 1] : NULL;

    if (last && last->version == object->version)
        *ret = (struct api_answer){.status = status, .body = mem_strdup(last->text), .retry_after_ms = -1};
    else
        answer_with(ret, status, object->doc);
}

static void not_found(struct api_answer *ret, const struct api_target *target)
{
    api_reject(ret, 404, "NotFound", "%s \"%s\" not found", target->kind->plural, target->name);
}

static void note_write(struct api *api, const struct api_kind *kind, bool has_effect)
{
    if (str_eq(kind->plural, "leases") || str_eq(kind->plural, "events"))
        return;
    api->writes += has_effect;
    api->idle_writes += !has_effect;
}

/* ---- preconditions ---- */

static bool meets(const struct api_object *object, const char *uid, const char *version,
                  struct api_answer *ret)
{
    const char *now = json_str(object->doc, "metadata/resourceVersion", "");

    if (uid && !str_eq(uid, object->uid)) {
        api_reject(
            ret, 409, "Conflict",
            "Operation cannot be fulfilled on %s \"%s\": Precondition failed: UID in precondition: %s, "
            "UID in object meta: %s",
            object->kind->plural, object->name, uid, object->uid);
        return false;
    }
    if (version && !str_eq(version, now)) {
        api_reject(
            ret, 409, "Conflict",
            "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please apply your "
            "changes to the latest version and try again",
            object->kind->plural, object->name);
        return false;
    }
    return true;
}

/* ---- create ---- */

static bool is_dry_run(const struct api_target *target)
{
    return str_eq(api_target_query(target, "dryRun"), "All");
}

static bool is_pod(const struct api_kind *kind)
{
    return str_eq(kind->plural, "pods");
}

static unsigned count_pods(struct api *api)
{
    unsigned count = 0;
    void *value;

    for (size_t i = 0; map_next(api_objects(api, "pods"), &i, NULL, &value);) {
        const char *phase = json_str(((struct api_object *)value)->doc, "status/phase", "");

        count += !str_eq(phase, "Succeeded") && !str_eq(phase, "Failed");
    }
    return count;
}

static bool exceeds_quota(struct api *api, const struct api_target *target, const cJSON *pod,
                          struct api_answer *ret)
{
    if (!api->pods_max || !is_pod(target->kind) || count_pods(api) < api->pods_max)
        return false;
    api_reject(ret, 403, "Forbidden",
               "pods \"%s\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=%u, limited: "
               "pods=%u",
               json_str(pod, "metadata/name", ""), count_pods(api), api->pods_max);
    if (api->on_pod_rejected)
        api->on_pod_rejected(api->hook_ctx, pod);
    return true;
}

/* What the real one's admission writes into each pod. */
static bool put_priority(struct api *api, const struct api_target *target, cJSON *pod, struct api_answer *ret)
{
    const char *name = json_str(pod, "spec/priorityClassName", NULL);
    const struct api_object *class = name ? api_find(api, "priorityclasses", NULL, name) : NULL;

    if (!is_pod(target->kind))
        return true;
    if (name && !class) {
        api_reject(ret, 403, "Forbidden", "pods \"%s\" is forbidden: no PriorityClass with name %s was found",
                   json_str(pod, "metadata/name", ""), name);
        return false;
    }
    json_put_i64(json_at_mut(pod, "spec"), "priority", class ? json_i64(class->doc, "value", 0) : 0);
    json_put_str(json_at_mut(pod, "spec"), "preemptionPolicy",
                 json_str(class ? class->doc : NULL, "preemptionPolicy", "PreemptLowerPriority"));
    return true;
}

static void choose_name(cJSON *metadata)
{
    const char *prefix = json_str(metadata, "generateName", NULL);

    if (prefix && !json_str(metadata, "name", NULL))
        json_put_strf(metadata, "name", "%s%05x", prefix, loop_random_u32() & 0xfffffu);
}

static bool exists(const struct api *api, const struct api_target *target, const char *name,
                   struct api_answer *ret)
{
    if (!api_find(api, target->kind->plural, target->ns, name))
        return false;
    api_reject(ret, 409, "AlreadyExists", "%s \"%s\" already exists", target->kind->plural, name);
    return true;
}

static void create_named(struct api *api, const struct api_target *target, cJSON *doc, struct api_answer *ret)
{
    if (exists(api, target, json_str(doc, "metadata/name", ""), ret)) {
        if (!is_dry_run(target))
            note_write(api, target->kind, false);
        return;
    }
    if (!put_priority(api, target, doc, ret) || exceeds_quota(api, target, doc, ret))
        return;
    if (target->ns)
        json_put_str(json_at_mut(doc, "metadata"), "namespace", target->ns);
    if (is_dry_run(target)) {
        api_set_defaults(target->kind, doc);
        answer_with(ret, 201, doc);
        return;
    }
    const struct api_object *object = api_create(api, target->kind->plural, json_dup(doc));

    note_write(api, target->kind, true);
    answer_with_object(api, ret, 201, object);
}

static void create(struct api *api, const struct api_target *target, const cJSON *body,
                   struct api_answer *ret)
{
    AUTO(json) cJSON *doc = json_dup(body);

    choose_name(json_at_mut(doc, "metadata"));
    if (json_str(doc, "metadata/name", NULL) && str_eq(json_str(doc, "kind", ""), target->kind->kind))
        create_named(api, target, doc, ret);
    else
        api_reject(ret, 400, "BadRequest", "the body is no %s with a name", target->kind->kind);
}

/* ---- patch ---- */

/* RFC 7386. */
static void merge(cJSON *into, const cJSON *patch)
{
    JSON_EACH (member, patch) {
        cJSON *old = cJSON_GetObjectItemCaseSensitive(into, member->string);

        if (cJSON_IsNull(member)) {
            cJSON_DeleteItemFromObjectCaseSensitive(into, member->string);
        } else if (cJSON_IsObject(member)) {
            if (!cJSON_IsObject(old))
                old = json_put_take(into, member->string, json_object());
            merge(old, member);
        } else {
            json_put_take(into, member->string, json_dup(member));
        }
    }
}

/* What a request may not change stays as it was. */
static void keep(cJSON *into, const cJSON *from, const char *key)
{
    const cJSON *old = cJSON_GetObjectItemCaseSensitive(from, key);

    cJSON_DeleteItemFromObjectCaseSensitive(into, key);
    if (old)
        json_put_take(into, key, json_dup(old));
}

static const char *const SERVERS_OWN[] = {"uid",
                                          "name",
                                          "namespace",
                                          "resourceVersion",
                                          "generation",
                                          "creationTimestamp",
                                          "deletionTimestamp",
                                          "deletionGracePeriodSeconds"};

/* Go leaves out what is empty. */
static void drop_empty(cJSON *metadata)
{
    static const char *const keys[] = {"labels", "annotations", "finalizers", "ownerReferences"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const cJSON *member = cJSON_GetObjectItemCaseSensitive(metadata, keys[i]);

        if (member && !member->child)
            json_drop(metadata, keys[i]);
    }
}

static cJSON *merged(const struct api_object *object, const struct api_target *target, const cJSON *patch)
{
    bool is_status = str_eq(target->sub, "status");
    cJSON *doc = json_dup(object->doc);
    cJSON *metadata;

    merge(doc, patch);
    metadata = json_at_mut(doc, "metadata");
    for (size_t i = 0; i < COUNT_OF(SERVERS_OWN); i++)
        keep(metadata, json_at(object->doc, "metadata"), SERVERS_OWN[i]);
    drop_empty(metadata);
    if (is_status) {
        keep(doc, object->doc, "spec");
        keep(doc, object->doc, "metadata");
    } else if (object->kind->has_status) {
        keep(doc, object->doc, "status");
    }
    return doc;
}

static bool adds_finalizer(const cJSON *before, const cJSON *after)
{
    JSON_EACH (finalizer, json_at(after, "metadata/finalizers")) {
        bool was_there = false;

        JSON_EACH (old, json_at(before, "metadata/finalizers"))
            was_there = was_there || str_eq(cJSON_GetStringValue(old), cJSON_GetStringValue(finalizer));
        if (!was_there)
            return true;
    }
    return false;
}

static void replace_doc(struct api_object *object, cJSON *doc_take)
{
    cJSON_Delete(object->doc);
    object->doc = doc_take;
}

/* A status update changes only the version in the metadata; elsewhere a different uid is an error. */
static bool keeps_uid(const struct api_object *object, const struct api_target *target, const cJSON *body,
                      struct api_answer *ret)
{
    const char *uid = json_str(body, "metadata/uid", object->uid);

    if (str_eq(target->sub, "status") || str_eq(uid, object->uid))
        return true;
    api_reject(ret, 422, "Invalid",
               "%s \"%s\" is invalid: metadata.uid: Invalid value: \"%s\": field is immutable",
               target->kind->kind, object->name, uid);
    return false;
}

/* kubernetes/kubernetes, pkg/apis/core/validation/validation.go, ValidatePodUpdate: a deadline may be set and
 * lowered, and hardly anything else may change. */
static bool keeps_pod_spec(const struct api_object *object, const cJSON *doc, struct api_answer *ret)
{
    const cJSON *old = json_at(object->doc, "spec/activeDeadlineSeconds");
    const cJSON *new = json_at(doc, "spec/activeDeadlineSeconds");
    AUTO(json) cJSON *spec = json_dup(json_at(doc, "spec"));
    const char *problem = NULL;

    if (!is_pod(object->kind))
        return true;
    keep(spec, json_at(object->doc, "spec"), "activeDeadlineSeconds");
    if (old && !new)
        problem = "must not update from a positive integer to nil value";
    else if (new && (new->valuedouble < 0 || new->valuedouble > INT32_MAX))
        problem = "must be between 0 and 2147483647, inclusive";
    else if (old && new->valuedouble > old->valuedouble)
        problem = "must be less than or equal to previous value";
    else if (!json_equal(spec, json_at(object->doc, "spec")))
        problem = "pod updates may not change other fields";
    if (problem)
        api_reject(ret, 422, "Invalid", "Pod \"%s\" is invalid: spec: %s", object->name, problem);
    return !problem;
}

static void patch(struct api *api, const struct api_target *target, const cJSON *body, struct api_answer *ret)
{
    struct api_object *object = api_find(api, target->kind->plural, target->ns, target->name);
    bool is_deleting;
    cJSON *doc;

    if (!object) {
        not_found(ret, target);
        note_write(api, target->kind, false);
        return;
    }
    if (!meets(object, NULL, json_str(body, "metadata/resourceVersion", NULL), ret) ||
        !keeps_uid(object, target, body, ret)) {
        note_write(api, target->kind, false);
        return;
    }
    is_deleting = json_at(object->doc, "metadata/deletionTimestamp") != NULL;
    doc = merged(object, target, body);
    if (is_deleting && adds_finalizer(object->doc, doc)) {
        cJSON_Delete(doc);
        api_reject(
            ret, 422, "Invalid",
            "%s \"%s\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the "
            "object is being deleted",
            target->kind->kind, target->name);
        return;
    }
    if (!keeps_pod_spec(object, doc, ret)) {
        cJSON_Delete(doc);
        note_write(api, target->kind, false);
        return;
    }
    if (json_equal(doc, object->doc)) {
        cJSON_Delete(doc);
        note_write(api, target->kind, false);
        api->empty_patches++;
        answer_with(ret, 200, object->doc);
        return;
    }
    if (object->kind->has_generation && !json_equal(json_at(doc, "spec"), json_at(object->doc, "spec")))
        json_put_i64(json_at_mut(doc, "metadata"), "generation",
                     json_i64(object->doc, "metadata/generation", 0) + 1);
    note_write(api, target->kind, true);
    if (is_deleting && !(json_at(doc, "metadata/finalizers") && json_at(doc, "metadata/finalizers")->child)) {
        /* Removed in place of being written, so that watches show what it was before (deleteWithoutFinalizers
         * in k8s.io/apiserver, pkg/registry/generic/registry/store.go). */
        answer_with(ret, 200, doc);
        cJSON_Delete(doc);
        api_remove(api, object);
        return;
    }
    replace_doc(object, doc);
    api_changed(api, object);
    answer_with_object(api, ret, 200, object);
}

/* ---- delete ---- */

static void delete_one(struct api *api, const struct api_target *target, const cJSON *body,
                       struct api_answer *ret)
{
    struct api_object *object = api_find(api, target->kind->plural, target->ns, target->name);

    if (!object) {
        not_found(ret, target);
        note_write(api, target->kind, false);
        return;
    }
    if (!meets(object, json_str(body, "preconditions/uid", NULL),
               json_str(body, "preconditions/resourceVersion", NULL), ret)) {
        note_write(api, target->kind, false);
        return;
    }
    answer_with(ret, 200, object->doc);
    note_write(api, target->kind, true);
    api_delete(api, object, json_i64(body, "gracePeriodSeconds", -1));
}

/* ---- all of them ---- */

static void get(struct api *api, const struct api_target *target, struct api_answer *ret)
{
    const struct api_object *object;

    if (!target->name) {
        api_list(api, target, ret);
        return;
    }
    object = api_find(api, target->kind->plural, target->ns, target->name);
    if (object)
        answer_with(ret, 200, object->doc);
    else
        not_found(ret, target);
}

static bool is_mergeable(const struct api_request *request)
{
    return str_eq(request->content_type, "application/merge-patch+json");
}

static bool is_forbidden(const struct api *api, const struct api_request *request,
                         const struct api_target *target)
{
    return !str_eq(request->method, "GET") && str_eq(api->rejection.plural, target->kind->plural) &&
           loop_now_ms(api->loop) < api->rejection.until_ms &&
           !(api->rejection.spares_dry_runs && is_dry_run(target));
}

/* As a LimitRange, a ValidatingAdmissionPolicy, and an API server that cannot reach a webhook word it. */
static void forbid(const struct api *api, const struct api_target *target, struct api_answer *ret)
{
    const char *plural = target->kind->plural;

    if (api->rejection.code == 403)
        api_reject(ret, 403, "Forbidden", "%s \"x\" is forbidden: no more than so much", plural);
    else if (api->rejection.code == 422)
        api_reject(ret, 422, "Invalid",
                   "%s \"x\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'x' denied request: no",
                   plural);
    else
        api_reject(ret, 500, "InternalError",
                   "Internal error occurred: failed calling webhook \"x.io\": rejected");
}

void api_answer(struct api *api, const struct api_request *request, struct api_answer *ret)
{
    struct api_target target;
    struct err err = {0};
    AUTO(json) cJSON *body = request->body.len ? json_parse(request->body, &err) : NULL;

    *ret = (struct api_answer){.retry_after_ms = -1};
    if (!api_target_read(request->url, &target)) {
        api_reject(ret, 404, "NotFound", "the server could not find the requested resource: %s",
                   request->url);
        return;
    }
    if (is_forbidden(api, request, &target))
        forbid(api, &target, ret);
    else if (request->body.len && !body)
        api_reject(ret, 400, "BadRequest", "%s", err.msg);
    else if (str_eq(request->method, "GET"))
        get(api, &target, ret);
    else if (str_eq(request->method, "POST") && !target.name)
        create(api, &target, body, ret);
    else if (str_eq(request->method, "PATCH") && target.name && is_mergeable(request))
        patch(api, &target, body, ret);
    else if (str_eq(request->method, "DELETE") && target.name)
        delete_one(api, &target, body, ret);
    else
        api_reject(ret, 415, "UnsupportedMediaType",
                   "the simulated API server does not know %s %s of type %s", request->method, request->url,
                   request->content_type ? request->content_type : "none");
    api_target_release(&target);
}
