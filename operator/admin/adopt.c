#include "operator/admin/adopt.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/admin/sync_client.h"
#include "operator/api/partition/orphan.h"

struct settings {
    struct sync_client_settings sync_client;
    char *job;
};

static const struct opt ROWS[] = {
    OPT_VALUE("job", OPT_STR, offsetof(struct settings, job), "NAMESPACE/NAME",
              "IPUJob that adopts the partition"),
    SYNC_CLIENT_PARTITION_ROWS,
    SYNC_CLIENT_NAMESPACE_ROW,
    SYNC_CLIENT_URL_ROWS(offsetof(struct sync_client_settings, operator_url)),
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator adopt",
    .usage = "ipu-operator adopt PARTITION --job NAMESPACE/NAME [options]",
    .about = "Assigns an orphaned partition to an IPUJob of the vendor's operator if it matches the job's "
             "spec. The partition then counts as the job's and is released when the job is deleted. "
             "Running processes are not affected. Exits with status 0 when the record exists.",
    .rows = ROWS,
};

static struct job *get_job(struct sync_client *client, const char *key, struct err *err)
{
    const char *slash = key ? strchr(key, '/') : NULL;
    AUTO(mem) char *ns = slash ? mem_strndup(key, (size_t)(slash - key)) : NULL;
    AUTO(json) cJSON *body = NULL;
    struct job *job;

    if (!slash || !*ns || !slash[1] || strchr(slash + 1, '/')) {
        err_set(err, ERR_INVALID, "--job: expected NAMESPACE/NAME, got \"%s\"", key ? key : "");
        return NULL;
    }
    body = sync_kube_request(
        client,
        &(struct kube_request){.method = "GET", .resource = &KUBE_IPUJOBS, .ns = ns, .name = slash + 1}, err);
    job = body ? job_parse(body) : NULL;
    if (!job)
        err_wrap(err, "IPUJob %s", key);
    return job;
}

static bool print_problems(const struct settings *settings, const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "ipu-operator: partition %s, IPUJob %s: %s\n",
                      settings->sync_client.access.word, settings->job, problems->items[i]);
    return problems->count == 0;
}

static bool adopt(struct sync_client *client, const void *ctx, struct err *err)
{
    const struct settings *settings = ctx;
    const char *ns = sync_client_ns(&settings->sync_client), *id = settings->sync_client.access.word;
    AUTO(job) struct job *job = get_job(client, settings->job, err);
    AUTO(json) cJSON *page = job ? sync_get_partitions(client, err) : NULL;
    AUTO(orphan) struct orphan orphan = {0};
    AUTO(record) struct record *record = NULL;
    AUTO(strv) struct strv problems = {0};

    if (!page || !orphan_find(page, id, settings->sync_client.controller, &orphan, err))
        return false;
    orphan_check_adoption(&orphan, job, page, &problems);
    if (!print_problems(settings, &problems))
        return false;
    record = orphan_record_of_job(&orphan, job);
    if (!settings->sync_client.dry_run && !sync_create_record(client, ns, record, err))
        return err_wrap(err, "partition %s", id);
    return printf("Partition %s (%u %s) on V-IPU controller %s %s IPUJob %s.\n", id, orphan.ipus,
                  orphan.ipus == 1 ? "IPU" : "IPUs", orphan.controller,
                  settings->sync_client.dry_run ? "would be adopted by" : "was adopted by", job->key) > 0;
}

int adopt_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {.sync_client.access.noun = "partition ID"};

    return sync_client_main(&SPEC, &settings.sync_client, adopt, argc, argv, env);
}
