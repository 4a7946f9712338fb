#include "operator/admin/release.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "operator/admin/sync_client.h"
#include "operator/api/names.h"
#include "operator/api/partition/orphan.h"

enum { POLL_MS = 500 };
#define PODS_PAGE "200"

struct settings {
    struct sync_client_settings sync_client;
    uint32_t seconds;
};

static const struct opt ROWS[] = {
    SYNC_CLIENT_PARTITION_ROWS,
    OPT_VALUE("seconds", OPT_U32, offsetof(struct settings, seconds), "SECONDS",
              "Seconds to wait for the release", .fallback = "120", .min = 1, .max = 86400),
    SYNC_CLIENT_NAMESPACE_ROW,
    SYNC_CLIENT_URL_ROWS(offsetof(struct sync_client_settings, operator_url)),
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator release",
    .usage = "ipu-operator release PARTITION [options]",
    .about = "Releases an orphaned partition: the operator removes it from its V-IPU controller, and its "
             "IPUs are free. Fails while pods may be using the partition, and for partitions of IPUJobs of "
             "this operator: delete or suspend the job instead. Exits with status 0 after the release.",
    .rows = ROWS,
};

/* ---- pods that may use it ---- */

static void add_users(const cJSON *list, const char *job_key, struct strv *users)
{
    JSON_EACH (item, json_at(list, "items")) {
        AUTO(pod) struct pod *pod = pod_parse(item);

        if (pod && orphan_is_used_by(pod, job_key))
            strv_pushf(users, "%s/%s", pod->ns, pod->name);
    }
}

/* The pods of a job's namespace, some at a time. */
static bool find_users(struct sync_client *client, const char *job_key, struct strv *users, struct err *err)
{
    AUTO(mem) char *ns = namespace_of_key(job_key);
    AUTO(mem) char *more = mem_strdup("");

    do {
        AUTO(json)
        cJSON *list = sync_kube_request(
            client,
            &(struct kube_request){.method = "GET",
                                   .resource = &KUBE_PODS,
                                   .ns = ns,
                                   .query = (const char *[]){"limit", PODS_PAGE, "continue", more, NULL}},
            err);

        if (!list)
            return err_wrap(err, "pods of namespace %s", ns);
        add_users(list, job_key, users);
        mem_set_str(&more, json_str(list, "metadata/continue", ""));
    } while (*more);
    return true;
}

/* ---- its record ---- */

/* Its IPUs are free when the record has gone, or stays only to keep the id from being used again. */
static bool await_release(struct sync_client *client, const char *ns, const char *id, uint32_t seconds,
                          struct err *err)
{
    int64_t until = loop_clock_ms() + (int64_t)seconds * 1000;

    for (;;) {
        AUTO(json)
        cJSON *record = sync_kube_request(
            client,
            &(struct kube_request){.method = "GET", .resource = &KUBE_CONFIGMAPS, .ns = ns, .name = id}, err);

        if (!record)
            return err->kind == ERR_NOT_FOUND || err_wrap(err, "partition record");
        if (json_at(record, "data/spentAt"))
            return true;
        if (loop_clock_ms() >= until)
            return err_set(err, ERR_TIMEOUT,
                           "not released after %u s; the operator keeps trying, see its log for responses of "
                           "the V-IPU controller",
                           seconds);
        sync_sleep(client, POLL_MS);
    }
}

/* ---- the whole ---- */

static bool print_problems(const struct orphan *orphan, const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "ipu-operator: partition %s: %s\n", orphan->id, problems->items[i]);
    return problems->count == 0;
}

static bool check_release(struct sync_client *client, const struct orphan *orphan, struct err *err)
{
    AUTO(strv) struct strv users = {0};
    AUTO(strv) struct strv problems = {0};

    for (size_t i = 0; i < orphan->jobs.count; i++) {
        if (!find_users(client, orphan->jobs.items[i], &users, err))
            return false;
    }
    orphan_check_release(orphan, &users, &problems);
    return print_problems(orphan, &problems);
}

static bool release(struct sync_client *client, const void *ctx, struct err *err)
{
    const struct settings *settings = ctx;
    const char *ns = sync_client_ns(&settings->sync_client), *id = settings->sync_client.access.word;
    AUTO(json) cJSON *page = sync_get_partitions(client, err);
    AUTO(orphan) struct orphan orphan = {0};
    AUTO(record) struct record *record = NULL;

    if (!page || !orphan_find(page, id, settings->sync_client.controller, &orphan, err) ||
        !check_release(client, &orphan, err))
        return false;
    record = orphan_record_of_release(&orphan);
    if (!settings->sync_client.dry_run && (!sync_create_record(client, ns, record, err) ||
                                           !await_release(client, ns, id, settings->seconds, err)))
        return err_wrap(err, "partition %s", id);
    return printf("%s partition %s (%u %s) on V-IPU controller %s%s.\n",
                  settings->sync_client.dry_run ? "Would release" : "Released", id, orphan.ipus,
                  orphan.ipus == 1 ? "IPU" : "IPUs", orphan.controller,
                  settings->sync_client.dry_run ? " (dry run)" : "") > 0;
}

int release_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {.sync_client.access.noun = "partition ID"};

    return sync_client_main(&SPEC, &settings.sync_client, release, argc, argv, env);
}
