#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/io/log.h"
#include "kubectl/shell/session.h"

/* A user has pressed Tab and waits. */
enum { PATIENCE_MS = 2000 };

static void offer_names(struct session *session, enum completed_names names, const char *typed)
{
    static const char *const query[] = {"limit", PAGE_LIMIT, NULL};
    bool is_job = names == NAMES_JOBS;
    struct err silent = {0};
    AUTO(json)
    cJSON *list = session_get(session,
                              &(struct kube_request){.method = "GET",
                                                     .resource = is_job ? &KUBE_IPUJOBS : &KUBE_NAMESPACES,
                                                     .ns = is_job ? session->ns : NULL,
                                                     .query = query,
                                                     .timeout_ms = PATIENCE_MS},
                              &silent);

    JSON_EACH (item, json_at(list, "items")) {
        AUTO(mem) char *name = visible_new(json_str(item, "metadata/name", ""), VISIBLE_LINE);
        AUTO(mem) char *status = visible_new(json_str(item, "status/launcherStatus", ""), VISIBLE_LINE);

        if (str_has_prefix(name, typed))
            (void)printf("%s%s%s\n", name, *status ? "\t" : "", status);
    }
}

static int offer_from_cluster(struct session *session)
{
    const char *typed = "";
    enum completed_names names = verbs_completed_names(session->words, &typed);

    offer_names(session, names, typed);
    return STATUS_OK;
}

/* What is typed so far may be no valid command yet: mistakes are of no interest here. */
static void complete_names(const struct strv *words, env_fn env)
{
    const struct verb *verb = verb_find(words->items[0]);
    AUTO(strv) struct strv argv = {0};
    AUTO(strv) struct strv rest = {0};
    AUTO(strv) struct strv problems = {0};
    struct options options = {0};

    for (size_t i = 0; i + 1 < words->count; i++)
        strv_push(&argv, words->items[i]);
    (void)opts_parse(&verb->spec, (int)argv.count, strv_argv(&argv), env, false, &options, &rest, &problems);
    (void)session_run(&options, words, env, offer_from_cluster);
    opts_release(&verb->spec, &options);
}

int complete_main(const struct strv *words, env_fn env)
{
    AUTO(str) struct str out = {0};
    const char *typed;

    log_setup(LOG_ERROR, false);
    verbs_complete(words, &out);
    (void)fputs(str_text(&out), stdout);
    if (verbs_completed_names(words, &typed) != NAMES_NONE)
        complete_names(words, env);
    return puts(":4") < 0 ? STATUS_FAILED : STATUS_OK; /* no file names */
}
