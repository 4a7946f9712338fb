#include "operator/api/job/warnings.h"

#include "base/core/mem.h"
#include "operator/api/job/job_finished.h"
#include "operator/api/job/field.h"
#include "operator/api/job/jobspec.h"

#define LAUNCHER "spec/launcher"
#define WORKERS "spec/workers/template"

static bool is_new(const cJSON *old, const cJSON *job, const char *path)
{
    const cJSON *now = field_at(job, path);

    return now && !json_equal(now, field_at(old, path));
}

/* ---- changes that come too late ---- */

static cJSON *what_an_end_closes(const cJSON *job)
{
    cJSON *spec = json_dup(json_at(job, "spec"));

    json_drop(spec, "ttlSecondsAfterFinished");
    json_drop(spec, "cleanPodPolicy");
    return spec;
}

static bool is_changed_in_vain(const cJSON *old, const cJSON *job)
{
    AUTO(json) cJSON *before = what_an_end_closes(old);
    AUTO(json) cJSON *after = what_an_end_closes(job);

    return !json_equal(before, after);
}

static void advise_on_change(const cJSON *old, const cJSON *job, const struct job_spec *spec,
                             struct strv *warnings)
{
    const cJSON *status = json_at(old, "status");
    bool runs = str_eq(json_str(status, "launcherStatus", ""), "Running");

    if (status_is_finished(status)) {
        if (!status_is_rejection(status) && is_changed_in_vain(old, job))
            strv_push(warnings, "the job has finished, and this change has no effect; delete and create the "
                                "job again to rerun it");
    } else if (spec->has_launcher && runs && !spec->suspend &&
               (is_new(old, job, WORKERS) || is_new(old, job, LAUNCHER))) {
        strv_push(warnings, "the change takes effect when the job is suspended and resumed");
    }
}

/* ---- fields without effect ---- */

static void advise_on_restarts(const cJSON *old, const cJSON *job, struct strv *warnings)
{
    static const struct {
        const char *path, *name;
    } rows[] = {
        {WORKERS "/spec/restartPolicy", "spec.workers.template.spec.restartPolicy"},
        {LAUNCHER "/template/spec/restartPolicy", "spec.launcher.template.spec.restartPolicy"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (is_new(old, job, rows[i].path) && !str_eq(json_str(job, rows[i].path, ""), "Never"))
            strv_pushf(warnings, "%s: ignored; pods always use Never, use spec.restartPolicy", rows[i].name);
    }
}

static void advise_on_fields(const cJSON *old, const cJSON *job, const struct job_spec *spec,
                             struct strv *warnings)
{
    advise_on_restarts(old, job, warnings);
    if (spec->restart != RESTART_EXIT_CODE && is_new(old, job, "spec/restartPolicy/exitCodes"))
        strv_push(warnings, "spec.restartPolicy.exitCodes: ignored unless type is ExitCode");
    if (spec->has_launcher && is_new(old, job, "spec/workers/strategy"))
        strv_push(warnings, "spec.workers.strategy: ignored for a job with a launcher");
}

void warnings_for_job(const cJSON *old, const cJSON *job, struct strv *warnings)
{
    AUTO(strv) struct strv unused = {0};
    AUTO(jobspec) struct job_spec spec;

    jobspec_read(job, &spec, &unused);
    if (!job_is_managed_by_us(&spec))
        return;
    if (old)
        advise_on_change(old, job, &spec, warnings);
    advise_on_fields(old, job, &spec, warnings);
}
