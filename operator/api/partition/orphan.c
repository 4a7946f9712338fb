#include "operator/api/partition/orphan.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"

#define RELEASED_BY_ADMIN "ReleasedByAdmin"

/* ---- the page ---- */

static bool has_record(const cJSON *partition)
{
    return json_at(partition, "job") != NULL;
}

static uint32_t number(const cJSON *partition, const char *key)
{
    int64_t n = json_i64(partition, key, 0);

    return n > 0 && n <= UINT32_MAX ? (uint32_t)n : 0;
}

static const char *controller_of(const cJSON *partition)
{
    return json_str(partition, "controller", "");
}

static char *list_unresponsive(const cJSON *page)
{
    AUTO(str) struct str out = {0};

    JSON_EACH (item, json_at(page, "controllers")) {
        if (!json_bool(item, "up", false))
            str_addf(&out, "%s%s", out.len ? ", " : "", json_str(item, "name", "?"));
    }
    return out.len ? str_take(&out) : NULL;
}

static bool report_not_found(const cJSON *page, const char *id, struct err *err)
{
    AUTO(mem) char *silent = list_unresponsive(page);

    if (silent)
        return err_set(err, ERR_NOT_FOUND,
                       "partition %s not found; these V-IPU controllers are not responding: %s", id, silent);
    return err_set(err, ERR_NOT_FOUND,
                   "partition %s not found; run `ipu-operator partitions` to list orphaned partitions", id);
}

static bool report_owned(const cJSON *partition, const char *id, struct err *err)
{
    const char *job = json_str(partition, "job", "");

    if (json_bool(partition, "releasing", false))
        return err_set(err, ERR_CONFLICT, "partition %s is already being released", id);
    return err_set(err, ERR_CONFLICT,
                   "partition %s belongs to IPUJob %s; it is released when that job finishes, is suspended "
                   "or is deleted",
                   id, job);
}

bool orphan_find(const cJSON *page, const char *id, const char *controller, struct orphan *ret,
                 struct err *err)
{
    const cJSON *found = NULL;

    JSON_EACH (item, json_at(page, "partitions")) {
        if (!str_eq(json_str(item, "id", ""), id) || (controller && !str_eq(controller_of(item), controller)))
            continue;
        if (found)
            return err_set(err, ERR_INVALID, "partition %s exists on %s and %s; choose one with --controller",
                           id, controller_of(found), controller_of(item));
        found = item;
    }
    if (!found)
        return report_not_found(page, id, err);
    if (has_record(found))
        return report_owned(found, id, err);
    *ret = (struct orphan){.id = mem_strdup(id),
                           .controller = mem_strdup(controller_of(found)),
                           .state = mem_strdup(json_str(found, "state", "?")),
                           .ipus = number(found, "ipus"),
                           .gcds = number(found, "gcds"),
                           .pod = mem_strdup(json_str(found, "pod", NULL))};
    JSON_EACH (job, json_at(found, "couldBeOf")) {
        if (cJSON_IsString(job) && strchr(job->valuestring, '/'))
            strv_push(&ret->jobs, job->valuestring);
    }
    return true;
}

void orphan_release(struct orphan *orphan)
{
    mem_free(orphan->id);
    mem_free(orphan->controller);
    mem_free(orphan->state);
    mem_free(orphan->pod);
    strv_release(&orphan->jobs);
    *orphan = (struct orphan){0};
}

/* ---- may it go? ---- */

static bool has_name_of(const struct pod *pod, const char *job_key)
{
    const char *job = strchr(job_key, '/') + 1;
    AUTO(mem) char *worker = mem_printf("%s-worker-", job);
    AUTO(mem) char *launcher = mem_printf("%s-launcher", job);

    return (size_t)(job - 1 - job_key) == strlen(pod->ns) &&
           strncmp(pod->ns, job_key, strlen(pod->ns)) == 0 &&
           (str_has_prefix(pod->name, worker) || str_has_prefix(pod->name, launcher));
}

bool orphan_is_used_by(const struct pod *pod, const char *job_key)
{
    return !pod_has_stopped(pod, false, false) &&
           (str_eq(pod->job_key, job_key) || has_name_of(pod, job_key));
}

static void check_name(const struct orphan *orphan, struct strv *problems)
{
    if (!record_can_have_name(orphan->id))
        strv_pushf(problems,
                   "%s is not a valid record name, so no operator created this partition; remove it with "
                   "`vipu remove partition %s`",
                   orphan->id, orphan->id);
}

void orphan_check_release(const struct orphan *orphan, const struct strv *users, struct strv *problems)
{
    check_name(orphan, problems);
    if (orphan->pod)
        strv_pushf(problems,
                   "pod %s was started on this partition and may still be running; delete it and wait until "
                   "it is gone",
                   orphan->pod);
    for (size_t i = 0; i < users->count; i++) {
        if (!str_eq(users->items[i], orphan->pod))
            strv_pushf(problems, "pod %s may be using this partition; delete it and wait until it is gone",
                       users->items[i]);
    }
}

