#include "operator/admin/adopt.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/admin/asking.h"
#include "operator/admin/tool.h"
#include "operator/api/orphan.h"

struct settings {
    struct tool_access access;
    char *pages, *ns, *controller, *job;
    bool dry_run;
};

#define AT(field) offsetof(struct settings, field)

static const struct opt ROWS[] = {
    {.flag = "job",
     .type = OPT_STR,
     .offset = AT(job),
     .arg = "NAMESPACE/NAME",
     .help = "The IPUJob whose it is to be"},
    {.flag = "dry-run",
     .type = OPT_FLAG,
     .offset = AT(dry_run),
     .fallback = "false",
     .help = "Say what would be done, and change nothing"},
    {.flag = "controller",
     .type = OPT_STR,
     .offset = AT(controller),
     .arg = "HOST:PORT",
     .help = "The V-IPU controller that has it, if several have one of that id"},
    {.flag = "namespace",
     .type = OPT_STR,
     .offset = AT(ns),
     .arg = "NAME",
     .help = "The operator's namespace; default: the pod's, or the context's"},
    ASKING_PAGES_ROW(AT(pages)),
    TOOL_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator adopt",
    .usage = "ipu-operator adopt PARTITION --job NAMESPACE/NAME [options]",
    .about = "Makes a partition without a record that of an IPUJob of the vendor's operator, if it is what\n"
             "the job asks for: it counts as the job's, and is given back when the job is deleted. Nothing\n"
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
        (void)fprintf(stderr, "ipu-operator: partition %s, IPUJob %s: %s\n", settings->access.word,
                      settings->job, problems->items[i]);
    return problems->count == 0;
}

static bool adopt(struct asking *asking, const struct settings *settings, struct err *err)
{
    const char *ns = settings->ns ? settings->ns : settings->access.ns, *id = settings->access.word;
    AUTO(job) struct job *job = ask_job(asking, settings->job, err);
    AUTO(json) cJSON *page = job ? ask_page(asking, "/partitions", err) : NULL;
    AUTO(orphan) struct orphan orphan = {0};
    AUTO(record) struct record *record = NULL;
    AUTO(strv) struct strv problems = {0};

    if (!page || !orphan_find(page, id, settings->controller, &orphan, err))
        return false;
    orphan_refuse_adoption(&orphan, job, page, &problems);
    if (!complain(settings, &problems))
        return false;
    record = orphan_record_of_job(&orphan, job);
    if (!settings->dry_run && !ask_for_record(asking, ns, record, err))
        return err_wrap(err, "partition %s", id);
    return printf("Partition %s of %u IPUs of V-IPU controller %s %s IPUJob %s.\n", id, orphan.ipus,
                  orphan.controller, settings->dry_run ? "would be given to" : "belongs to", job->key) > 0;
}

static int run(void *ctx, struct loop *loop, struct kube *kube)
{
    const struct settings *settings = ctx;
    AUTO(asking) struct asking asking = {0};
    struct err err = {0};

    if (asking_init(&asking, loop, kube, settings->pages, &err) && adopt(&asking, settings, &err))
        return TOOL_DONE;
    if (err.kind != ERR_NONE)
        (void)fprintf(stderr, "ipu-operator: %s\n", err.msg);
    return TOOL_REFUSED;
}

int adopt_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {.access.noun = "the partition, with its whole id"};

    return tool_main(&SPEC, &settings.access, run, argc, argv, env);
}
