#include "operator/api/job/validate.h"

#include <ctype.h>
#include <string.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "operator/api/field.h"
#include "operator/api/job/jobspec.h"
#include "operator/api/names.h"
#include "operator/api/job/env_conflicts.h"
#include "operator/api/job/template_types.h"

/* All their names and addresses are in one environment variable, of at most 128 KiB. */
#define LAUNCHED_WORKERS_MAX 1024

/* ---- the object ---- */

static void check_name(const cJSON *job, struct strv *problems)
{
    const char *name = json_str(job, "metadata/name", "");
    size_t length = strlen(name);

    if (length > JOB_NAME_MAX) {
        AUTO(mem)
        char *what =
            mem_printf("must be no more than %d characters (used as a pod label value)", JOB_NAME_MAX);
        field_invalid(problems, "metadata/name", json_at(job, "metadata/name"), what);
    }
}

/* A string in place of an object would be read as an empty object. */
static void check_objects(const cJSON *job, struct strv *problems)
{
    static const char *const paths[] = {
        "spec/launcher",         "spec/launcher/template",     "spec/launcher/template/spec",
        "spec/partition",        "spec/restartPolicy",         "spec/interactive",
        "spec/workers",          "spec/workers/strategy",      "spec/workers/strategy/rollingUpdate",
        "spec/workers/template", "spec/workers/template/spec",
    };

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const cJSON *value = field_at(job, paths[i]);

        if (value && !cJSON_IsObject(value))
            field_invalid(problems, paths[i], value,
                          str_eq(paths[i], "spec/restartPolicy")
                              ? "must be an object, such as {type: OnFailure}"
                              : "must be an object");
    }
}

/* ---- pod templates ---- */

static bool is_label(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length <= LABEL_MAX && name[strspn(name, NAME_LETTERS)] == '\0' && name[0] != '-' &&
           name[length - 1] != '-';
}

static bool is_taken(const char *name, bool is_container)
{
    static const char *const taken[] = {NAME_LAUNCHER_PART, NAME_KEYS_VOLUME, NAME_SCRATCH_VOLUME,
                                        NAME_VIPU_VOLUME, NAME_PROGRESS_VOLUME};

    for (size_t i = 0; i < (is_container ? 1 : COUNT_OF(taken)); i++) {
        if (str_eq(name, taken[i]))
            return true;
    }
    return false;
}

/* seen: the previous names, to which its own is added. */
static void check_named(const cJSON *item, const char *path, bool is_container, struct map *seen,
                        struct strv *problems)
{
    const cJSON *name = field_at(item, "name");

    if (!name)
        field_required(problems, path);
    else if (!cJSON_IsString(name) || (is_container && !is_label(name->valuestring)))
        field_invalid(problems, path, name,
                      "must consist of at most 63 lowercase letters, digits and '-', and start and end with "
                      "a letter or digit");
    else if (map_set(seen, name->valuestring, seen))
        field_duplicate(problems, path, name);
    else if (is_taken(name->valuestring, is_container))
        field_forbidden(problems, path, "is reserved for the operator; choose another name");
}

static void check_list(const cJSON *job, const char *template_path, const char *what, struct strv *problems)
{
    AUTO(mem) char *path = mem_printf("%s/spec/%s", template_path, what);
    const cJSON *list = field_at(job, path);
    struct map seen = {0};
    size_t n = 0;

    if (list && !cJSON_IsArray(list)) {
        field_invalid(problems, path, list, "must be a list");
        return;
    }
    JSON_EACH (item, list) {
        AUTO(mem) char *name = mem_printf("%s[%zu]/name", path, n++);

        check_named(item, name, !str_eq(what, "volumes"), &seen, problems);
    }
    map_release(&seen);
}

static void check_template(const cJSON *job, const char *path, struct strv *problems)
{
    static const char *const lists[] = {"containers", "initContainers", "volumes"};

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        check_list(job, path, lists[i], problems);
    template_types_check(job, path, problems);
}

