#include "base/core/mem.h"
#include "kubectl/core/answers/eta.h"
#include "kubectl/core/operator_sign.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"

static int print_eta(const struct session *session, const cJSON *job, const cJSON *controllers)
{
    AUTO(json) cJSON *report = eta_report(job);
    AUTO(str) struct str text = {0};

    operator_sign_put(report, controllers, session_now(session));
    if (!session_add_json(session, report, &text))
        eta_print(report, &session->look, session->options->output == OUTPUT_WIDE, session_now(session),
                  &text);
    return print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
}

int eta_verb(struct session *session)
{
    static const char *const query[] = {"limit", PAGE_LIMIT, NULL};
    struct fetch fetches[] = {
        {.request = {.method = "GET",
                     .resource = &KUBE_IPUJOBS,
                     .ns = session->ns,
                     .name = session->words->items[0]}},
        {.request = {.method = "GET", .resource = &KUBE_VIPU_CONTROLLERS, .query = query}},
    };
    int status;

    session_fetch(session, fetches, COUNT_OF(fetches));
    status = fetches[0].body ? print_eta(session, fetches[0].body, json_at(fetches[1].body, "items"))
                             : session_complain_of_job(session, fetches[0].request.name, &fetches[0].err);
    for (size_t i = 0; i < COUNT_OF(fetches); i++)
        cJSON_Delete(fetches[i].body);
    return status;
}
