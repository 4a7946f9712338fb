#include "base/core/mem.h"
#include "kubectl/core/operator_sign.h"
#include "kubectl/core/answers/whatif.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"

static int print_report(const struct session *session, const cJSON *report)
{
    AUTO(str) struct str text = {0};

    if (!session_add_json(session, report, &text))
        whatif_print(report, &session->look, session->options->output == OUTPUT_WIDE, session_now(session),
                     &text);
    return print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
}

static int answer(const struct session *session, const struct whatif_query *query)
{
    AUTO(json) cJSON *report = whatif_report(query);
    AUTO(str) struct str sizes = {0};

    operator_sign_put(report, query->controllers, session_now(session));
    complain_of_silence(session, query->controllers);
    if (json_at(report, "items")->child)
        return print_report(session, report);
    whatif_add_sizes(&sizes, query->controllers);
    if (sizes.len > 0)
        complain("no V-IPU controller makes a partition of %u IPU%s; choose one of %s", query->ipus,
                 query->ipus == 1 ? "" : "s", str_text(&sizes));
    else
        complain("no VIPUController tells when new jobs start: the operator has not reported it yet");
    return STATUS_FAILED;
}

int whatif_verb(struct session *session)
{
    static const char *const pages[] = {"limit", PAGE_LIMIT, NULL};
    const struct options *options = session->options;
    struct whatif_query query = {.ipus = options->ipus};
    struct fetch fetches[] = {
        {.request = {.method = "GET", .resource = &KUBE_VIPU_CONTROLLERS, .query = pages}},
        {.request = {.method = "GET", .resource = &KUBE_IPUJOBS, .ns = session->ns}},
    };
    bool has_job = session->words->count > 0;
    int status;

    if (options->span && !duration_parse(options->span, &query.for_s)) {
        complain("--for: expected a duration such as 90s, 10m or 1h30m, got \"%s\"", options->span);
        return STATUS_BAD_USAGE;
    }
    if (has_job)
        fetches[1].request.name = session->words->items[0];
    session_fetch(session, fetches, has_job ? 2 : 1);
    query.job = fetches[1].body;
    if (has_job && !query.job) {
        status = session_complain_of_job(session, session->words->items[0], &fetches[1].err);
    } else if (!fetches[0].body || !session_fetch_rest(session, &fetches[0], &fetches[0].err)) {
        status = session_complain(session, &fetches[0].err);
    } else {
        query.controllers = json_at(fetches[0].body, "items");
        status = answer(session, &query);
    }
    for (size_t i = 0; i < COUNT_OF(fetches); i++)
        cJSON_Delete(fetches[i].body);
    return status;
}
