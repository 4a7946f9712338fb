/* Any object as an IPUJob: it is read without harm, every mistake is one line that begins with a field's
 * path, and a spec without mistakes has a shape that fits together, names that fit, and pods that can be
 * made. What the operator decides about it, finished or not, ends as well. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/pod/pod_spec.h"
#include "operator/reconcile/decide/decide.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_problems(const struct job *job)
{
    for (size_t i = 0; i < job->problems.count; i++) {
        const char *problem = job->problems.items[i];

        assert(str_has_prefix(problem, "spec.") || str_has_prefix(problem, "metadata.name: ") ||
               strstr(problem, ": Forbidden: unknown field"));
        assert(strstr(problem, ": ") && !strchr(problem, '\n'));
        for (size_t j = 0; j < i; j++)
            assert(!str_eq(problem, job->problems.items[j]));
    }
}

static void check_shape(const struct job_spec *spec)
{
    uint32_t gcds = job_gcds(spec), replicas = job_vipu_replicas(spec);

    assert(spec->ipus_per_instance > 0 && spec->workers_per_instance > 0);
    assert(gcds > 0 && spec->ipus_per_instance % gcds == 0);
    assert(replicas >= gcds && replicas % gcds == 0 && spec->ipus_per_instance % replicas == 0);
    assert(!job_is_reconfigurable(spec) || (gcds == 1 && spec->ipus_per_instance <= 64));
    assert(job_is_reconfigurable(spec) || gcds >= spec->workers_per_instance);
    assert(!job_has_popdist(spec) || spec->ipus_per_instance % spec->workers_per_instance == 0);
}

static void check_pod(const struct job *job)
{
    const struct partition_placement place = {
        .partition = "p", .vipu_host = "h", .vipu_port = 1, .node_label = "l", .node_value = "v"};
    const struct pod_spec_options options = {.launcher_image = "i", .host_network = true};
    uint32_t workers = job->spec.workers_per_instance;
    uint32_t instance = job->spec.instances ? job->spec.instances - 1 : 0;
    struct err err = {0};
    AUTO(json) cJSON *pod = pod_spec_worker(job, instance, workers - 1, &place, &options, &err);

    assert(pod);
    assert(strlen(json_str(pod, "metadata/labels/graphcore.ai~1job-name", "")) <= LABEL_MAX);
    AUTO(mem) char *host = name_worker_host(job->name, job->uid, instance);
    AUTO(mem) char *service = name_worker_service(job->name, job->uid);
    assert(strlen(host) <= LABEL_MAX && !strchr(host, '.'));
    assert(strlen(service) <= LABEL_MAX && !strchr(service, '.'));
    assert(str_eq(json_str(pod, "spec/restartPolicy", ""), "Never"));
    AUTO(mem) char *text = json_print(pod);
    AUTO(json) cJSON *again = json_parse(slice_of(text), &err);
    assert(again);
}

static void check_decision(const struct job *job)
{
    struct job_view view = {
        .job = job, .ns = job->ns, .name = job->name, .partition_prefix = "p", .now_ms = 1000};
    AUTO(plan) struct plan plan = {0};

    job_decide(&view, &plan);
    for (size_t i = 0; i < plan.count; i++)
        assert(plan.ops[i].kind != OP_POD_CREATE && plan.ops[i].kind != OP_RECORD_CREATE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse((struct slice){(const char *)bytes, len}, &err);
    AUTO(job) struct job *job = object ? job_parse(object) : NULL;

    if (!job || job->name[strspn(job->name, "abcdefghijklmnopqrstuvwxyz0123456789.-")])
        return 0; /* the API server sees to names */
    check_problems(job);
    check_decision(job);
    if (job->problems.count)
        return 0;
    check_shape(&job->spec);
    check_pod(job);
    return 0;
}
