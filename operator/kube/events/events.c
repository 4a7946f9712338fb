#include "operator/kube/events/events.h"

#include <string.h>

#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/kube/events/event_body.h"
#include "operator/kube/events/event_series.h"

#define IN_FLIGHT_MAX 256u
#define TIMEOUT_MS ((int64_t)10000)

struct sending {
    struct events *events;
    struct sending *prev, *next;
    struct kube_call *call;
    char *key;         /* "namespace/name" */
    cJSON *patch_next; /* the series patch to try when the event exists; or NULL */
};

struct events {
    struct kube *kube;
    char *controller, *instance;
    struct series_table *series;
    struct sending *first;
    size_t in_flight;
    struct loop_timer flush;
    uint64_t dropped;
};

struct events *events_new(struct kube *kube, const struct events_options *options)
{
    struct events *events = NEW(struct events);

    events->kube = kube;
    events->controller = mem_strdup(options->controller);
    events->instance = mem_strdup(options->instance);
    events->series = series_new();
    return events;
}

static void sending_free(struct sending *sending)
{
    struct events *events = sending->events;

    *(sending->prev != NULL ? &sending->prev->next : &events->first) = sending->next;
    if (sending->next != NULL)
        sending->next->prev = sending->prev;
    events->in_flight--;
    mem_free(sending->key);
    cJSON_Delete(sending->patch_next);
    mem_free(sending);
}

void events_free(struct events *events)
{
    if (events == NULL)
        return;
    loop_timer_stop(&events->flush);
    while (events->first != NULL) {
        kube_cancel(events->first->call);
        sending_free(events->first);
    }
    series_free(events->series);
    mem_free(events->controller);
    mem_free(events->instance);
    mem_free(events);
}

/* An event is named after the job that it is about, and a hash. */
static void drop(struct events *events, const char *key, const char *cause)
{
    AUTO(mem) char *job = mem_strndup(key, (size_t)(strrchr(key, '.') - key));

    events->dropped++;
    log_debug("event dropped", KV("job", job), KV("event", key), KV("cause", cause));
}

static void on_sent(void *ctx, struct kube_response *res);

static void send(struct sending *sending, const char *method, const cJSON *body)
{
    const char *slash = strchr(sending->key, '/');
    AUTO(mem) char *ns = mem_strndup(sending->key, (size_t)(slash - sending->key));
    bool is_new = str_eq(method, "POST");

    sending->call = kube_send(sending->events->kube,
                              &(struct kube_request){
                                  .method = method,
                                  .resource = &KUBE_EVENTS,
                                  .ns = ns,
                                  .name = is_new ? NULL : slash + 1,
                                  .body = body,
                                  .content_type = is_new ? NULL : KUBE_MERGE_PATCH,
                                  .timeout_ms = TIMEOUT_MS,
                                  .retry_post = true,
                              },
                              on_sent, sending);
}

/* An event of that name is there from before a restart: it happened again. If its creation was sent twice, it
 * is most likely its own. */
static void on_sent(void *ctx, struct kube_response *res)
{
    struct sending *sending = ctx;
    AUTO(json) cJSON *patch = TAKE(sending->patch_next);

    sending->call = NULL;
    if (res->err.kind == ERR_EXISTS && res->is_in_doubt)
        res->err = (struct err){0};
    if (res->err.kind == ERR_EXISTS && patch != NULL) {
        send(sending, "PATCH", patch);
        return;
    }
    if (res->err.kind != ERR_NONE)
        drop(sending->events, sending->key, res->message);
    sending_free(sending);
}

static void start(struct events *events, const char *key, const char *method, const cJSON *body,
                  cJSON *patch_next)
{
    struct sending *sending;

    if (events->in_flight >= IN_FLIGHT_MAX) {
        drop(events, key, "too many events in flight");
        cJSON_Delete(patch_next);
        return;
    }
    sending = NEW(struct sending);
    *sending = (struct sending){
        .events = events, .next = events->first, .key = mem_strdup(key), .patch_next = patch_next};
    if (events->first != NULL)
        events->first->prev = sending;
    events->first = sending;
    events->in_flight++;
    send(sending, method, body);
}

static void write_series(struct events *events, const struct series *series)
{
    AUTO(json) cJSON *patch = event_series_patch(series->count, series->last_micros);

    start(events, series->key, "PATCH", patch, NULL);
}

static void write_new(struct events *events, const struct event *event, const struct series *series)
{
    struct events_options reporter = {events->controller, events->instance};
    AUTO(json) cJSON *body = event_body(event, &reporter, strchr(series->key, '/') + 1, series->last_micros);

    start(events, series->key, "POST", body, event_series_patch(2, series->last_micros));
}

static void on_flush(struct loop_timer *timer)
{
    struct events *events = CONTAINER_OF(timer, struct events, flush);
    struct series series;

    while (series_due(events->series, loop_now_ms(kube_loop(events->kube)), &series))
        write_series(events, &series);
    if (series_is_pending(events->series))
        loop_timer_start(kube_loop(events->kube), timer, SERIES_PERIOD_MS / 4, on_flush);
}

void events_send(struct events *events, const struct event *event)
{
    struct events_options reporter = {events->controller, events->instance};
    AUTO(mem) char *name = event_name(event, &reporter);
    AUTO(mem) char *key = mem_printf("%s/%s", event->regarding.ns, name);
    struct event_occurrence it = {.key = key,
                                  .uid = event->regarding.uid,
                                  .is_warning = str_eq(event->type, "Warning"),
                                  .now_ms = loop_now_ms(kube_loop(events->kube)),
                                  .wall_micros = loop_unix_micros()};
    struct series series;

    switch (series_record(events->series, &it, &series)) {
    case SERIES_CREATE:
        write_new(events, event, &series);
        break;
    case SERIES_UPDATE:
        write_series(events, &series);
        break;
    case SERIES_LATER:
        if (!loop_timer_is_running(&events->flush))
            loop_timer_start(kube_loop(events->kube), &events->flush, SERIES_PERIOD_MS, on_flush);
        break;
    case SERIES_DROP:
        drop(events, key, "rate limit of this object or of all objects reached");
        break;
    }
}

size_t events_in_flight(const struct events *events)
{
    return events->in_flight;
}

uint64_t events_dropped(const struct events *events)
{
    return events->dropped;
}
