#include "operator/api/admission/warnings.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/utf8.h"
#include "base/text/timefmt.h"
#include "operator/api/job/job_finished.h"
#include "operator/api/field.h"
#include "operator/api/job/jobspec.h"
#include "operator/api/queue/queue_priority.h"
#include "operator/api/names.h"

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

/* ---- partitions that an admin releases ---- */

static bool is_partition_of(const cJSON *status, struct slice id)
{
    JSON_EACH (item, json_at(status, "partitions")) {
        if (slice_eq(id, json_str(item, "id", "")))
            return true;
    }
    return false;
}

/* The status lists the first partitions alone: of a job with more, any id may be one. */
static void advise_on_release(const cJSON *old, const cJSON *job, struct strv *warnings)
{
    static const char annotation[] = "metadata/annotations/graphcore.ai~1release";
    const cJSON *status = json_at(old, "status"), *list = json_at(status, "partitions");
    const char *at = json_str(job, annotation, "");

    if (str_eq(at, json_str(old, annotation, "")) ||
        json_i64(status, "partitionCounts/total", 0) > cJSON_GetArraySize(list))
        return;
    for (struct slice id; released_id_next(&at, &id);) {
        if (is_partition_of(status, id))
            continue;
        strv_pushf(warnings,
                   "metadata.annotations[" ANNOTATION_RELEASE "]: ignored: the job has no partition %.*s; "
                   "status.partitions lists those that it has",
                   (int)(id.len < PARTITION_ID_MAX ? id.len : PARTITION_ID_MAX), id.ptr);
        return; /* the first says enough */
    }
}

/* ---- whether its IPUs may be taken ---- */

#define SHOWN_MAX 40u

static bool is_true_or_false(const char *text)
{
    return str_eq(text, "true") || str_eq(text, "false");
}

static bool is_time(const char *text)
{
    int64_t time_s;

    return timefmt_parse_rfc3339(text, &time_s);
}

/* No error: it would reject the job of a program that writes a wrong time. */
static void advise_on_preemption(const cJSON *old, const cJSON *job, struct strv *warnings)
{
    static const struct {
        const char *path, *name;
        bool (*is_valid)(const char *text);
        const char *expected;
    } rows[] = {
        {"metadata/annotations/graphcore.ai~1preemptible", ANNOTATION_PREEMPTIBLE, is_true_or_false,
         "true or false"},
        {"metadata/annotations/graphcore.ai~1checkpointed-at", ANNOTATION_CHECKPOINTED, is_time,
         "a time such as 2026-11-27T12:00:00Z"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *value = json_str(job, rows[i].path, NULL);

        if (!value || str_eq(value, json_str(old, rows[i].path, NULL)) || rows[i].is_valid(value))
            continue;
        strv_pushf(warnings, "metadata.annotations[%s]: ignored: must be %s, got \"%.*s\"", rows[i].name,
                   rows[i].expected,
                   (int)(strlen(value) > SHOWN_MAX ? utf8_cut(value, SHOWN_MAX) : strlen(value)), value);
    }
}

/* ---- fields without effect ---- */

struct pod_field {
    const char *path, *name; /* the name is as users write it */
};

/* The field in the templates of workers and launcher. */
#define OF_ALL_PODS(field)                                                                                   \
    {                                                                                                        \
        {WORKERS "/spec/" field, "spec.workers.template.spec." field},                                       \
            {LAUNCHER "/template/spec/" field, "spec.launcher.template.spec." field},                        \
    }

static void advise_on_restarts(const cJSON *old, const cJSON *job, struct strv *warnings)
{
    static const struct pod_field rows[] = OF_ALL_PODS("restartPolicy");

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (is_new(old, job, rows[i].path) && !str_eq(json_str(job, rows[i].path, ""), "Never"))
            strv_pushf(warnings, "%s: ignored; pods always use Never, use spec.restartPolicy", rows[i].name);
    }
}

static void advise_on_priority(const cJSON *old, const cJSON *job, const struct strv *classes,
                               struct strv *warnings)
{
    static const struct pod_field rows[] = OF_ALL_PODS("priorityClassName");

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *class_name = json_str(job, rows[i].path, "");

        if (!*class_name || !is_new(old, job, rows[i].path) || queue_priority_counts(classes, class_name))
            continue;
        strv_pushf(warnings, "%s: the queue for IPUs ignores this PriorityClass; %s", rows[i].name,
                   queue_priority_is_of_system(class_name)
                       ? "classes of the system never count"
                       : "only those of the chart's value queue.priorityClasses count");
    }
}

