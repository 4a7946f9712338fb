#include "operator/kube/events/event_body.h"

#include <string.h>

#include "base/core/fnv.h"
#include "base/text/timefmt.h"
#include "base/core/utf8.h"
#include "base/core/visible.h"

#define NAME_MAX_BYTES ((size_t)253)
#define HASH_BYTES ((size_t)17) /* with the dot */
#define REASON_MAX_BYTES ((size_t)128)

/* The end mark keeps "ab","c" apart from "a","bc". */
static uint64_t hash_on(uint64_t hash, const char *text)
{
    return fnv64_add(fnv64_add_bytes(hash, text, text ? strlen(text) : 0), 0xff);
}

char *event_name(const struct event *event, const struct events_options *reporter)
{
    const char *parts[] = {reporter->controller,  reporter->instance, event->regarding.uid,
                           event->regarding.name, event->type,        event->reason,
                           event->action,         event->note};
    uint64_t hash = FNV64_BASIS;

    for (size_t i = 0; i < COUNT_OF(parts); i++)
        hash = hash_on(hash, parts[i]);
    return mem_printf("%.*s.%016llx", (int)(NAME_MAX_BYTES - HASH_BYTES), event->regarding.name,
                      (unsigned long long)hash);
}

/* Cuts before a character that would not fit whole. */
static char *cut(const char *text, size_t max)
{
    return strlen(text) > max ? mem_strndup(text, utf8_cut(text, max)) : mem_strdup(text);
}

static void put_cut(cJSON *object, const char *key, const char *text, size_t max)
{
    AUTO(mem) char *fitting = cut(text, max);

    json_put_str(object, key, fitting);
}

/* What is cut says so: a note may end with a command. */
static void put_note(cJSON *object, const char *note)
{
    static const char mark[] = "...";
    AUTO(mem) char *text = visible_new(note, VISIBLE_LINES);
    AUTO(mem) char *fitting = NULL;

    if (strlen(text) <= EVENT_NOTE_MAX_BYTES) {
        json_put_str(object, "note", text);
        return;
    }
    fitting = cut(text, EVENT_NOTE_MAX_BYTES - strlen(mark));
    json_put_strf(object, "note", "%s%s", fitting, mark);
}

static void put_subject(cJSON *body, const char *key, const struct event_subject *subject)
{
    cJSON *node = json_put_object(body, key);

    json_put_str(node, "apiVersion", subject->api_version);
    json_put_str(node, "kind", subject->kind);
    json_put_str(node, "namespace", subject->ns);
    json_put_str(node, "name", subject->name);
    json_put_str(node, "uid", subject->uid);
}

cJSON *event_body(const struct event *event, const struct events_options *reporter, const char *name,
                  int64_t wall_micros)
{
    char time[TIMEFMT_RFC3339_SIZE];
    cJSON *body = json_object();
    cJSON *metadata;

    json_put_str(body, "apiVersion", "events.k8s.io/v1");
    json_put_str(body, "kind", "Event");
    metadata = json_put_object(body, "metadata");
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", event->regarding.ns);
    json_put_str(body, "eventTime", timefmt_rfc3339_micro(wall_micros, time));
    put_cut(body, "reportingController", reporter->controller, REASON_MAX_BYTES);
    put_cut(body, "reportingInstance", reporter->instance, REASON_MAX_BYTES);
    put_cut(body, "action", event->action, REASON_MAX_BYTES);
    put_cut(body, "reason", event->reason, REASON_MAX_BYTES);
    put_note(body, event->note);
    json_put_str(body, "type", event->type);
    put_subject(body, "regarding", &event->regarding);
    if (event->related != NULL)
        put_subject(body, "related", event->related);
    return body;
}

/* A series counts from two: the API server rejects less. */
cJSON *event_series_patch(unsigned count, int64_t last_micros)
{
    char time[TIMEFMT_RFC3339_SIZE];
    cJSON *body = json_object();
    cJSON *series = json_put_object(body, "series");

    json_put_i64(series, "count", count < 2 ? 2 : count);
    json_put_str(series, "lastObservedTime", timefmt_rfc3339_micro(last_micros, time));
    return body;
}
