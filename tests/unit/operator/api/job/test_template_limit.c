/* What the templates of a namespace may take. */
#include "operator/api/job/template_limit.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define REJECTED(kib)                                                                                        \
    "spec.workers.template: Forbidden: the templates of all jobs in namespace team would take " kib          \
    " KiB compressed, limit 65536 KiB; delete jobs, or put large values into ConfigMaps"

/* With so many bytes in each template, which cannot be compressed to less than half. */
static cJSON *object_with(size_t bytes, bool has_launcher)
{
    AUTO(mem) char *filler = mem_alloc(bytes + 1);
    cJSON *object = json_object();
    cJSON *metadata = json_put_object(object, "metadata"), *spec = json_put_object(object, "spec");
    uint32_t random = 1;

    for (size_t i = 0; i < bytes; i++)
        filler[i] = (char)('0' + ((random = random * 1664525u + 1013904223u) >> 24) % 64);
    json_put_str(metadata, "namespace", "team");
    json_put_str(metadata, "name", "train");
    json_put_str(metadata, "uid", "u1");
    json_put_str(json_put_object(json_put_object(spec, "workers"), "template"), "filler", filler);
    if (has_launcher)
        json_put_str(json_put_object(spec, "launcher"), "filler", filler);
    return object;
}

static struct job *job_with(size_t bytes)
{
    AUTO(json) cJSON *object = object_with(bytes, true);
    struct job *job = job_parse(object);

    strv_release(&job->problems); /* of a job that has nothing else */
    return job;
}

static void check_admission(const cJSON *old, const cJSON *job, size_t bytes, const char *problem)
{
    AUTO(strv) struct strv problems = {0};

    template_limit_check(old, job, "team", bytes, &problems);
    CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, problem);
}

TEST(a_job_is_admitted_while_its_namespace_has_room)
{
    AUTO(json) cJSON *small = object_with(10, false), *large = object_with(40000, true);
    AUTO(job) struct job *parsed = job_parse(large), *before = job_parse(small);
    size_t bytes = template_bytes(parsed);
    AUTO(mem)
    char *grown =
        mem_printf(REJECTED("%zu"), (TEMPLATE_LIMIT_BYTES + bytes - template_bytes(before) + 1023) / 1024);

    CHECK(bytes > 40000);
    check_admission(NULL, large, 0, NULL);
    check_admission(NULL, large, TEMPLATE_LIMIT_BYTES - bytes, NULL);
    check_admission(NULL, large, TEMPLATE_LIMIT_BYTES - bytes + 1, REJECTED("65537"));
    check_admission(small, large, TEMPLATE_LIMIT_BYTES, grown);
    check_admission(large, large, TEMPLATE_LIMIT_BYTES + bytes, NULL); /* other fields */
    check_admission(large, small, TEMPLATE_LIMIT_BYTES + bytes, NULL); /* less */
}

TEST(templates_without_room_are_not_kept)
{
    AUTO(job) struct job *fits = job_with(40000), *late = job_with(40000), *small = job_with(0);
    size_t bytes = template_bytes(fits);

    template_limit_apply(fits, TEMPLATE_LIMIT_BYTES - bytes);
    CHECK_INT_EQ(fits->problems.count, 0);
    CHECK_INT_EQ(template_bytes(fits), bytes);
    template_limit_apply(late, TEMPLATE_LIMIT_BYTES - bytes + 1);
    CHECK_INT_EQ(late->problems.count, 1);
    CHECK_STR_EQ(late->problems.items[0], REJECTED("65537"));
    CHECK(template_bytes(late) < template_bytes(small));
}

TEST(a_job_that_was_accepted_goes_on)
{
    AUTO(job) struct job *accepted = job_with(100), *forged = job_with(100);

    accepted->has_finalizer = forged->has_finalizer = true;
    template_limit_apply(accepted, TEMPLATE_LIMIT_BYTES);
    CHECK_INT_EQ(accepted->problems.count, 0);
    template_limit_apply(forged, 2 * TEMPLATE_LIMIT_BYTES); /* users can write the finalizer */
    CHECK_INT_EQ(forged->problems.count, 1);
}
