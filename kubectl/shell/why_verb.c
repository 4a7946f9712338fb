#include "base/core/mem.h"
#include "kubectl/core/answers/why.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"

enum { TOLD_PODS = 3 };
#define EVENTS_LIMIT "100"

static void note_unread(const struct fetch *fetch, struct strv *unread)
{
    if (!fetch->body)
        strv_pushf(unread, "%s: %s", fetch->request.resource->plural, fetch->err.msg);
}

static void move_items(cJSON *from, cJSON *to)
{
    cJSON *items = json_at_mut(from, "items");

    while (items && items->child)
        json_push_take(to, cJSON_DetachItemViaPointer(items, items->child));
}

static struct kube_request events_of(const struct session *session, const char *const *query)
{
    return (struct kube_request){
        .method = "GET", .resource = &KUBE_EVENTS, .ns = session->ns, .query = query};
}

/* Only pods that are out of the ordinary, or wait for their node, are worth a second round trip. */
static void fetch_pod_events(struct session *session, const cJSON *job, const cJSON *pods, cJSON *events)
{
    AUTO(strv) struct strv names = {0};
    struct fetch fetches[TOLD_PODS] = {0};
    char *selectors[TOLD_PODS] = {0};
    const char *queries[TOLD_PODS][5] = {0};

    why_choose_pods(job, pods, TOLD_PODS, &names);
    for (size_t i = 0; i < names.count; i++) {
        selectors[i] = mem_printf("regarding.kind=Pod,regarding.name=%s", names.items[i]);
        queries[i][0] = "fieldSelector";
        queries[i][1] = selectors[i];
        queries[i][2] = "limit";
        queries[i][3] = EVENTS_LIMIT;
        fetches[i].request = events_of(session, queries[i]);
    }
    session_fetch(session, fetches, names.count);
    for (size_t i = 0; i < names.count; i++) {
        move_items(fetches[i].body, events);
        cJSON_Delete(fetches[i].body);
        mem_free(selectors[i]);
    }
}

static int print_report(const struct session *session, const cJSON *report)
{
    AUTO(str) struct str text = {0};

    if (!session_add_json(session, report, &text))
        why_print(report, &session->look, session->options->output == OUTPUT_WIDE, session_now(session),
                  &text);
    return print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
}

static int explain(struct session *session, struct fetch *job, struct fetch *pods, struct fetch *job_events,
                   const struct fetch *controllers)
{
    AUTO(strv) struct strv unread = {0};
    AUTO(json) cJSON *events = json_array();
    AUTO(json) cJSON *report = NULL;
    struct err err = {0};

    if (!job->body)
        return session_complain_of_job(session, job->request.name, &job->err);
    if (pods->body && !session_fetch_rest(session, pods, &err))
        strv_pushf(&unread, "some pods: %s", err.msg);
    note_unread(pods, &unread);
    note_unread(job_events, &unread);
    move_items(job_events->body, events);
    if (job_events->body)
        fetch_pod_events(session, job->body, json_at(pods->body, "items"), events);
    report = why_report(&(struct why_input){.job = job->body,
                                            .pods = json_at(pods->body, "items"),
                                            .events = events,
                                            .controllers = json_at(controllers->body, "items"),
                                            .unread = &unread,
                                            .now_s = session_now(session)});
    return print_report(session, report);
}

int why_verb(struct session *session)
{
    const char *name = session->words->items[0];
    AUTO(mem) char *label = mem_printf(LABEL_JOB_NAME "=%s", name);
    AUTO(mem) char *field = mem_printf("regarding.kind=" API_KIND ",regarding.name=%s", name);
    const char *const of_pods[] = {"labelSelector", label, "limit", PAGE_LIMIT, NULL};
    static const char *const of_controllers[] = {"limit", PAGE_LIMIT, NULL};
    const char *const of_events[] = {"fieldSelector", field, "limit", EVENTS_LIMIT, NULL};
    struct fetch fetches[] = {
        {.request = {.method = "GET", .resource = &KUBE_IPUJOBS, .ns = session->ns, .name = name}},
        {.request = {.method = "GET", .resource = &KUBE_PODS, .ns = session->ns, .query = of_pods}},
        {.request = events_of(session, of_events)},
        {.request = {.method = "GET", .resource = &KUBE_VIPU_CONTROLLERS, .query = of_controllers}},
    };
    int status;

    session_fetch(session, fetches, COUNT_OF(fetches));
    status = explain(session, &fetches[0], &fetches[1], &fetches[2], &fetches[3]);
    for (size_t i = 0; i < COUNT_OF(fetches); i++)
        cJSON_Delete(fetches[i].body);
    return status;
}
