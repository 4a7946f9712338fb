#include "operator/api/job/job.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "operator/api/job/additions.h"
#include "operator/api/job/jobspec.h"
#include "operator/api/names.h"
#include "operator/api/job/validate.h"
#include "operator/api/job/vendor.h"

/* An absent one is an empty object, and so is one that is too large, which validate_job reports. */
static struct compressed_text *pack_json(const cJSON *node, size_t max, uint64_t *ret_hash)
{
    AUTO(mem) char *text = node ? json_print(node) : mem_strdup("{}");

    *ret_hash = str_hash(text) | 1;
    return compressed_text_new(slice_of(strlen(text) > max ? "{}" : text));
}

uint64_t job_image(const cJSON *template)
{
    const cJSON *containers = json_at(template, "spec/containers");

    return str_hash(json_str(containers ? containers->child : NULL, "image", ""));
}

/* The templates as received, and the hashes that identify them. */
static void read_templates(struct job *job, const cJSON *spec)
{
    const cJSON *workers = json_at(spec, "workers/template"), *launcher = json_at(spec, "launcher");

    job->image = job_image(workers);
    job->overrides_restart_policy = !str_eq(json_str(workers, "spec/restartPolicy", "Never"), "Never");
    job->template_text = pack_json(workers, JOB_TEMPLATE_MAX, &job->revision);
    if (job->spec.has_launcher)
        job->launcher_text = pack_json(launcher, JOB_TEMPLATE_MAX, &job->launcher_revision);
}

static cJSON *unpack(const struct compressed_text *pack, struct err *err)
{
    AUTO(mem) char *text = compressed_text_get(pack);

    return json_parse(slice_of(text), err);
}

cJSON *job_template(const struct job *job, struct err *err)
{
    return unpack(job->template_text, err);
}

cJSON *job_launcher(const struct job *job, struct err *err)
{
    return unpack(job->launcher_text, err);
}

cJSON *job_status(const struct job *job, struct err *err)
{
    return unpack(job->status_text, err);
}

static size_t bytes_of_finalizer(const cJSON *item)
{
    size_t len = strlen(item->valuestring);

    return len < JOB_FINALIZER_LEAST ? JOB_FINALIZER_LEAST : len;
}

size_t job_finalizer_bytes(const cJSON *object)
{
    size_t bytes = 0;

    JSON_EACH (item, json_at(object, "metadata/finalizers"))
        bytes += cJSON_IsString(item) ? bytes_of_finalizer(item) : 0;
    return bytes;
}

static void read_finalizers(struct job *job, const cJSON *object)
{
    size_t bytes = 0;

    JSON_EACH (item, json_at(object, "metadata/finalizers")) {
        if (!cJSON_IsString(item))
            continue;
        job->has_finalizer = job->has_finalizer || str_eq(item->valuestring, API_FINALIZER);
        bytes += bytes_of_finalizer(item);
        if (bytes <= JOB_FINALIZERS_MAX)
            strv_push(&job->finalizers, item->valuestring);
    }
    job->has_many_finalizers = bytes > JOB_FINALIZERS_MAX;
}

/* Users can write it: what is longer than the name of a namespace is nobody's, however long it is. */
static char *read_operator(const cJSON *metadata, const char *path)
{
    const char *ns = json_str(metadata, path, "");

    return *ns ? mem_strndup(ns, strnlen(ns, LABEL_MAX + 1)) : NULL;
}

/* A part of one that is too long could name another partition at its end. */
static char *read_release(const cJSON *metadata)
{
    const char *ids = json_str(metadata, "annotations/graphcore.ai~1release", "");

    return *ids && strlen(ids) <= JOB_RELEASE_MAX ? mem_strdup(ids) : NULL;
}

static void read_preemption(struct job *job, const cJSON *metadata)
{
    const char *preemptible = json_str(metadata, "annotations/graphcore.ai~1preemptible", NULL);

    timefmt_parse_rfc3339(json_str(metadata, "annotations/graphcore.ai~1checkpointed-at", ""),
                          &job->checkpointed_s);
    job->is_preemptible = preemptible ? str_eq(preemptible, "true") : job->checkpointed_s > 0;
}

struct job *job_parse(const cJSON *object)
{
    const cJSON *metadata = json_at(object, "metadata");
    const cJSON *status = json_at(object, "status");

    if (!json_str(metadata, "name", NULL) || !json_str(metadata, "uid", NULL))
        return NULL;

    struct job *job = NEW(struct job);
    uint64_t unused;

    job->ns = mem_strdup(json_str(metadata, "namespace", ""));
    job->name = mem_strdup(json_str(metadata, "name", ""));
    job->uid = mem_strdup(json_str(metadata, "uid", ""));
    job->resource_version = mem_strdup(json_str(metadata, "resourceVersion", ""));
    job->generation = json_i64(metadata, "generation", 0);
    timefmt_parse_rfc3339(json_str(metadata, "creationTimestamp", ""), &job->created_s);
    job->deleting = json_str(metadata, "deletionTimestamp", NULL) != NULL;
    timefmt_parse_rfc3339(json_str(metadata, "deletionTimestamp", ""), &job->deleted_s);
    job->key = mem_printf("%s/%s", job->ns, job->name);
    read_finalizers(job, object);
    job->operator_ns =
        job->has_finalizer ? read_operator(metadata, "annotations/graphcore.ai~1operator") : NULL;
    job->first_operator_ns = read_operator(metadata, "annotations/graphcore.ai~1first-operator");
    job->is_vendors = vendor_owns(object);
    job->release = read_release(metadata);
    read_preemption(job, metadata);
    job->status_text = pack_json(cJSON_IsObject(status) ? status : NULL, SIZE_MAX, &unused);
    (void)snprintf(job->state, sizeof(job->state), "%s", json_str(status, "launcherStatus", ""));
    validate_job(object, &job->spec, &job->problems);
    if (!job->has_finalizer) /* what is accepted once goes on */
        additions_check(NULL, object, &job->problems);
    read_templates(job, json_at(object, "spec"));
    return job;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    mem_free(job->ns);
    mem_free(job->name);
    mem_free(job->uid);
    mem_free(job->resource_version);
    mem_free(job->operator_ns);
    mem_free(job->first_operator_ns);
    mem_free(job->release);
    jobspec_release(&job->spec);
    strv_release(&job->problems);
    strv_release(&job->finalizers);
    mem_free(job->key);
    mem_free(job->template_text);
    mem_free(job->launcher_text);
    mem_free(job->status_text);
    mem_free(job);
}

bool job_view_item(void *ctx, const cJSON *item, void **ret)
{
    (void)ctx;
    return (*ret = job_parse(item)) != NULL;
}

void job_free_item(void *view)
{
    job_free(view);
}
