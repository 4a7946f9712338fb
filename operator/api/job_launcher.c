#include "base/core/mem.h"
#include "operator/api/job_read.h"

/* All their names and addresses are one environment variable, of at most 128 KiB. */
#define LAUNCHED_WORKERS_MAX 1024

static bool are_words(const cJSON *list)
{
    JSON_EACH (word, list) {
        if (!cJSON_IsString(word))
            return false;
    }
    return cJSON_IsArray(list) && list->child;
}

static void check_launcher_env(struct job *job, const cJSON *env)
{
    int n = 0;

    if (env && !cJSON_IsArray(env) && !cJSON_IsNull(env))
        job_problem(job, "launcher/env", env, "must be a list of variables");
    JSON_EACH (item, env) {
        if (!json_str(item, "name", NULL))
            strv_pushf(&job->problems, "spec.launcher.env[%d].name: is required", n);
        n++;
    }
}

/* The operator puts both commands together; what it cannot use is said, not ignored. */
static void check_launcher_template(struct job *job, const cJSON *spec)
{
    const cJSON *own = json_at(spec, "launcher/template/spec/containers");
    const cJSON *workers = json_at(spec, "workers/template/spec/containers");

    if (json_at(cJSON_IsArray(own) ? own->child : NULL, "command"))
        strv_push(&job->problems, "spec.launcher.template.spec.containers[0].command: the launcher's command "
                                  "stands in spec.launcher.command");
    if (json_at(cJSON_IsArray(workers) ? workers->child : NULL, "args") &&
        !json_at(workers->child, "command"))
        strv_push(&job->problems,
                  "spec.workers.template.spec.containers[0].args: need a command beside them "
                  "in a job with a launcher, whose workers do not run their image's entry point");
}

void job_read_launcher(struct job *job, const cJSON *spec)
{
    const cJSON *launcher = json_at(spec, "launcher");

    if (!launcher || cJSON_IsNull(launcher))
        return;
    job->spec.has_launcher = true;
    job->launcher_json = json_print(launcher);
    if (!are_words(json_at(launcher, "command")))
        job_problem(job, "launcher/command", json_at(launcher, "command"),
                    "must be the words of a command, such as [\"mpirun\", \"program\"]");
    check_launcher_env(job, json_at(launcher, "env"));
    check_launcher_template(job, spec);
    if (job->spec.workers_per_instance > LAUNCHED_WORKERS_MAX)
        strv_pushf(&job->problems, "spec.workersPerJobInstance: a launcher starts at most %d workers, got %u",
                   LAUNCHED_WORKERS_MAX, job->spec.workers_per_instance);
}
