#include "pod_spec_cases.h"

#include "base/core/mem.h"
#include "base/doc/yaml.h"
#include "lib/check.h"
#include "lib/golden.h"

#define TARGET_OPTIONS "{\"ipuLinkDomainSize\":\"64\",\"instanceSize\":\"4\"}"

static const char *const secrets[] = {"registry-a", "registry-b", NULL};

const struct pod_spec_case pod_spec_cases[] = {
    {"seed-bert",
     0,
     0,
     {.partition = "p-bert-training-multi-ipu-x7k2p-gc-dev-0",
      .vipu_host = "10.21.21.129",
      .vipu_port = 8090,
      .node_label = "vipu",
      .node_value = "pod64",
      .reconfigurable = true,
      .target_options = TARGET_OPTIONS},
     {.launcher_image = "launcher:1", .launcher_pull_policy = "IfNotPresent", .host_network = true}},
    {"seed-poprun",
     0,
     0,
     {.partition = "p-bert-poprun-64ipus-gc-dev-0",
      .vipu_host = "10.21.21.129",
      .vipu_port = 8090,
      .target_options = TARGET_OPTIONS},
     {.launcher_image = "launcher:1", .launcher_pull_policy = "IfNotPresent", .host_network = true}},
    {"env-from",
     0,
     0,
     {.partition = "p-env-from-team-0", .run = 2, .vipu_host = "vipu", .vipu_port = 8090},
     {.launcher_image = "launcher:1"}},
    {"no-command",
     1,
     2,
     {.partition = "p-no-command-team-1",
      .vipu_host = "vipu",
      .vipu_port = 8090,
      .target_options = TARGET_OPTIONS},
     {.launcher_image = "launcher:1", .host_network = true}},
    {"interactive",
     0,
     0,
     {.partition = "p-interactive-team-0", .vipu_host = "vipu", .vipu_port = 8090, .reconfigurable = true},
     {.launcher_image = "launcher:1"}},
    {"user-env",
     0,
     0,
     {.partition = "p-user-env-team-0", .vipu_host = "vipu", .vipu_port = 8090},
     {.launcher_image = "launcher:1"}},
    {"sidecars",
     0,
     0,
     {.partition = "p-sidecars-team-0",
      .vipu_host = "vipu",
      .vipu_port = 8090,
      .node_label = "vipu",
      .node_value = "pod64",
      .reconfigurable = true},
     {.launcher_image = "launcher:1", .pull_secrets = secrets}},
    {"mpi",
     1,
     1,
     {.partition = "p-mpi-team-1",
      .run = 2,
      .start = 5,
      .vipu_host = "vipu",
      .vipu_port = 8090,
      .agent_port = 2222,
      .target_options = TARGET_OPTIONS},
     {.launcher_image = "launcher:1"}},
    {"mpi-changed",
     0,
     0,
     {.partition = "p-mpi-changed-team-0",
      .vipu_host = "vipu",
      .vipu_port = 8090,
      .node_label = "vipu",
      .node_value = "pod64",
      .agent_port = 12345},
     {.launcher_image = "launcher:1", .host_network = true, .mpi_network = "10.0.0.0/8"}},
    {"secure",
     0,
     0,
     {.partition = "p-secure-team-0",
      .vipu_host = "vipu",
      .vipu_port = 8090,
      .start = 3,
      .vipu_tls = true,
      .has_vipu_user = true,
      .has_vipu_ca = true},
     {.launcher_image = "launcher:1"}},
    {"secure-own",
     0,
     0,
     {.partition = "p-secure-own-team-0",
      .vipu_host = "vipu",
      .vipu_port = 8090,
      .vipu_tls = true,
      .has_vipu_user = true},
     {.launcher_image = "launcher:1"}},
    {"secure-mpi",
     0,
     1,
     {.partition = "p-secure-mpi-team-0",
      .vipu_host = "vipu",
      .vipu_port = 8090,
      .start = 1,
      .agent_port = 2222,
      .vipu_tls = true,
      .has_vipu_user = true,
      .has_vipu_ca = true},
     {.launcher_image = "launcher:1"}},
    {"two-workers",
     1,
     1,
     {.partition = "p-two-workers-team-1",
      .vipu_host = "vipu",
      .vipu_port = 8090,
      .target_options = TARGET_OPTIONS},
     {.launcher_image = "launcher:1"}},
};

const size_t pod_spec_case_count = COUNT_OF(pod_spec_cases);

struct job *pod_spec_case_job(const struct pod_spec_case *c)
{
    AUTO(mem) char *file = mem_printf("pods/%s.yaml", c->name);
    AUTO(mem) char *text = golden_read(file);
    AUTO(yaml) struct yaml_doc doc = {0};
    struct err err = {0};
    struct job *job;

    CHECK_OK(yaml_parse(slice_of(text), file, &doc, &err), err);
    job = job_parse(doc.root);
    if (!job || job->problems.count)
        CHECK_FAIL("%s: %s", file, job ? job->problems.items[0] : "is no job");
    return job;
}

void pod_spec_case_set_template(struct job *job, const char *text)
{
    mem_free(job->template_text);
    job->template_text = compressed_text_new(slice_of(text));
}

cJSON *pod_spec_case_pod(const struct pod_spec_case *c, const struct job *job)
{
    struct err err = {0};
    cJSON *pod = pod_spec_worker(job, c->instance, c->worker, &c->place, &c->options, &err);

    CHECK_OK(pod, err);
    return pod;
}