/* Bytes of JSON as the operator keeps them. */
static void check_size(const cJSON *job, const char *path, struct strv *problems)
{
    AUTO(mem) char *text = json_print(json_at(job, path));
    size_t bytes = strlen(text);

    if (bytes <= JOB_TEMPLATE_MAX)
        return;
    AUTO(mem)
    char *what = mem_printf("has %zu KiB as JSON, limit %zu KiB; put large values into a ConfigMap",
                            (bytes + 1023) / 1024, JOB_TEMPLATE_MAX / 1024);
    field_forbidden(problems, path, what);
}

static void check_workers(const cJSON *job, struct strv *problems)
{
    static const char *const needed[] = {"spec/workers", "spec/workers/template",
                                         "spec/workers/template/spec",
                                         "spec/workers/template/spec/containers"};
    const cJSON *containers = field_at(job, needed[3]);

    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        if (!field_at(job, needed[i])) {
            field_required(problems, needed[i]);
            return;
        }
    }
    if (cJSON_IsArray(containers) && !containers->child)
        field_required(problems, needed[3]);
    check_size(job, "spec/workers/template", problems);
    check_template(job, "spec/workers/template", problems);
}

/* ---- launcher ---- */

static void check_command(const cJSON *job, struct strv *problems)
{
    const cJSON *command = field_at(job, "spec/launcher/command");

    if (!command || (cJSON_IsArray(command) && !command->child)) {
        field_required(problems, "spec/launcher/command");
        return;
    }
    JSON_EACH (word, command) {
        if (!cJSON_IsString(word))
            command = NULL;
    }
    if (!cJSON_IsArray(command))
        field_invalid(problems, "spec/launcher/command", json_at(job, "spec/launcher/command"),
                      "must be a command as a list of strings, such as [\"mpirun\", \"program\"]");
}

/* The operator combines both commands; a part that it cannot use is an error, not ignored. */
static void check_commands_fit(const cJSON *job, struct strv *problems)
{
    const cJSON *own = json_at(job, "spec/launcher/template/spec/containers");
    const cJSON *workers = json_at(job, "spec/workers/template/spec/containers");

    if (field_at(cJSON_IsArray(own) ? own->child : NULL, "command"))
        field_forbidden(problems, "spec/launcher/template/spec/containers[0]/command",
                        "must not be set; use spec.launcher.command");
    if (field_at(cJSON_IsArray(workers) ? workers->child : NULL, "args") &&
        !field_at(workers->child, "command"))
        field_forbidden(
            problems, "spec/workers/template/spec/containers[0]/args",
            "requires command: workers of a job with a launcher do not run the image's entry point");
}

/* The field that defines the number of workers. */
static const char *workers_path(const cJSON *job)
{
    return field_at(job, "spec/workersPerJobInstance") ? "spec/workersPerJobInstance"
                                                       : "spec/workers/replicas";
}

static void check_launcher(const cJSON *job, const struct job_spec *spec, struct strv *problems)
{
    if (!spec->has_launcher || !cJSON_IsObject(json_at(job, "spec/launcher")))
        return;
    check_size(job, "spec/launcher", problems);
    check_command(job, problems);
    template_types_check_env(job, "spec/launcher/env", problems);
    check_template(job, "spec/launcher/template", problems);
    check_commands_fit(job, problems);
    if (spec->workers_per_instance > LAUNCHED_WORKERS_MAX) {
        const char *path = workers_path(job);
        AUTO(mem)
        char *what = mem_printf("must be at most %d in a job with a launcher", LAUNCHED_WORKERS_MAX);

        field_invalid(problems, path, json_at(job, path), what);
    }
}

void validate_job(const cJSON *job, struct job_spec *ret, struct strv *problems)
{
    size_t before;

    struct job_spec known;

    check_name(job, problems);
    before = problems->count;
    jobspec_read(job, ret, problems);
    known = *ret;
    if (problems->count > before)
        known.ipus_per_instance = 0;
    env_conflicts_check(job, &known, problems);
    check_objects(job, problems);
    check_workers(job, problems);
    check_launcher(job, ret, problems);
}

