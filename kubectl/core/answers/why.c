#include "kubectl/core/answers/why.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/text/timefmt.h"
#include "kubectl/core/jobs.h"
#include "kubectl/core/operator_sign.h"
#include "operator/api/names.h"
#include "operator/api/observed/pod.h"
#include "operator/api/reasons.h"

/* Without an operator, a job stays as it was created. */
enum { UNSEEN_S = 10 };

enum {
    DELETING,
    UNSEEN,
    OTHER_CONTROLLER,
    HELD,
    COMPLETED,
    FAILED,
    SUSPENDED,
    SUSPENDING,
    WAITING_FOR_IPUS,
    CANNOT_BE_SERVED,
    SCALED_TO_ZERO,
    PODS_REJECTED,
    PARTITION_TROUBLE,
    PODS_STUCK,
    RESTARTING,
    UPDATING,
    FINISHING,
    RUNNING_WITH_TROUBLE,
    RUNNING,
    STARTING,
};

const struct situation situations[] = {
    [DELETING] = {"Deleting", "is being deleted", PAINT_FAINT, "Wait until its IPUs are released"},
    [UNSEEN] = {"Unseen", "has not been seen by the IPU operator", PAINT_WARNING,
                "Ask an admin whether the operator runs, and whether it watches this namespace"},
    [OTHER_CONTROLLER] = {"OtherController", "is run by another controller", PAINT_NONE,
                          "Ask the controller that spec.managedBy names"},
    [HELD] = {"Held", "holds IPUs that old processes may still use", PAINT_WARNING, NULL},
    [COMPLETED] = {"Completed", "has completed", PAINT_GOOD, NULL},
    [FAILED] = {"Failed", "has failed", PAINT_BAD, NULL},
    [SUSPENDED] = {"Suspended", "is suspended", PAINT_WARNING, NULL},
    [SUSPENDING] = {"Suspending", "is suspended, and its IPUs are being released", PAINT_WARNING, NULL},
    [WAITING_FOR_IPUS] = {"WaitingForIPUs", "waits for IPUs", PAINT_WARNING, NULL},
    [CANNOT_BE_SERVED] = {"CannotBeServed", "gets no IPUs as things stand", PAINT_BAD, NULL},
    [SCALED_TO_ZERO] = {"ScaledToZero", "is scaled to zero", PAINT_WARNING, NULL},
    [PODS_REJECTED] = {"PodsRejected", "cannot create its pods", PAINT_BAD, NULL},
    [PARTITION_TROUBLE] = {"PartitionTrouble", "has trouble with a partition", PAINT_BAD, NULL},
    [PODS_STUCK] = {"PodsStuck", "has pods that do not start", PAINT_BAD, NULL},
    [RESTARTING] = {"Restarting", "is being restarted", PAINT_WARNING, NULL},
    [UPDATING] = {"Updating", "is replacing instances", PAINT_WARNING, NULL},
    [FINISHING] = {"Finishing", "is finishing", PAINT_WARNING, NULL},
    [RUNNING_WITH_TROUBLE] = {"RunningWithTrouble", "runs, but not all of it", PAINT_WARNING,
                              "Look at the pods below"},
    [RUNNING] = {"Running", "runs, and nothing is out of the ordinary", PAINT_GOOD, NULL},
    [STARTING] = {"Starting", "is starting", PAINT_WARNING, NULL},
};
const size_t situation_count = COUNT_OF(situations);

/* ---- pods ---- */

char *pod_rank(const cJSON *pod)
{
    const cJSON *labels = json_at(pod, "metadata/labels");
    bool launches = str_eq(json_str(labels, "graphcore.ai~1role", ""), ROLE_LAUNCHER);

    AUTO(mem)
    char *rank = mem_printf("%s.%s", json_str(labels, "graphcore.ai~1instance", "?"),
                            launches ? ROLE_LAUNCHER : json_str(labels, "graphcore.ai~1worker", "?"));

    return visible_new(rank, VISIBLE_LINE);
}

/* Not of an earlier job of that name. */
static bool is_own(const cJSON *job, const struct pod *pod)
{
    return pod && (!pod->job_uid || str_eq(pod->job_uid, json_str(job, "metadata/uid", "")));
}

/* Stopped on request, it is not out of the ordinary. */
static bool is_conspicuous(const struct pod *pod)
{
    return !pod->stopped_while_running && (pod->trouble || pod->disruption || pod->node_not_ready ||
                                           pod->unready_container || pod->phase == POD_UNKNOWN);
}

/* Its status does not say what its node waits for, such as a volume; events do. */
static bool is_being_prepared(const struct pod *pod)
{
    return pod->phase == POD_PENDING && pod->sandbox_not_ready && !pod->has_started;
}

void why_choose_pods(const cJSON *job, const cJSON *pods, size_t max, struct strv *ret_names)
{
    for (int pass = 0; pass < 2; pass++) {
        JSON_EACH (item, pods) {
            AUTO(pod) struct pod *pod = pod_parse(item);

            if (ret_names->count < max && is_own(job, pod) && is_conspicuous(pod) == (pass == 0) &&
                (pass == 0 || is_being_prepared(pod)))
                strv_push(ret_names, pod->name);
        }
    }
}

