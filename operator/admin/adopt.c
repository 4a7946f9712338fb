#include "operator/admin/adopt.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/admin/asking.h"
#include "operator/api/orphan.h"

struct settings {
    struct asking_settings asking;
    char *job;
};

static const struct opt ROWS[] = {
    {.flag = "job",
     .type = OPT_STR,
     .offset = offsetof(struct settings, job),
     .arg = "NAMESPACE/NAME",
     .help = "The IPUJob whose it is to be"},
    ASKING_PARTITION_ROWS,
    ASKING_NAMESPACE_ROW,
    ASKING_PAGES_ROW(offsetof(struct asking_settings, pages)),
    TOOL_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator adopt",
    .usage = "ipu-operator adopt PARTITION --job NAMESPACE/NAME [options]",
    .about = "Makes a partition without a record that of an IPUJob of the vendor's operator, if it is what "
             "the job asks for: it counts as the job's, and is given back when the job is deleted. Nothing "
             "that runs is touched. Ends with 0 when the record is there.",
    .rows = ROWS,
};

static struct job *ask_job(struct asking *asking, const char *key, struct err *err)
{
    const char *slash = key ? strchr(key, '/') : NULL;
    AUTO(mem) char *ns = slash ? mem_strndup(key, (size_t)(slash - key)) : NULL;
    AUTO(json) cJSON *body = NULL;
    struct job *job;

    if (!slash || !*ns || !slash[1] || strchr(slash + 1, '/')) {
        err_set(err, ERR_INVALID, "--job: expected NAMESPACE/NAME, got \"%s\"", key ? key : "");
        return NULL;
    }
    body = ask_kube(
        asking,
        &(struct kube_request){.method = "GET", .resource = &KUBE_IPUJOBS, .ns = ns, .name = slash + 1}, err);
    job = body ? job_parse(body) : NULL;
    if (!job)
        err_wrap(err, "IPUJob %s", key);
    return job;
}

static bool complain(const struct settings *settings, const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "ipu-operator: partition %s, IPUJob %s: %s\n", settings->asking.access.word,
                      settings->job, problems->items[i]);
    return problems->count == 0;
}

static bool adopt(struct asking *asking, const void *ctx, struct err *err)
{
    const struct settings *settings = ctx;
    const char *ns = asking_ns(&settings->asking), *id = settings->asking.access.word;
    AUTO(job) struct job *job = ask_job(asking, settings->job, err);
    AUTO(json) cJSON *page = job ? ask_page(asking, "/partitions", err) : NULL;
    AUTO(orphan) struct orphan orphan = {0};
    AUTO(record) struct record *record = NULL;
    AUTO(strv) struct strv problems = {0};

    if (!page || !orphan_find(page, id, settings->asking.controller, &orphan, err))
        return false;
    orphan_refuse_adoption(&orphan, job, page, &problems);
    if (!complain(settings, &problems))
        return false;
    record = orphan_record_of_job(&orphan, job);
    if (!settings->asking.dry_run && !ask_for_record(asking, ns, record, err))
        return err_wrap(err, "partition %s", id);
    return printf("Partition %s of %u IPUs of V-IPU controller %s %s IPUJob %s.\n", id, orphan.ipus,
                  orphan.controller, settings->asking.dry_run ? "would be given to" : "belongs to",
                  job->key) > 0;
}

static int run(void *ctx, struct loop *loop, struct kube *kube)
{
    const struct settings *settings = ctx;

    return asking_run(&settings->asking, adopt, loop, kube);
}

int adopt_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {.asking.access.noun = "the partition, with its whole id"};

    return tool_main(&SPEC, &settings.asking.access, run, argc, argv, env);
}
