#include "operator/api/job/template_limit.h"

#include "base/core/mem.h"
#include "operator/api/field.h"

size_t template_bytes(const struct job *job)
{
    return compressed_text_bytes(job->template_text) + compressed_text_bytes(job->launcher_text);
}

static size_t bytes_at(const cJSON *job, const char *path)
{
    const cJSON *node = json_at(job, path);
    AUTO(mem) char *text = node ? json_print(node) : NULL;
    AUTO(mem) struct compressed_text *packed = text ? compressed_text_new(slice_of(text)) : NULL;

    return compressed_text_bytes(packed);
}

static size_t bytes_of(const cJSON *job)
{
    return bytes_at(job, "spec/workers/template") + bytes_at(job, "spec/launcher");
}

static void report_excess(const char *ns, size_t bytes, struct strv *problems)
{
    AUTO(mem)
    char *what =
        mem_printf("the templates of all jobs in namespace %s would take %zu KiB compressed, limit %zu "
                   "KiB; delete jobs, or put large values into ConfigMaps",
                   ns, (bytes + 1023) / 1024, TEMPLATE_LIMIT_BYTES / 1024);

    field_forbidden(problems, "spec/workers/template", what);
}

void template_limit_check(const cJSON *old, const cJSON *job, const char *ns, size_t bytes,
                          struct strv *problems)
{
    size_t before, now;

    if (bytes <= TEMPLATE_LIMIT_BYTES / 2) /* whatever the job has, without compressing it */
        return;
    before = bytes_of(old);
    now = bytes_of(job);
    if (now > before && bytes + now - before > TEMPLATE_LIMIT_BYTES)
        report_excess(ns, bytes + now - before, problems);
}

static void drop_template(struct compressed_text **text)
{
    if (!*text)
        return;
    mem_free(*text);
    *text = compressed_text_new(slice_of("{}"));
}

void template_limit_apply(struct job *job, size_t others_bytes)
{
    size_t bytes = others_bytes + template_bytes(job);

    if (bytes <= (job->has_finalizer ? 2 : 1) * TEMPLATE_LIMIT_BYTES)
        return;
    report_excess(job->ns, bytes, &job->problems);
    drop_template(&job->template_text);
    drop_template(&job->launcher_text);
}
