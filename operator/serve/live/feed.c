#include "operator/serve/live/feed.h"

#include <string.h>

#include "base/core/visible.h"
#include "operator/api/names.h"

const char *const feed_kind_names[FEED_KINDS] = {"job", "controller", "pod", "event"};

bool feed_shows(enum feed_kind kind, const cJSON *object)
{
    const char *of = json_str(object, "regarding/kind", ""), *name = json_str(object, "regarding/name", "");

    if (kind != FEED_EVENT || str_eq(of, API_KIND))
        return true;
    return str_eq(of, "Pod") && (strstr(name, "-" ROLE_WORKER "-") || strstr(name, "-" ROLE_LAUNCHER));
}

static cJSON *message_of(const char *type)
{
    cJSON *message = json_object();

    json_put_str(message, "type", type);
    return message;
}

static char *print(cJSON *message)
{
    char *text = json_print(message);

    cJSON_Delete(message);
    return text;
}

static void put_visible(cJSON *message, const char *key, const char *text)
{
    AUTO(mem) char *shown = visible_new(text, VISIBLE_LINES);

    json_put_str(message, key, shown);
}

char *feed_hello(const char *ns, bool is_filtered, const char *user, int64_t clock_ahead_s)
{
    cJSON *message = message_of("hello");

    if (ns)
        json_put_str(message, "namespace", ns);
    else
        json_put_take(message, "namespace", cJSON_CreateNull());
    json_put_bool(message, "filtered", is_filtered);
    put_visible(message, "user", user);
    json_put_str(message, "version", IPU_OPERATOR_VERSION);
    json_put_i64(message, "clockAheadSeconds", clock_ahead_s);
    return print(message);
}

static void copy_members(cJSON *to, const cJSON *from, const char *const *keys)
{
    for (; *keys; keys++) {
        const cJSON *member = cJSON_GetObjectItemCaseSensitive(from, *keys);

        if (member)
            json_put_take(to, *keys, json_dup(member));
    }
}

static cJSON *pod_shown(const cJSON *pod)
{
    static const char *const metadata[] = {
        "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", NULL};
    static const char *const labels[] = {LABEL_JOB_NAME, LABEL_ROLE, LABEL_INSTANCE, LABEL_WORKER, NULL};
    static const char *const status[] = {"status", NULL};
    cJSON *shown = json_object(), *about = json_put_object(shown, "metadata");

    copy_members(about, json_at(pod, "metadata"), metadata);
    copy_members(json_put_object(about, "labels"), json_at(pod, "metadata/labels"), labels);
    json_put_str(json_put_object(shown, "spec"), "nodeName", json_str(pod, "spec/nodeName", NULL));
    copy_members(shown, pod, status);
    return shown;
}

/* Users can make more than a megabyte of each of these. */
static cJSON *object_shown(enum feed_kind kind, const cJSON *object)
{
    static const char *const metadata[] = {"managedFields", "annotations", "labels", "finalizers",
                                           "ownerReferences"};
    static const char *const templates[] = {"spec/workers/template", "spec/launcher/template"};
    cJSON *shown = json_dup(object);

    for (size_t i = 0; i < COUNT_OF(metadata); i++)
        json_drop(json_at_mut(shown, "metadata"), metadata[i]);
    for (size_t i = 0; kind == FEED_JOB && i < COUNT_OF(templates); i++) {
        json_drop(json_at_mut(shown, templates[i]), "metadata");
        json_drop(json_at_mut(shown, templates[i]), "spec");
    }
    return shown;
}

char *feed_put(enum feed_kind kind, const cJSON *object)
{
    const char *ns = json_str(object, "metadata/namespace", ""),
               *name = json_str(object, "metadata/name", "");
    cJSON *message = message_of("put");
    cJSON *shown = kind == FEED_POD ? pod_shown(object) : object_shown(kind, object);

    json_put_str(message, "kind", feed_kind_names[kind]);
    json_put_strf(message, "key", "%s%s%s", ns, *ns ? "/" : "", name);
    json_make_visible(shown, VISIBLE_LINES);
    json_put_take(message, "object", shown);
    return print(message);
}

char *feed_delete(enum feed_kind kind, const char *key)
{
    cJSON *message = message_of("delete");

    json_put_str(message, "kind", feed_kind_names[kind]);
    json_put_str(message, "key", key);
    return print(message);
}

char *feed_synced(void)
{
    return print(message_of("synced"));
}

char *feed_state(bool is_connected, const char *text)
{
    cJSON *message = message_of("state");

    json_put_bool(message, "connected", is_connected);
    put_visible(message, "message", text);
    return print(message);
}

char *feed_forbidden(const char *kind, const char *text)
{
    cJSON *message = message_of("state");

    json_put_str(message, "kind", kind);
    json_put_bool(message, "forbidden", true);
    put_visible(message, "message", text);
    return print(message);
}

char *feed_log(const char *job, const char *rank, int64_t attempt, cJSON *lines)
{
    cJSON *message = message_of("log");

    json_put_str(message, "job", job);
    json_put_str(message, "rank", rank);
    json_put_i64(message, "attempt", attempt);
    json_put_take(message, "lines", lines);
    return print(message);
}

char *feed_log_dropped(uint64_t lines)
{
    cJSON *message = message_of("log-dropped");

    json_put_i64(message, "lines", (int64_t)lines);
    return print(message);
}

char *feed_read_request(struct slice text)
{
    struct err err = {0};
    AUTO(json) cJSON *request = json_parse(text, &err);
    const cJSON *job = json_at(request, "job");

    if (!str_eq(json_str(request, "type", ""), "logs") || (!cJSON_IsNull(job) && !cJSON_IsString(job)))
        return NULL;
    return mem_strdup(json_str(request, "job", ""));
}
