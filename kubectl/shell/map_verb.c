#include <stdio.h>

#include "base/core/mem.h"
#include "kubectl/core/map.h"
#include "kubectl/shell/session.h"

/* Without the right to list jobs, the map is without their statuses. */
static int print_map(struct session *session, struct fetch *controllers, struct fetch *jobs)
{
    AUTO(json) cJSON *report = NULL;
    AUTO(str) struct str text = {0};
    struct err err = {0};

    if (!controllers->body || !session_fetch_rest(session, controllers, &controllers->err))
        return session_complain(session, &controllers->err);
    if (jobs->body && !session_fetch_rest(session, jobs, &err))
        complain("statuses of some jobs are left out: %s", err.msg);
    report = map_report(json_at(controllers->body, "items"), json_at(jobs->body, "items"));
    if (session->options->output == OUTPUT_JSON) {
        AUTO(mem) char *printed = json_print_pretty(report);

        str_addf(&text, "%s\n", printed);
    } else if (json_at(report, "items")->child) {
        map_print(report, &session->look, session->options->output == OUTPUT_WIDE, &text);
    } else {
        (void)fprintf(stderr, "There is no VIPUController: the operator has not reported one yet.\n");
    }
    return print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
}

int map_verb(struct session *session)
{
    static const char *const query[] = {"limit", PAGE_LIMIT, NULL};
    struct fetch fetches[] = {
        {.request = {.method = "GET", .resource = &KUBE_VIPU_CONTROLLERS, .query = query}},
        {.request = {.method = "GET", .resource = &KUBE_IPUJOBS, .ns = session->options->ns, .query = query}},
    };
    int status;

    session_fetch(session, fetches, COUNT_OF(fetches));
    status = print_map(session, &fetches[0], &fetches[1]);
    for (size_t i = 0; i < COUNT_OF(fetches); i++)
        cJSON_Delete(fetches[i].body);
    return status;
}
