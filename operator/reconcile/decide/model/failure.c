#include "operator/reconcile/decide/model/failure.h"

#include <signal.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "base/core/utf8.h"
#include "operator/api/job/exit_codes.h"
#include "operator/api/observed/log_tail.h"
#include "operator/api/observed/pod_exit.h"

struct failure failure_of_pod(const struct pod *pod)
{
    return (struct failure){
        .reason = pod->trouble ? pod->trouble : "PodFailed",
        .pod_name = pod->name,
        .pod = pod,
        .at_s = pod->failed_s ? pod->failed_s : pod->started_s,
        .instance = pod->instance,
    };
}

struct failure failure_of_disruption(const struct pod *pod)
{
    return (struct failure){
        .reason = pod->disruption,
        .pod_name = pod->name,
        .pod = pod,
        .is_disruption = true,
        .at_s = pod->disrupted_s,
        .instance = pod->instance,
    };
}

/* A worker whose node or network is lost reports nothing, and its node is declared lost only minutes later. A
 * worker whose rank was killed for memory runs on, until the operator stops it because of this failure. */
struct failure failure_of_lost_worker(const struct pod *launcher, const struct worker_view *workers,
                                      uint32_t count)
{
    uint32_t first = launcher->instance * count;
    const struct worker_view *worker;
    struct lost_worker lost;

    if (!log_tail_lost_worker(launcher->message, &lost) || lost.number < first ||
        lost.number - first >= count)
        return (struct failure){0};
    worker = &workers[lost.number - first];
    if (!worker->pod && !worker->pod_name)
        return (struct failure){0};
    return (struct failure){
        .reason = lost.out_of_memory ? "OOMKilled" : "WorkerLost",
        .pod_name = worker->pod ? worker->pod->name : worker->pod_name,
        .pod = worker->pod,
        .reported_by = launcher,
        .at_s = launcher->failed_s,
        .instance = launcher->instance,
    };
}

struct failure failure_of_record(const struct record *record)
{
    return (struct failure){
        .reason = record->disruption,
        .pod_name = record->disrupted_pod,
        .is_disruption = true,
        .at_s = record->disrupted_s,
        .instance = record->instance,
    };
}

struct failure failure_of_partition(const struct job_view *view, const struct instance_view *inst)
{
    const struct worker_view *first = &inst->workers[0];

    return (struct failure){
        .reason = inst->partition.state == PARTITION_ERROR ? "PartitionError" : "PartitionMissing",
        .pod_name = first->pod ? first->pod->name : first->pod_name,
        .partition_of = inst,
        .at_s = view->now_unix_s - (view->now_ms - inst->partition.since_ms) / 1000,
        .instance = inst->index,
        .attempt = inst->record->restarts,
    };
}

/* A signal asked it to end, or a peer closed its connection: it is not the cause if another failed within
 * the same second. */
static bool is_of_victim(const char *reason, int64_t exit_code)
{
    static const int codes[] = {128 + SIGTERM, 128 + SIGKILL, 128 + SIGPIPE};

    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        if (exit_code == codes[i])
            return str_eq(reason, "ContainerFailed");
    }
    return false;
}

static bool looks_like_a_victim(const struct failure *failure)
{
    return failure->pod && !failure->is_disruption && is_of_victim(failure->reason, failure->pod->exit_code);
}

void failure_take_first(struct failure *first, const struct failure *other)
{
    bool is_earlier = other->at_s && other->at_s < first->at_s;
    bool is_likelier =
        other->at_s == first->at_s && looks_like_a_victim(first) && !looks_like_a_victim(other);

    if (!first->reason || is_earlier || is_likelier)
        *first = *other;
}

bool failure_calls_for_restart(const struct job_spec *spec, const struct failure *failure)
{
    switch (spec->restart) {
    case RESTART_NEVER:
        return false;
    case RESTART_ALWAYS:
    case RESTART_ON_FAILURE:
        return true;
    case RESTART_EXIT_CODE: /* a pod that was evicted or deleted has no exit code of its own */
        return failure->pod && !failure->is_disruption && failure->pod->failed_container &&
               exit_codes_match(spec->exit_codes, failure->pod->exit_code);
    }
    return false;
}

/* ---- sentences ---- */

static const char *taken_how(const char *reason)
{
    if (str_eq(reason, "Preempted"))
        return "was preempted by a pod with higher priority";
    if (str_eq(reason, "NodeLost"))
        return "was deleted: its node is unreachable, gone or tainted";
    return "was evicted from its node";
}

static bool is_taken(const char *reason)
{
    return str_eq(reason, "Evicted") || str_eq(reason, "Preempted") || str_eq(reason, "NodeLost");
}