/* ---- changes ---- */

static void cannot_change(const cJSON *job, const char *path, struct strv *problems)
{
    const cJSON *value = json_at(job, path);
    const char *why = "field is immutable; create a new job instead";

    if (value)
        field_invalid(problems, path, value, why);
    else
        field_forbidden(problems, path, "field is immutable and cannot be removed; create a new job instead");
}

static bool is_wrong(const struct strv *problems, const char *path)
{
    for (size_t i = 0; i < problems->count; i++) {
        if (str_has_prefix(problems->items[i], path) && problems->items[i][strlen(path)] == ':')
            return true;
    }
    return false;
}

void validate_change(const cJSON *old, const cJSON *job, struct strv *problems)
{
    AUTO(strv) struct strv wrong = {0}, unused = {0};
    AUTO(jobspec) struct job_spec before, after;
    bool workers_were_wrong;

    jobspec_read(old, &before, &wrong);
    jobspec_read(job, &after, &unused);
    workers_were_wrong =
        is_wrong(&wrong, "spec.workersPerJobInstance") || is_wrong(&wrong, "spec.workers.replicas");
    if (before.ipus_per_instance && before.ipus_per_instance != after.ipus_per_instance)
        cannot_change(job, "spec/ipusPerJobInstance", problems);
    if (!workers_were_wrong && before.workers_per_instance != after.workers_per_instance)
        cannot_change(job, workers_path(job), problems);
    if (!is_wrong(&wrong, "spec.modelReplicasPerWorker") &&
        before.replicas_per_worker != after.replicas_per_worker)
        cannot_change(job, "spec/modelReplicasPerWorker", problems);
    if (!json_equal(field_at(old, "spec/partition"), field_at(job, "spec/partition")))
        cannot_change(job, "spec/partition", problems);
    if (before.has_launcher != after.has_launcher)
        cannot_change(job, "spec/launcher", problems);
    if (!str_eq(before.managed_by, after.managed_by))
        cannot_change(job, "spec/managedBy", problems);
}

static void cannot_grow(const cJSON *job, const char *path, struct strv *problems)
{
    const char *why = "must not become longer while the job has IPUs: other jobs may be promised them; set "
                      "spec.suspend to true first";
    const cJSON *value = field_at(job, path);

    if (value)
        field_invalid(problems, path, value, why);
    else
        field_forbidden(problems, path,
                        "must not be removed while the job has IPUs: other jobs may be promised "
                        "them; set spec.suspend to true first");
}

static uint32_t grace_of(const cJSON *job)
{
    return job_grace_s(json_at(job, "spec/workers/template"), json_at(job, "spec/launcher"));
}

void validate_limits(const cJSON *old, const cJSON *job, struct strv *problems)
{
    static const char launcher_grace[] = "spec/launcher/template/spec/terminationGracePeriodSeconds";
    static const char workers_grace[] = "spec/workers/template/spec/terminationGracePeriodSeconds";
    AUTO(strv) struct strv unused = {0};
    AUTO(jobspec) struct job_spec before, after;
    uint32_t limit_s;

    jobspec_read(old, &before, &unused);
    jobspec_read(job, &after, &unused);
    limit_s = job_limit_s(&before);
    if (!limit_s || after.suspend || !json_at(old, "status/startTime") ||
        json_at(old, "status/completionTime"))
        return;
    if (!job_limit_s(&after) || job_limit_s(&after) > limit_s)
        cannot_grow(
            job, before.active_deadline_s == limit_s ? "spec/activeDeadlineSeconds" : "spec/interactive/ttl",
            problems);
    if (grace_of(job) > grace_of(old))
        cannot_grow(job,
                    field_at(job, launcher_grace) &&
                            job_pod_grace_s(json_at(job, "spec/launcher/template/spec")) == grace_of(job)
                        ? launcher_grace
                        : workers_grace,
                    problems);
}
