#include <stdio.h>

#include "operator/kube/events/events.h"
#include "probe.h"

static const char *word(const struct probe *probe, size_t at)
{
    return at < probe->words->count ? probe->words->items[at] : NULL;
}

static const char *denial_word(enum kube_denial denial)
{
    static const char *const words[] = {
        [KUBE_DENIAL_NONE] = "none",
        [KUBE_DENIAL_RULES] = "rules",
        [KUBE_DENIAL_POD_SECURITY] = "pod-security",
        [KUBE_DENIAL_QUOTA] = "quota",
        [KUBE_DENIAL_NAMESPACE_TERMINATING] = "namespace-terminating",
        [KUBE_DENIAL_CREDENTIALS] = "credentials",
        [KUBE_DENIAL_LEASE] = "lease",
    };

    return words[denial];
}

static void on_answer(void *ctx, struct kube_response *res)
{
    const struct probe *probe = ctx;
    AUTO(mem) char *body = res->body != NULL ? json_print(res->body) : NULL;

    printf("http %d kind %s denial %s reason %s\n", res->http_status, err_kind_name(res->err.kind),
           denial_word(res->denial), res->reason);
    printf("message %s\n", res->message);
    printf("body %s\n", body != NULL ? body : "");
    loop_stop(probe->loop);
}

void probe_send(struct probe *probe)
{
    const struct probe_options *options = probe->options;

    (void)kube_send(probe->kube,
                    &(struct kube_request){
                        .method = word(probe, 0),
                        .resource = probe_resource(word(probe, 1)),
                        .ns = options->ns,
                        .path = word(probe, 1),
                        .name = word(probe, 2),
                        .sub = word(probe, 3),
                        .text = slice_of(options->body),
                        .content_type = options->type,
                        .timeout_ms = options->timeout_ms,
                        .retry_post = options->retry_post,
                    },
                    on_answer, probe);
    loop_run(probe->loop);
    probe_print_counters(probe);
}

struct batch {
    struct probe *probe;
    uint32_t left, failed;
    char message[160];
};

static void on_created(void *ctx, struct kube_response *res)
{
    struct batch *batch = ctx;

    if (res->err.kind != ERR_NONE) {
        batch->failed++;
        (void)snprintf(batch->message, sizeof(batch->message), "%s", res->message);
    }
    if (--batch->left == 0)
        loop_stop(batch->probe->loop);
}

static cJSON *config_map(const char *name)
{
    cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");

    json_put_str(metadata, "name", name);
    json_put_str(json_put_object(metadata, "labels"), "app", "probe");
    json_put_str(json_put_object(body, "data"), "v", name);
    return body;
}

void probe_create(struct probe *probe)
{
    struct batch batch = {.probe = probe, .left = probe->options->count};
    int64_t start_ms = loop_clock_ms();

    for (uint32_t i = 0; i < probe->options->count; i++) {
        AUTO(mem) char *name = mem_printf("%s-%u", word(probe, 1), i);
        AUTO(json) cJSON *body = config_map(name);

        (void)kube_send(probe->kube,
                        &(struct kube_request){
                            .method = "POST",
                            .resource = &KUBE_CONFIGMAPS,
                            .ns = probe->options->ns,
                            .body = body,
                            .timeout_ms = probe->options->timeout_ms,
                            .retry_post = true,
                        },
                        on_created, &batch);
    }
    loop_run(probe->loop);
    printf("created %u failed %u in %lld ms %s\n", probe->options->count - batch.failed, batch.failed,
           (long long)(loop_clock_ms() - start_ms), batch.message);
    probe_print_counters(probe);
}

struct event_run {
    struct probe *probe;
    struct events *events;
    struct loop_timer poll;
};

static void stop_when_sent(struct loop_timer *timer)
{
    struct event_run *run = CONTAINER_OF(timer, struct event_run, poll);

    if (events_in_flight(run->events) == 0)
        loop_stop(run->probe->loop);
    else
        loop_timer_start(run->probe->loop, timer, 5, stop_when_sent);
}

void probe_event(struct probe *probe)
{
    struct events *events =
        events_new(probe->kube, &(struct events_options){"graphcore.ai/probe", "probe-1"});
    struct event_run run = {.probe = probe, .events = events};

    for (uint32_t i = 0; i < probe->options->count; i++)
        events_send(events,
                    &(struct event){
                        .regarding = {"v1", "ConfigMap", probe->options->ns, word(probe, 0), "uid-of-it"},
                        .type = "Normal",
                        .reason = word(probe, 1),
                        .action = "Probe",
                        .note = word(probe, 2),
                    });
    loop_timer_start(probe->loop, &run.poll, 0, stop_when_sent);
    loop_run(probe->loop);
    printf("dropped %llu\n", (unsigned long long)events_dropped(events));
    probe_print_counters(probe);
    loop_timer_stop(&run.poll);
    events_free(events);
}