static char *partition_sentence(const struct instance_view *inst)
{
    const struct partition_view *partition = &inst->partition;

    if (partition->state == PARTITION_ABSENT)
        return mem_printf(
            "Partition %s no longer exists on V-IPU controller %s; it was not removed by the operator",
            inst->record->name, inst->record->controller);
    return mem_printf("Partition %s is in error: %s", inst->record->name,
                      partition->trouble ? partition->trouble : "no reason reported by V-IPU");
}

static char *lost_sentence(const struct failure *failure)
{
    const struct pod *launcher = failure->reported_by;
    AUTO(mem) char *how = pod_exit_describe(launcher);
    struct lost_worker lost = {0};

    (void)log_tail_lost_worker(launcher->message, &lost);
    if (lost.out_of_memory)
        return mem_printf("Worker pod %s ran out of memory: %.*s; launcher pod %s %s", failure->pod_name,
                          (int)lost.why.len, lost.why.ptr, launcher->name, how);
    return mem_printf("Launcher pod %s lost worker pod %s: %.*s", launcher->name, failure->pod_name,
                      (int)lost.why.len, lost.why.ptr);
}

/* mpirun ends with its rank's exit status. */
static char *rank_sentence(const struct pod *pod, const struct failed_rank *rank)
{
    bool is_told = rank->signal || rank->exit_code;
    AUTO(mem)
    char *how =
        is_told ? pod_exit_describe_status(rank->exit_code, rank->signal) : mem_strdup("called MPI_Abort");

    return mem_printf("Rank %u%s%.*s %s; container %s of pod %s exited with code %d", rank->rank,
                      rank->host.len ? " on " : "", (int)rank->host.len, rank->host.ptr ? rank->host.ptr : "",
                      how, pod->failed_container, pod->name, pod->exit_code);
}

static char *missing_program_sentence(const struct missing_program *missing, const char *container,
                                      const char *pod, int exit_code)
{
    return mem_printf("mpirun cannot find or execute %.*s%s%.*s; container %s of pod %s exited with code %d",
                      (int)missing->name.len, missing->name.ptr, missing->host.len ? " on " : "",
                      (int)missing->host.len, missing->host.ptr, container, pod, exit_code);
}

/* What a kubelet sends when a probe or the hook fails. Of a pod that was deleted or stopped, no failure is
 * reported. */
static char *describe_killers(const struct pod *pod)
{
    const struct {
        bool is_there;
        const char *name;
    } rows[] = {
        {pod->has_liveness_probe, "liveness probe"},
        {pod->has_startup_probe, "startup probe"},
        {pod->has_start_hook, "postStart hook"},
    };
    int signal = pod_exit_signal(pod);
    AUTO(str) struct str all = {0};

    for (size_t i = 0; i < COUNT_OF(rows) && (signal == SIGTERM || signal == SIGKILL); i++)
        if (rows[i].is_there)
            (void)str_addf(&all, "%s%s", all.len ? " or " : "", rows[i].name);
    return all.len ? mem_printf(", as when its %s fails", str_text(&all)) : mem_strdup("");
}

static char *container_sentence(const struct pod *pod)
{
    AUTO(mem) char *how = pod_exit_describe(pod), *killers = describe_killers(pod);
    struct failed_rank rank;
    struct missing_program missing;

    if (log_tail_failed_rank(pod->message, &rank))
        return rank_sentence(pod, &rank);
    if (log_tail_missing_program(pod->message, &missing))
        return missing_program_sentence(&missing, pod->failed_container, pod->name, pod->exit_code);
    return mem_printf("Container %s of pod %s %s%s", pod->failed_container, pod->name, how, killers);
}

char *failure_sentence(const struct failure *failure)
{
    const struct pod *pod = failure->pod;

    if (failure->partition_of)
        return partition_sentence(failure->partition_of);
    if (failure->reported_by)
        return lost_sentence(failure);
    if (failure->is_disruption || !pod)
        return mem_printf("Pod %s %s", failure->pod_name, taken_how(failure->reason));
    if (str_eq(failure->reason, "WorkerEnded"))
        return mem_printf("Worker pod %s exited before its launcher", pod->name);
    if (pod->oom_killed && str_eq(failure->reason, "OOMKilled"))
        return mem_printf("Container %s of pod %s was OOM-killed (exit code %d)", pod->failed_container,
                          pod->name, pod->exit_code);
    if (str_eq(failure->reason, "ContainerFailed"))
        return container_sentence(pod);
    return mem_printf("Pod %s failed: %s%s%s", pod->name, pod->reason ? pod->reason : failure->reason,
                      pod->message ? ": " : "", pod->message ? pod->message : "");
}