/* ---- a command that cannot start ---- */

static bool is_mpirun(const cJSON *word)
{
    const char *path = cJSON_IsString(word) ? word->valuestring : "", *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return str_eq(name, "mpirun") || str_eq(name, "mpiexec");
}

/* Of the words after mpirun: -np alone, because programs have a -n of their own. 0: it is not given, or other
 * words say where the processes run. */
static uint32_t requested_processes(const cJSON *command)
{
    static const char *const others[] = {"--host",    "-host",        "-H", "--hostfile",
                                         "-hostfile", "-machinefile", ":"};
    uint32_t count = 0;

    if (!cJSON_IsArray(command) || !is_mpirun(command->child))
        return 0;
    JSON_EACH (word, command) {
        const char *text = cJSON_IsString(word) ? word->valuestring : "";

        if (strstr(text, "OVERSUBSCRIBE") || strstr(text, "oversubscribe"))
            return 0;
        for (size_t i = 0; i < COUNT_OF(others); i++) {
            if (str_eq(text, others[i]))
                return 0;
        }
        if (!count && (str_eq(text, "-np") || str_eq(text, "--np")) && !field_count_read(word->next, &count))
            return 0;
    }
    return count;
}

static bool has_slots_variable(const cJSON *job)
{
    static const char *const lists[] = {LAUNCHER "/env", LAUNCHER "/template/spec/containers",
                                        WORKERS "/spec/containers"};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const cJSON *list = field_at(job, lists[i]);
        AUTO(mem) char *text = list ? json_print(list) : NULL;

        if (text && strstr(text, "\"IPU_JOB_SLOTS\""))
            return true;
    }
    return false;
}

static void advise_on_slots(const cJSON *old, const cJSON *job, const struct job_spec *spec,
                            struct strv *warnings)
{
    uint32_t wanted = requested_processes(field_at(job, LAUNCHER "/command"));
    uint32_t workers = spec->workers_per_instance, slots = job_slots(spec);

    if (!is_new(old, job, LAUNCHER) || has_slots_variable(job) || wanted <= (uint64_t)workers * slots)
        return;
    strv_pushf(warnings,
               "spec.launcher.command: -np %u needs more slots than there are (%u %s x %u); set "
               "spec.launcher.slotsPerWorker to %u",
               wanted, workers, workers == 1 ? "worker" : "workers", slots, (wanted - 1) / workers + 1);
}

static void advise_on_fields(const cJSON *old, const cJSON *job, const struct job_spec *spec,
                             struct strv *warnings)
{
    advise_on_restarts(old, job, warnings);
    if (spec->restart != RESTART_EXIT_CODE && is_new(old, job, "spec/restartPolicy/exitCodes"))
        strv_push(warnings, "spec.restartPolicy.exitCodes: ignored unless type is ExitCode");
    if (spec->has_launcher && is_new(old, job, "spec/workers/strategy"))
        strv_push(warnings, "spec.workers.strategy: ignored for a job with a launcher");
    if (spec->has_launcher)
        advise_on_slots(old, job, spec, warnings);
}

/* ---- a size that is never served ---- */

static void advise_on_size(uint32_t ipus, uint32_t largest_partition, struct strv *warnings)
{
    if (ipus & (ipus - 1))
        strv_pushf(
            warnings,
            "spec.ipusPerJobInstance: the job will not start: a partition of %u IPUs is not possible, sizes "
            "are powers of two",
            ipus);
    else if (largest_partition && ipus > largest_partition)
        strv_pushf(
            warnings,
            "spec.ipusPerJobInstance: the job will not start: %u IPUs exceed the capacity of every V-IPU "
            "controller, the largest possible partition has %u",
            ipus, largest_partition);
}

void warnings_for_job(const cJSON *old, const cJSON *job, const struct warning_facts *facts,
                      struct strv *warnings)
{
    AUTO(strv) struct strv unused = {0};
    AUTO(jobspec) struct job_spec spec;

    jobspec_read(job, &spec, &unused);
    if (!job_is_managed_by_us(&spec))
        return;
    if (old) {
        advise_on_change(old, job, &spec, warnings);
        advise_on_release(old, job, warnings);
    } else {
        advise_on_size(spec.ipus_per_instance, facts->largest_partition, warnings);
    }
    advise_on_preemption(old, job, warnings);
    advise_on_fields(old, job, &spec, warnings);
    advise_on_priority(old, job, facts->priority_classes, warnings);
}