/* Its readable id, whatever the prefix. */
static bool find_instance(const struct orphan *orphan, const struct job *job, uint32_t *ret)
{
    AUTO(mem) char *middle = mem_printf("-%s-%s-", job->name, job->ns);
    const char *last = strrchr(orphan->id, '-');
    size_t len = strlen(middle);

    if (!last || (size_t)(last + 1 - orphan->id) <= len || strncmp(last + 1 - len, middle, len) != 0)
        return false;
    return parse_u32(last + 1, 0, UINT32_MAX, ret);
}

static const char *partition_of(const cJSON *page, const struct job *job, uint32_t instance)
{
    JSON_EACH (item, json_at(page, "partitions")) {
        if (str_eq(json_str(item, "job", ""), job->key) && json_i64(item, "instance", -1) == instance &&
            !json_bool(item, "releasing", false))
            return json_str(item, "id", "?");
    }
    return NULL;
}

static void check_instance(const struct orphan *orphan, const struct job *job, const cJSON *page,
                           struct strv *problems)
{
    const char *other;
    uint32_t instance;

    if (!find_instance(orphan, job, &instance)) {
        strv_pushf(problems, "the ID does not match PREFIX-%s-%s-INSTANCE", job->name, job->ns);
        return;
    }
    if (instance >= job->spec.instances)
        strv_pushf(problems, "instance index %u is out of range: spec.jobInstances of the job is %u",
                   instance, job->spec.instances);
    other = partition_of(page, job, instance);
    if (other)
        strv_pushf(problems, "instance %u already has partition %s", instance, other);
}

static void check_shape(const struct orphan *orphan, const struct job *job, struct strv *problems)
{
    if (job->problems.count) {
        strv_pushf(problems, "the job's spec is invalid: %s", job->problems.items[0]);
        return;
    }
    if (orphan->ipus != job->spec.ipus_per_instance)
        strv_pushf(problems, "IPUs do not match: the partition has %u, an instance of the job needs %u",
                   orphan->ipus, job->spec.ipus_per_instance);
    if (orphan->gcds != job_gcds(&job->spec))
        strv_pushf(problems, "GCDs do not match: the partition has %u, an instance of the job needs %u",
                   orphan->gcds, job_gcds(&job->spec));
}

void orphan_check_adoption(const struct orphan *orphan, const struct job *job, const cJSON *page,
                           struct strv *problems)
{
    check_name(orphan, problems);
    if (!job->is_vendors)
        strv_push(problems, "the job is managed by this operator, which creates its partitions; release this "
                            "partition instead");
    if (job->deleting)
        strv_push(problems, "the job is being deleted; release the partition when its pods are gone");
    check_instance(orphan, job, page, problems);
    check_shape(orphan, job, problems);
}

/* ---- the records ---- */

static struct record *new_record(const struct orphan *orphan)
{
    struct record *record = NEW(struct record);

    record->name = mem_strdup(orphan->id);
    record->controller = mem_strdup(orphan->controller);
    record->size = orphan->ipus;
    record->gcds = orphan->gcds;
    record->replicas = orphan->gcds;
    return record;
}

/* `started`: nothing was sent about it before. */
struct record *orphan_record_of_release(const struct orphan *orphan)
{
    struct record *record = new_record(orphan);

    record->job_ns = mem_strdup("");
    record->job_name = mem_strdup("");
    record->job_uid = mem_strdup(RECORD_NO_JOB_UID);
    record->started = true;
    record->releasing = true;
    record->reason = mem_strdup(RELEASED_BY_ADMIN);
    return record;
}

/* Not `started`: pods of other operators cannot be recognized. If the job continues, it does so with another
 * partition, and this one is removed. */
struct record *orphan_record_of_job(const struct orphan *orphan, const struct job *job)
{
    struct record *record = new_record(orphan);

    record->job_ns = mem_strdup(job->ns);
    record->job_name = mem_strdup(job->name);
    record->job_uid = mem_strdup(job->uid);
    (void)find_instance(orphan, job, &record->instance);
    record->workers = job->spec.workers_per_instance;
    record->has_launcher = job->spec.has_launcher;
    record->replicas = job_vipu_replicas(&job->spec);
    record->reconfigurable = job_is_reconfigurable(&job->spec);
    return record;
}

/* ---- the table ---- */

static void print_row(const cJSON *partition, struct str *out)
{
    AUTO(str) struct str jobs = {0};

    JSON_EACH (job, json_at(partition, "couldBeOf"))
        str_addf(&jobs, "%s%s", jobs.len ? "," : "", cJSON_IsString(job) ? job->valuestring : "?");
    str_addf(out, "%-24s %-40s %5u %5u %-9s %s\n", controller_of(partition), json_str(partition, "id", "?"),
             number(partition, "ipus"), number(partition, "gcds"), json_str(partition, "state", "?"),
             jobs.len ? str_text(&jobs) : "-");
}

size_t orphan_print_all(const cJSON *page, struct str *out)
{
    size_t count = 0;

    JSON_EACH (item, json_at(page, "partitions")) {
        if (has_record(item))
            continue;
        if (count++ == 0)
            str_addf(out, "%-24s %-40s %5s %5s %-9s %s\n", "CONTROLLER", "PARTITION", "IPUS", "GCDS", "STATE",
                     "COULD BE OF");
        print_row(item, out);
    }
    return count;
}
