#include "operator/admin/release.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/admin/asking.h"
#include "operator/api/orphan.h"

enum { AGAIN_MS = 500 };
#define PODS_PAGE "200"

struct settings {
    struct asking_settings asking;
    uint32_t seconds;
};

static const struct opt ROWS[] = {
    ASKING_PARTITION_ROWS,
    {.flag = "seconds",
     .type = OPT_U32,
     .offset = offsetof(struct settings, seconds),
     .fallback = "120",
     .arg = "SECONDS",
     .help = "How long to wait until it is given back",
     .min = 1,
     .max = 86400},
    ASKING_NAMESPACE_ROW,
    ASKING_PAGES_ROW(offsetof(struct asking_settings, pages)),
    TOOL_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator release",
    .usage = "ipu-operator release PARTITION [options]",
    .about = "Gives a partition back that has no record, so that its IPUs are free. The operator removes it "
             "at its V-IPU controller. Refused while pods may use it, and for a partition of an IPUJob of "
             "this operator: delete or suspend the job. Ends with 0 when it is given back.",
    .rows = ROWS,
};

/* ---- who uses it ---- */

static void note_users(const cJSON *list, const char *job_key, struct strv *users)
{
    JSON_EACH (item, json_at(list, "items")) {
        AUTO(pod) struct pod *pod = pod_parse(item);

        if (pod && orphan_is_used_by(pod, job_key))
            strv_pushf(users, "%s/%s", pod->ns, pod->name);
    }
}

/* The pods of a job's namespace, some at a time. */
static bool find_users(struct asking *asking, const char *job_key, struct strv *users, struct err *err)
{
    AUTO(mem) char *ns = mem_strndup(job_key, strcspn(job_key, "/"));
    AUTO(mem) char *more = mem_strdup("");

    do {
        AUTO(json)
        cJSON *list = ask_kube(
            asking,
            &(struct kube_request){.method = "GET",
                                   .resource = &KUBE_PODS,
                                   .ns = ns,
                                   .query = (const char *[]){"limit", PODS_PAGE, "continue", more, NULL}},
            err);

        if (!list)
            return err_wrap(err, "the pods of namespace %s", ns);
        note_users(list, job_key, users);
        mem_set_str(&more, json_str(list, "metadata/continue", ""));
    } while (*more);
    return true;
}

/* ---- its record ---- */

/* Its IPUs are free when the record has gone, or stays only to keep the id from being used again. */
static bool await_end(struct asking *asking, const char *ns, const char *id, uint32_t seconds,
                      struct err *err)
{
    int64_t until = loop_clock_ms() + (int64_t)seconds * 1000;

    for (;;) {
        AUTO(json)
        cJSON *record = ask_kube(
            asking,
            &(struct kube_request){.method = "GET", .resource = &KUBE_CONFIGMAPS, .ns = ns, .name = id}, err);

        if (!record)
            return err->kind == ERR_NOT_FOUND || err_wrap(err, "its record");
        if (json_at(record, "data/spentAt"))
            return true;
        if (loop_clock_ms() >= until)
            return err_set(err, ERR_TIMEOUT,
                           "it is not given back after %u s; the operator goes on with it, and its log says "
                           "what its V-IPU controller answers",
                           seconds);
        asking_pause(asking, AGAIN_MS);
    }
}

/* ---- the whole ---- */

static bool complain(const struct orphan *orphan, const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "ipu-operator: partition %s: %s\n", orphan->id, problems->items[i]);
    return problems->count == 0;
}

static bool may_go(struct asking *asking, const struct orphan *orphan, struct err *err)
{
    AUTO(strv) struct strv users = {0};
    AUTO(strv) struct strv problems = {0};

    for (size_t i = 0; i < orphan->jobs.count; i++) {
        if (!find_users(asking, orphan->jobs.items[i], &users, err))
            return false;
    }
    orphan_refuse_release(orphan, &users, &problems);
    return complain(orphan, &problems);
}

static bool release(struct asking *asking, const void *ctx, struct err *err)
{
    const struct settings *settings = ctx;
    const char *ns = asking_ns(&settings->asking), *id = settings->asking.access.word;
    AUTO(json) cJSON *page = ask_page(asking, "/partitions", err);
    AUTO(orphan) struct orphan orphan = {0};
    AUTO(record) struct record *record = NULL;

    if (!page || !orphan_find(page, id, settings->asking.controller, &orphan, err) ||
        !may_go(asking, &orphan, err))
        return false;
    record = orphan_record_of_release(&orphan);
    if (!settings->asking.dry_run &&
        (!ask_for_record(asking, ns, record, err) || !await_end(asking, ns, id, settings->seconds, err)))
        return err_wrap(err, "partition %s", id);
    return printf("Partition %s of %u IPUs of V-IPU controller %s %s.\n", id, orphan.ipus, orphan.controller,
                  settings->asking.dry_run ? "would be given back" : "is given back") > 0;
}

static int run(void *ctx, struct loop *loop, struct kube *kube)
{
    const struct settings *settings = ctx;

    return asking_run(&settings->asking, release, loop, kube);
}

int release_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {.asking.access.noun = "the partition, with its whole id"};

    return tool_main(&SPEC, &settings.asking.access, run, argc, argv, env);
}