static const char *last_words(const struct failure *failure)
{
    const struct pod *reporting_pod = failure->reported_by ? failure->reported_by : failure->pod;

    return reporting_pod ? reporting_pod->message : NULL;
}

struct slice failure_last_line(const struct failure *failure)
{
    return log_tail_last_line(str_eq(failure->reason, "ContainerFailed") ? last_words(failure) : NULL);
}

char *failure_details(const struct failure *failure)
{
    const struct pod *pod = failure->pod;
    AUTO(mem) char *sentence = failure_sentence(failure);
    const char *words = last_words(failure);
    bool has_words = words && *words && !strstr(sentence, words);

    return mem_printf("%s%s%s%s%s", sentence, pod && pod->node ? "; node " : "",
                      pod && pod->node ? pod->node : "", has_words ? "; last lines: " : "",
                      has_words ? words : "");
}

/* ---- entries of the status ---- */

static void put_container(cJSON *item, const struct pod *pod)
{
    if (!pod->failed_container)
        return;
    json_put_str(item, "container", pod->failed_container);
    json_put_i64(item, "exitCode", pod->exit_code);
    if (pod_exit_signal(pod))
        json_put_i64(item, "signal", pod_exit_signal(pod));
    if (pod->oom_killed)
        json_put_bool(item, "outOfMemory", true);
}

static cJSON *entry_of(const struct failure *failure)
{
    AUTO(mem) char *of_partition = failure->partition_of ? failure_sentence(failure) : NULL;
    cJSON *item = json_object();

    json_put_i64(item, "instance", failure->instance);
    json_put_i64(item, "attempt", failure->attempt);
    json_put_str(item, "pod", failure->pod_name);
    if (failure->pod) {
        json_put_str(item, "node", failure->pod->node);
        if (!failure->is_disruption && !failure->reported_by)
            put_container(item, failure->pod);
    }
    if (failure->reported_by && str_eq(failure->reason, "OOMKilled"))
        json_put_bool(item, "outOfMemory", true);
    json_put_str(item, "message", of_partition ? of_partition : last_words(failure));
    json_put_str(item, "reason", failure->reason);
    if (failure->at_s)
        json_put_time(item, "time", failure->at_s);
    return item;
}

const char *failure_last_lines(const char *log, size_t most)
{
    size_t length = strlen(log);
    const char *from = length > most ? log + length - most : log;
    const char *line = from == log ? NULL : strchr(from, '\n');

    if (line && line[1])
        return line + 1;
    while (utf8_is_continuation(*from))
        from++;
    return from;
}

/* Those that failed by themselves, or those that were stopped because of them. */
static void add_other_pods(const struct failure *failure, const char *named, bool stopped, cJSON *list)
{
    for (uint32_t i = 0; i < failure->pod_count; i++) {
        const struct pod *pod = failure->pods[i].pod;
        cJSON *item;

        if (!pod || !pod->message || !*pod->message || pod == failure->reported_by ||
            str_eq(pod->name, named) || pod->stopped_while_running != stopped ||
            cJSON_GetArraySize(list) >= STATUS_OTHER_PODS_MAX)
            continue;
        item = json_push_take(list, json_object());
        json_put_str(item, "pod", pod->name);
        put_container(item, pod);
        json_put_str(item, "message", failure_last_lines(pod->message, STATUS_OTHER_LINES_MAX));
    }
}

static void put_other_pods(cJSON *item, const struct failure *failure)
{
    AUTO(json) cJSON *list = json_array();

    if (!failure->pods || json_at(item, "otherPods"))
        return;
    add_other_pods(failure, json_str(item, "pod", ""), false, list);
    add_other_pods(failure, json_str(item, "pod", ""), true, list);
    if (list->child)
        json_put_take(item, "otherPods", TAKE(list));
}

/* The entry has the signal, if there was one: an exit code of mpirun itself may look like another. */
char *failure_entry_sentence(const cJSON *item)
{
    const char *container = json_str(item, "container", NULL), *reason = json_str(item, "reason", ""),
               *pod = json_str(item, "pod", ""), *lines = json_str(item, "message", NULL);
    int exit_code = (int)json_i64(item, "exitCode", 0), signal = (int)json_i64(item, "signal", 0);
    AUTO(mem)
    char *how = signal ? pod_exit_describe_status(0, signal) : mem_printf("exited with code %d", exit_code);
    struct slice last = log_tail_last_line(lines);
    struct missing_program missing;

    if (is_taken(reason))
        return mem_printf("Pod %s %s", pod, taken_how(reason));
    if (lines && (str_eq(reason, "PartitionError") || str_eq(reason, "PartitionMissing")))
        return mem_strdup(lines);
    if (!container || !str_eq(reason, "ContainerFailed"))
        return mem_printf("Pod %s failed: %s", pod, reason);
    if (!last.len && log_tail_missing_program(lines, &missing))
        return missing_program_sentence(&missing, container, pod, exit_code);
    return mem_printf("Container %s of pod %s %s%s%.*s", container, pod, how, last.len ? ": " : "",
                      (int)last.len, last.ptr);
}

