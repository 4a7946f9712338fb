#include "base/core/mem.h"
#include "kubectl/core/eta.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"

static int print_eta(const struct session *session, const cJSON *job)
{
    AUTO(json) cJSON *report = eta_report(job);
    AUTO(str) struct str text = {0};

    if (session->options->output == OUTPUT_JSON) {
        AUTO(mem) char *printed = json_print_pretty(report);

        str_addf(&text, "%s\n", printed);
    } else {
        eta_print(report, session->options->output == OUTPUT_WIDE, now_seconds(), &text);
    }
    return print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
}

int eta_verb(struct session *session)
{
    struct fetch job = {
        .request = {
            .method = "GET", .resource = &KUBE_IPUJOBS, .ns = session->ns, .name = session->words->items[0]}};
    int status;

    session_fetch(session, &job, 1);
    status = job.body ? print_eta(session, job.body) : session_complain(session, &job.err);
    cJSON_Delete(job.body);
    return status;
}