static bool has_stuck_pod(const cJSON *job, const cJSON *pods)
{
    JSON_EACH (item, pods) {
        AUTO(pod) struct pod *pod = pod_parse(item);

        if (is_own(job, pod) && is_conspicuous(pod) && pod->phase == POD_PENDING)
            return true;
    }
    return false;
}

static bool has_conspicuous_pod(const cJSON *job, const cJSON *pods)
{
    JSON_EACH (item, pods) {
        AUTO(pod) struct pod *pod = pod_parse(item);

        if (is_own(job, pod) && is_conspicuous(pod))
            return true;
    }
    return false;
}

/* ---- the situation ---- */

static const struct {
    const char *reason;
    int situation;
} BY_REASON[] = {
    {"TerminationUnconfirmed", HELD},
    {"Queued", WAITING_FOR_IPUS},
    {"InsufficientIPUs", WAITING_FOR_IPUS},
    {"IPUQuotaExceeded", WAITING_FOR_IPUS},
    {"QueueQuotaExceeded", WAITING_FOR_IPUS},
    {"QueueFull", WAITING_FOR_IPUS},
    {"IPUsPreempted", RESTARTING},
    {"ExceedsCapacity", CANNOT_BE_SERVED},
    {"NoMatchingController", CANNOT_BE_SERVED},
    {"NoMatchingNodes", CANNOT_BE_SERVED},
    {"ControllerUnavailable", CANNOT_BE_SERVED},
    {"ScaledToZero", SCALED_TO_ZERO},
    {"QuotaExceeded", PODS_REJECTED},
    {"PodSecurityViolation", PODS_REJECTED},
    {"PodsForbidden", PODS_REJECTED},
    {"NamespaceTerminating", PODS_REJECTED},
    {"FailedCreate", PODS_REJECTED},
    {"NameConflict", PODS_REJECTED},
    {"WriteRejected", PODS_REJECTED},
    {"PartitionError", PARTITION_TROUBLE},
    {"PartitionMissing", PARTITION_TROUBLE},
    {"PartitionLost", PARTITION_TROUBLE},
    {"ImagePullFailed", PODS_STUCK},
    {"ContainerCannotStart", PODS_STUCK},
    {"PodSandboxNotReady", PODS_STUCK},
    {"Unschedulable", PODS_STUCK},
    {"HostPortConflict", PODS_STUCK},
    {"SchedulingGated", PODS_STUCK},
    {"PodWaiting", PODS_STUCK},
    {"PodsNotReady", RUNNING_WITH_TROUBLE},
    {"NodeNotReady", RUNNING_WITH_TROUBLE},
    {"RollingUpdate", UPDATING},
    {"Finishing", FINISHING},
};

static int situation_of_reason(const char *reason)
{
    for (size_t i = 0; i < COUNT_OF(BY_REASON); i++) {
        if (str_eq(BY_REASON[i].reason, reason))
            return BY_REASON[i].situation;
    }
    return -1;
}

static bool is_unseen(const cJSON *job, int64_t now_s)
{
    int64_t created_s = 0;

    if (json_i64(job, "status/observedGeneration", -1) >= 0)
        return false;
    (void)timefmt_parse_rfc3339(json_str(job, "metadata/creationTimestamp", ""), &created_s);
    return now_s - created_s >= UNSEEN_S || now_s < created_s;
}

static int find_situation(const struct why_input *input)
{
    const cJSON *job = input->job;
    const char *status = json_str(job, "status/launcherStatus", ""),
               *managed = json_str(job, "spec/managedBy", "");
    int of_reason = situation_of_reason(json_str(job, "status/reason", ""));

    if (of_reason == HELD)
        return HELD;
    if (json_at(job, "metadata/deletionTimestamp"))
        return DELETING;
    if (*managed && !str_eq(managed, MANAGED_BY_US))
        return OTHER_CONTROLLER;
    if (is_unseen(job, input->now_s))
        return UNSEEN;
    if (str_eq(status, "Completed"))
        return COMPLETED;
    if (str_eq(status, "Failed"))
        return FAILED;
    if (str_eq(status, "Suspended"))
        return json_i64(job, "status/partitionCounts/total", 0) > 0 ? SUSPENDING : SUSPENDED;
    if (of_reason >= 0)
        return of_reason;
    if (str_eq(status, "Restarting"))
        return RESTARTING;
    if (str_eq(status, "Running"))
        return has_conspicuous_pod(job, input->pods) ? RUNNING_WITH_TROUBLE : RUNNING;
    return has_stuck_pod(job, input->pods) ? PODS_STUCK : STARTING;
}

const struct situation *why_situation(const struct why_input *input)
{
    return &situations[find_situation(input)];
}

/* ---- the report ---- */

