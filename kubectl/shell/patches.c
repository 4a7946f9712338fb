/* kubectl ipu suspend, resume and release: patches of a job. */
#include <stdio.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "kubectl/core/jobs.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"

#define RESOURCE "ipujob.graphcore.ai/"

static bool patch(struct session *session, const char *name, const cJSON *body, struct err *err)
{
    AUTO(json)
    cJSON *patched =
        session_get(session,
                    &(struct kube_request){.method = "PATCH",
                                           .resource = &KUBE_IPUJOBS,
                                           .ns = session->ns,
                                           .name = name,
                                           .content_type = KUBE_MERGE_PATCH,
                                           .query = (const char *[]){"fieldManager", "kubectl-ipu", NULL},
                                           .body = body},
                    err);

    return patched != NULL;
}

/* ---- suspend, resume ---- */

static cJSON *get(struct session *session, const char *name, struct err *err)
{
    return session_get(
        session,
        &(struct kube_request){.method = "GET", .resource = &KUBE_IPUJOBS, .ns = session->ns, .name = name},
        err);
}

/* What is written into a job that has ended changes nothing. */
static int set_suspend(struct session *session, const char *name, bool suspend)
{
    AUTO(json) cJSON *job = NULL;
    AUTO(json) cJSON *body = json_object();
    const char *done = suspend ? "suspended" : "resumed";
    struct err err = {0};

    job = get(session, name, &err);
    if (!job)
        return session_complain_of_job(session, name, &err);
    if (job_has_ended(job)) {
        complain("job %s has ended and cannot be %s; delete and create it again to rerun it", name, done);
        return STATUS_FAILED;
    }
    json_put_bool(json_put_object(body, "spec"), "suspend", suspend);
    if (json_bool(job, "spec/suspend", false) == suspend)
        done = suspend ? "is already suspended" : "is not suspended";
    else if (!patch(session, name, body, &err))
        return session_complain(session, &err);
    return printf(RESOURCE "%s %s\n", name, done) > 0 ? STATUS_OK : STATUS_FAILED;
}

/* All of them, also when one fails. */
static int set_all(struct session *session, bool suspend)
{
    int status = STATUS_OK;

    for (size_t i = 0; i < session->words->count; i++) {
        if (set_suspend(session, session->words->items[i], suspend) != STATUS_OK)
            status = STATUS_FAILED;
    }
    return status;
}

int suspend_verb(struct session *session)
{
    return set_all(session, true);
}

int resume_verb(struct session *session)
{
    return set_all(session, false);
}

/* ---- release ---- */

/* The held partitions that the words name, or all; false: something else was named. */
static bool choose(const cJSON *job, const struct strv *words, struct str *ids)
{
    AUTO(strv) struct strv held = {0};

    JSON_EACH (partition, json_at(job, "status/partitions")) {
        if (str_eq(json_str(partition, "state", ""), "Held"))
            strv_push_take(&held, visible_new(json_str(partition, "id", ""), VISIBLE_LINE));
    }
    for (size_t i = 1; i < words->count; i++) {
        if (!strv_has(&held, words->items[i])) {
            complain("partition %s of job %s is not held; see kubectl ipu why %s", words->items[i],
                     words->items[0], words->items[0]);
            return false;
        }
    }
    for (size_t i = 0; i < held.count; i++) {
        if (words->count == 1 || strv_has(words, held.items[i]))
            str_addf(ids, "%s%s", ids->len ? "," : "", held.items[i]);
    }
    if (ids->len == 0)
        complain("job %s holds no partition that has to be released by hand; see kubectl ipu why %s",
                 words->items[0], words->items[0]);
    return ids->len > 0;
}

static bool is_confirmed(const struct session *session, const char *ids)
{
    char answer[8] = "";

    if (session->options->yes)
        return true;
    if (!isatty(STDIN_FILENO)) {
        complain("nobody can be asked whether processes still use %s; repeat with --yes if none does", ids);
        return false;
    }
    (void)fprintf(stderr, "A process that still uses %s loses its IPUs. Is none running? [y/N] ", ids);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    complain("nothing was released");
    return false;
}

int release_verb(struct session *session)
{
    const char *name = session->words->items[0];
    AUTO(json) cJSON *job = NULL;
    AUTO(json) cJSON *body = json_object();
    AUTO(str) struct str ids = {0};
    struct err err = {0};

    job = get(session, name, &err);
    if (!job)
        return session_complain_of_job(session, name, &err);
    if (!choose(job, session->words, &ids) || !is_confirmed(session, str_text(&ids)))
        return STATUS_FAILED;
    json_put_str(json_put_object(json_put_object(body, "metadata"), "annotations"), ANNOTATION_RELEASE,
                 str_text(&ids));
    if (!patch(session, name, body, &err))
        return session_complain(session, &err);
    return printf(RESOURCE "%s: released %s\n", name, str_text(&ids)) > 0 ? STATUS_OK : STATUS_FAILED;
}