static int64_t time_of(const cJSON *item)
{
    int64_t at = 0;

    timefmt_parse_rfc3339(json_str(item, "time", ""), &at);
    return at;
}

static bool is_same_attempt(const cJSON *item, const struct failure *failure, int64_t start_s)
{
    int64_t at = time_of(item);
    /* The clock of its node may be behind that of the operator. */
    bool is_itself = at == failure->at_s && str_eq(json_str(item, "pod", ""), failure->pod_name);

    return json_i64(item, "instance", -1) == failure->instance &&
           json_i64(item, "attempt", -1) == failure->attempt && (!at || at >= start_s || is_itself);
}

/* A worker that fails later is a victim; one that failed earlier and is reported later is the cause. Within
 * a second it is as if both had been reported together: see failure_take_first. */
static bool is_listed(const cJSON *item, const struct failure *failure)
{
    int64_t at = time_of(item);
    bool was_victim = is_of_victim(json_str(item, "reason", ""), json_i64(item, "exitCode", 0));
    bool is_victim = looks_like_a_victim(failure);

    if (!failure->at_s || !failure->pod_name || at != failure->at_s)
        return !failure->at_s || at <= failure->at_s;
    return was_victim == is_victim ? strverscmp(json_str(item, "pod", ""), failure->pod_name) <= 0
                                   : is_victim;
}

bool failures_include(const cJSON *failures, const struct failure *failure, int64_t start_s)
{
    JSON_EACH (item, failures) {
        if (is_same_attempt(item, failure, start_s) && is_listed(item, failure))
            return true;
    }
    return false;
}

/* Entries that are to be sorted. */
struct entries {
    cJSON **items; /* owned */
    size_t count;
};

static void add(struct entries *entries, const struct failure *failure, int64_t start_s)
{
    for (size_t i = 0; i < entries->count; i++) {
        if (!is_same_attempt(entries->items[i], failure, start_s))
            continue;
        if (!is_listed(entries->items[i], failure)) {
            cJSON_Delete(entries->items[i]);
            entries->items[i] = entry_of(failure);
        }
        put_other_pods(entries->items[i], failure);
        return;
    }
    for (size_t i = 0; i < entries->count; i++) {
        if (json_i64(entries->items[i], "instance", -1) == failure->instance)
            cJSON_DeleteItemFromObjectCaseSensitive(entries->items[i], "otherPods");
    }
    entries->items[entries->count] = entry_of(failure);
    put_other_pods(entries->items[entries->count++], failure);
}

/* The newest first. Entries with equal times, of instances that failed together, in the order of those. */
static bool comes_before(const cJSON *a, const cJSON *b)
{
    int64_t newer = time_of(a) - time_of(b), first = json_i64(b, "instance", 0) - json_i64(a, "instance", 0),
            later = json_i64(a, "attempt", 0) - json_i64(b, "attempt", 0);

    return (newer ? newer : first ? first : later) > 0;
}

static void sort_newest_first(struct entries *entries)
{
    for (size_t i = 1; i < entries->count; i++) {
        cJSON *item = entries->items[i];
        size_t at = i;

        for (; at > 0 && comes_before(item, entries->items[at - 1]); at--)
            entries->items[at] = entries->items[at - 1];
        entries->items[at] = item;
    }
}

cJSON *failures_merge(const cJSON *before, const struct failure *failures, size_t count, int64_t start_s)
{
    size_t most = (size_t)cJSON_GetArraySize(before) + count;
    AUTO(mem) cJSON **items = mem_alloc((most + 1) * sizeof(*items));
    struct entries entries = {.items = items};
    cJSON *list;

    if (most == 0)
        return NULL;
    JSON_EACH (item, before)
        entries.items[entries.count++] = json_dup(item);
    for (size_t i = 0; i < count; i++)
        add(&entries, &failures[i], start_s);
    sort_newest_first(&entries);
    list = json_array();
    for (size_t i = 0; i < entries.count; i++) {
        if (i < STATUS_FAILURES_MAX)
            json_push_take(list, entries.items[i]);
        else
            cJSON_Delete(entries.items[i]);
    }
    return list;
}