static cJSON *pod_entry(const cJSON *item, const struct pod *pod)
{
    cJSON *entry = json_object();
    AUTO(mem) char *rank = pod_rank(item), *unready = pod_describe_unready(pod);
    const char *reason = pod->trouble ? pod->trouble : pod->disruption;
    const char *message = pod->message ? pod->message : pod->reason;

    json_put_str(entry, "name", pod->name);
    json_put_str(entry, "rank", rank);
    json_put_str(entry, "node", pod->node);
    json_put_str(entry, "phase", json_str(item, "status/phase", NULL));
    json_put_str(entry, "reason",
                 reason || !unready    ? reason
                 : pod->node_not_ready ? "NodeNotReady"
                                       : "PodsNotReady");
    json_put_str(entry, "message", message ? message : unready);
    json_put_bool(entry, "conspicuous", is_conspicuous(pod));
    return entry;
}

static void put_pods(cJSON *report, const cJSON *job, const cJSON *pods)
{
    cJSON *entries = json_put_array(report, "pods");

    JSON_EACH (item, pods) {
        AUTO(pod) struct pod *pod = pod_parse(item);

        if (is_own(job, pod))
            json_push_take(entries, pod_entry(item, pod));
    }
}

/* events.k8s.io/v1, and what older clients write into the same objects. */
static const char *event_time(const cJSON *event)
{
    static const char *const paths[] = {"series/lastObservedTime", "deprecatedLastTimestamp", "eventTime",
                                        "metadata/creationTimestamp"};

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const char *at = json_str(event, paths[i], NULL);

        if (at)
            return at;
    }
    return NULL;
}

/* Events outlive their objects, and a later job and its pods may have the same names. */
static bool is_of_earlier(const cJSON *event, const cJSON *job, const cJSON *pods)
{
    const char *uid = json_str(event, "regarding/uid", NULL);

    if (!uid || str_eq(uid, json_str(job, "metadata/uid", NULL)))
        return false;
    JSON_EACH (pod, pods) {
        if (str_eq(uid, json_str(pod, "metadata/uid", NULL)))
            return false;
    }
    return true;
}

static void put_events(cJSON *report, const struct why_input *input)
{
    cJSON *entries = json_put_array(report, "events");

    JSON_EACH (event, input->events) {
        cJSON *entry;

        if (is_of_earlier(event, input->job, input->pods))
            continue;
        entry = json_object();
        json_put_str(entry, "time", event_time(event));
        json_put_str(entry, "type", json_str(event, "type", NULL));
        json_put_str(entry, "reason", json_str(event, "reason", NULL));
        json_put_strf(entry, "object", "%s/%s", json_str(event, "regarding/kind", ""),
                      json_str(event, "regarding/name", ""));
        json_put_str(entry, "note", json_str(event, "note", NULL));
        json_push_take(entries, entry);
    }
}

static void put_copy(cJSON *report, const char *key, const cJSON *from)
{
    if (from)
        json_put_take(report, key, json_dup(from));
}

static void put_advice(cJSON *report, const struct situation *situation, const char *reason)
{
    const struct reason *known = reason_find(reason);
    const char *advice = known && known->advice ? known->advice : situation->advice;

    if (known)
        json_put_str(report, "meaning", known->meaning);
    if (situation == &situations[UNSEEN] || situation == &situations[OTHER_CONTROLLER])
        advice = situation->advice;
    json_put_str(report, "advice", advice);
}

/* A change that the operator has not taken up: what it reports is about the earlier spec. */
static bool is_outdated(const cJSON *job)
{
    int64_t observed = json_i64(job, "status/observedGeneration", -1);

    return observed >= 0 && observed < json_i64(job, "metadata/generation", 0);
}

cJSON *why_report(const struct why_input *input)
{
    const cJSON *job = input->job, *status = json_at(job, "status");
    const struct situation *situation = why_situation(input);
    const char *reason = json_str(status, "reason", "");
    cJSON *report = json_object(), *metadata, *unread;

    json_put_str(report, "apiVersion", REPORT_API_VERSION);
    json_put_str(report, "kind", "WhyReport");
    metadata = json_put_object(report, "metadata");
    json_put_str(metadata, "namespace", json_str(job, "metadata/namespace", NULL));
    json_put_str(metadata, "name", json_str(job, "metadata/name", NULL));
    json_put_str(report, "situation", situation->name);
    json_put_str(report, "summary", situation->summary);
    json_put_str(report, "status", json_str(status, "launcherStatus", NULL));
    json_put_str(report, "reason", *reason ? reason : NULL);
    json_put_str(report, "message", json_str(status, "lastMessage", NULL));
    json_put_str(report, "since", job_since(job));
    put_advice(report, situation, reason);
    json_put_bool(report, "outdated", is_outdated(job));
    operator_sign_put(report, input->controllers, input->now_s);
    json_put_i64(report, "heldIpus", job_held_ipus(job));
    put_copy(report, "queue", json_at(status, "queue"));
    put_copy(report, "forecast", json_at(status, "forecast"));
    put_copy(report, "startFailure", json_at(status, "startFailure"));
    put_copy(report, "partitions", json_at(status, "partitions"));
    put_copy(report, "failures", json_at(status, "failures"));
    put_pods(report, job, input->pods);
    put_events(report, input);
    unread = json_put_array(report, "unread");
    for (size_t i = 0; input->unread && i < input->unread->count; i++)
        json_push_str(unread, input->unread->items[i]);
    return report;
}
