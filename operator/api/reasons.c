#include "operator/api/reasons.h"

#include "base/core/mem.h"
#include "base/core/str.h"

const struct reason reasons[] = {
    /* waiting for IPUs */
    {"CheckingTemplate", REASON_STEP, "The API server is asked whether it would take the pods", NULL},
    {"Queued", REASON_WAIT, "Jobs of higher priority and older ones are served first",
     "Wait; the message names who is ahead"},
    {"InsufficientIPUs", REASON_WAIT, "No controller has a free block of IPUs of this size",
     "Wait, or end one of the jobs that the message names"},
    {"ExceedsCapacity", REASON_TROUBLE, "No controller ever has a partition of as many IPUs as the job wants",
     "Make a new job with a smaller ipusPerJobInstance, a power of two"},
    {"NoController", REASON_TROUBLE, "No V-IPU controller fits the job",
     "Compare the template's nodeSelector with the controllers that the operator is configured with"},
    {"NoNodes", REASON_TROUBLE, "No node has the label that the controller's configuration names",
     "Label the nodes that reach the IPUs"},
    {"ControllerUnavailable", REASON_TROUBLE, "The V-IPU controller cannot be reached",
     "See that it runs and that the operator's configuration has its address; if the message names a Secret, "
     "look at that"},
    {"NoInstances", REASON_WAIT, "spec.jobInstances is 0", "Scale the job up: kubectl scale --replicas=1"},

    /* the API server does not take the pods */
    {"QuotaExceeded", REASON_TROUBLE, "A ResourceQuota of the namespace leaves no room for the pods",
     "Free some of the quota or have it raised; the operator asks again by itself"},
    {"PodSecurityRefused", REASON_TROUBLE, "The namespace's pod security standard forbids such pods",
     "Change the template as the message says, or relax the namespace's label"},
    {"PodsForbidden", REASON_TROUBLE,
     "The namespace's LimitRange, a quota that wants limits, an admission policy, or a ServiceAccount or "
     "PriorityClass that is not there forbids the pods",
     "Change the template as the message says; the operator asks again by itself, too"},
    {"NamespaceTerminating", REASON_TROUBLE, "The namespace is being deleted",
     "Nothing; the job goes with its namespace"},
    {"PodsNotCreated", REASON_TROUBLE,
     "The API server does not take the pods or what they need (Service, Secret, NetworkPolicy), or fails at "
     "it",
     "Read the message; the operator tries again by itself, more and more seldom"},
    {"NameTaken", REASON_TROUBLE, "An object with the name of one of the job's is there and is not the job's",
     "Delete or rename it, or give the job another name; the operator never touches it"},
    {"WriteRefused", REASON_TROUBLE,
     "The API server does not let the operator write the record of a partition, delete a pod, or change the "
     "job",
     "See in the message which write it is and who forbids it; the operator tries again by itself, more and "
     "more seldom"},

    /* on the way up */
    {"CreatingPartition", REASON_STEP, "The V-IPU controller makes the partition", NULL},
    {"PartitionError", REASON_TROUBLE,
     "The partition is in error; it is reset before the pods start, or start again; if resets do not mend "
     "it, "
     "another is made",
     "If it stays so, look at the IPUs with the V-IPU controller's tools"},
    {"PartitionMissing", REASON_TROUBLE,
     "Somebody removed the partition at the V-IPU controller while the pods ran, or the controller lost it",
     "Leave the operator's partitions alone; to have such a job started again, use restartPolicy OnFailure"},
    {"PartitionLost", REASON_TROUBLE, "The partition changed or broke while pods were started on it",
     "Nothing; another partition is made"},
    {"StoppingOldPods", REASON_STEP, "Pods of an earlier start are being stopped first", NULL},
    {"StartingPods", REASON_STEP, "The pods are being started", NULL},
    {"WaitingForWorkers", REASON_STEP, "The launcher starts when all workers are ready", NULL},
    {"StartingLauncher", REASON_STEP, "All workers are ready, and the launcher is being started", NULL},
    {"KeysLost", REASON_TROUBLE,
     "The Secret by which launcher and workers know each other was deleted before the launcher had it",
     "Nothing; the pods are started again with new keys"},
    {"Recovering", REASON_STEP, "The operator was interrupted while it started pods, and starts them afresh",
     NULL},

    /* pods that do not start */
    {"ImagePullFailed", REASON_TROUBLE, "An image cannot be pulled",
     "Correct the image's name, its tag or the pull secret"},
    {"ContainerCannotStart", REASON_TROUBLE, "A container cannot be made or started",
     "Look for a missing ConfigMap, Secret, key or program in the message"},
    {"PodNotPrepared", REASON_TROUBLE,
     "For a minute the pod's node could not prepare its volumes and network",
     "Look for a missing Secret, ConfigMap or claim among those that the message names; kubectl describe pod "
     "has the node's own words"},
    {"Unschedulable", REASON_TROUBLE, "No node has room for a pod, or may run it",
     "Lower the pod's requests, or change its nodeSelector or tolerations"},
    {"HostPortTaken", REASON_TROUBLE,
     "A port of the node that a pod declares as hostPort is in use on a node",
     "Wait for the pod that has the port, end it, or let pods have networks of their own (hostNetwork: "
     "false)"},
    {"SchedulingGated", REASON_WAIT, "The template's scheduling gates hold the pod back",
     "Whoever set the gate removes it from the pod"},
    {"PodsWaiting", REASON_WAIT, "A pod says that it waits",
     "Read the message: kubectl describe pod tells more"},

    /* running, stopping, starting again */
    {"Running", REASON_STEP, "All instances run", NULL},
    {"Ending", REASON_STEP, "The program has ended; a process of its pods has not yet",
     "If it stays so, look for a side-car that does not end"},
    {"Restarting", REASON_STEP, "An instance is being started again, as restartPolicy says",
     "status.failure tells why it ended"},
    {"Updating", REASON_STEP, "Instances are being replaced, because the template has changed",
     "Change it back to return; workers.strategy says how many at a time"},
    {"PodGone", REASON_TROUBLE, "A pod was deleted; the pods of its instance are started again",
     "Nothing; to stop a job, suspend or delete it"},
    {"ProcessMayStillRun", REASON_TROUBLE,
     "A pod has gone, or does not end, and nobody can tell whether its processes still use the IPUs",
     "Wait until the partition is removed (controller.holdSeconds); or, when you know that nothing runs any "
     "more, "
     "annotate the job with graphcore.ai/release=<partition>"},
    {"Suspended", REASON_STEP,
     "spec.suspend is true; the job holds no IPUs when status.partitionCounts.total is 0",
     "Set spec.suspend to false"},
    {"Terminating", REASON_STEP, "The job is being deleted; its IPUs go back first",
     "If it stays so, the message says what it waits for"},
    {"Completed", REASON_STEP, "All instances ended with success", NULL},
    {"InteractiveTimeOver", REASON_STEP, "The time of an interactive job is over",
     "Ask for more with interactive.ttl"},

    /* why it failed */
    {"ContainerFailed", REASON_FAILURE, "A container ended with an exit code other than 0",
     "Read its last lines in status.failure, and its log"},
    {"WorkerEnded", REASON_FAILURE, "A worker ended with exit code 0 although its launcher was not done",
     "Workers wait for their launcher; look for what told this one to end"},
    {"WorkerLost", REASON_FAILURE,
     "The launcher does not hear from a worker any more, or could not reach it, and the worker's pod has not "
     "ended",
     "Look at the worker's node, and at what its network lets through; to have the job started again, use "
     "restartPolicy OnFailure"},
    {"OOMKilled", REASON_FAILURE, "A container used more memory than its limit",
     "Raise the container's memory limit"},
    {"Evicted", REASON_FAILURE, "The pod was evicted: its node was short of something, or was drained",
     "Raise the pod's requests; to have it started again, use restartPolicy OnFailure"},
    {"Preempted", REASON_FAILURE, "The pod had to make room for one of higher priority",
     "Give the template a priorityClassName; to have it started again, use restartPolicy OnFailure"},
    {"NodeLost", REASON_FAILURE,
     "The pod's node does not answer, has gone, or was tainted so that pods must leave",
     "Look at the node; to have the job started again, use restartPolicy OnFailure"},
    {"NodeShutdown", REASON_FAILURE, "The pod's node was shut down",
     "To have the job started again, use restartPolicy OnFailure"},
    {"NodeRefused", REASON_FAILURE, "The node's kubelet did not take the pod",
     "Read the message; something on the node changed after the pod was scheduled"},
    {"PodDeadlineExceeded", REASON_FAILURE, "The template's own activeDeadlineSeconds has passed",
     "Use the job's activeDeadlineSeconds, or raise the template's"},
    {"PodFailed", REASON_FAILURE, "The pod failed and no container of it says why",
     "kubectl describe pod tells more"},
    {"InstanceFailed", REASON_FAILURE, "Some of several instances failed",
     "status.failure names the first failures"},
    {"BackoffLimitExceeded", REASON_FAILURE,
     "It failed once more than restartPolicy.backOffLimit allows restarts",
     "status.failure has the last three failures"},
    {"DeadlineExceeded", REASON_FAILURE, "The job ran longer than activeDeadlineSeconds",
     "Raise it, or find out what takes so long"},
    {"StartDeadlineExceeded", REASON_FAILURE,
     "Pods were stuck longer than startDeadlineSeconds; the IPUs went back",
     "The message says what they were stuck at"},
    {"InvalidSpec", REASON_FAILURE, "The spec makes no sense; the message has every mistake",
     "Correct the spec"},
    {"PodTemplateRefused", REASON_FAILURE,
     "The API server refuses the template; the message has every mistake",
     "Correct spec.workers.template; the job starts then"},
    {"PartitionRefused", REASON_FAILURE, "The V-IPU controller refuses a partition of this shape",
     "Make a new job without spec.partition, or with another one"},

    /* not in status.reason */
    {"RestartPolicyOverridden", REASON_NOTICE,
     "The template has a restartPolicy, which does not count in a job",
     "Take it out; spec.restartPolicy is the job's"},
    {"ScaledAfterEnd", REASON_NOTICE, "A job that has ended was scaled; that changes nothing",
     "Create the job anew to run it again"},
    {"ChangedAfterEnd", REASON_NOTICE,
     "The spec of a job that has ended was changed; only ttlSecondsAfterFinished and cleanPodPolicy still "
     "count",
     "Create the job anew to run it again"},
    {"AllActive", REASON_NOTICE, "PartitionsReady: every instance has its partition", NULL},
    {"AllRunning", REASON_NOTICE, "PodsReady: all pods run", NULL},
    {"InstancesRunning", REASON_NOTICE, "Running: at least one instance runs", NULL},
    {"JobEnded", REASON_NOTICE, "A condition of a running job does not hold, because the job has ended",
     NULL},
    {"NotCompleted", REASON_NOTICE, "Completed does not hold", NULL},
    {"NotFailed", REASON_NOTICE, "Failed does not hold", NULL},
    {"NotSuspended", REASON_NOTICE, "Suspended does not hold", NULL},
};

const size_t reason_count = COUNT_OF(reasons);

const struct condition_row condition_rows[] = {
    {"PartitionsReady", "Every instance has its partition, and it is active"},
    {"PodsReady", "Every pod of every instance that has not ended runs"},
    {"Running", "At least one instance runs"},
    {"Suspended", "The job is suspended, and starts nothing"},
    {"Completed", "The job has ended well"},
    {"Failed", "The job has ended badly"},
};

const size_t condition_row_count = COUNT_OF(condition_rows);

const struct reason *reason_find(const char *name)
{
    for (size_t i = 0; i < reason_count; i++) {
        if (str_eq(reasons[i].name, name))
            return &reasons[i];
    }
    return NULL;
}

const char *reason_kind_name(enum reason_kind kind)
{
    static const char *const names[] = {"step", "wait", "trouble", "failure", "notice"};

    return names[kind];
}

bool reason_is_warning(const char *name)
{
    const struct reason *reason = reason_find(name);

    return reason && (reason->kind == REASON_TROUBLE || reason->kind == REASON_FAILURE);
}
