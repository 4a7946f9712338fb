#include "operator/api/reasons.h"

#include "base/core/mem.h"
#include "base/core/str.h"

const struct reason reasons[] = {
    /* waiting for IPUs */
    {"ValidatingTemplate", REASON_PROGRESS, "The API server is checking whether the pods would be accepted",
     NULL},
    {"Queued", REASON_WAITING, "Jobs with higher priority and older jobs are served first",
     "Wait; the message names the jobs ahead"},
    {"InsufficientIPUs", REASON_WAITING, "No controller has a free block of IPUs of this size",
     "Wait, or suspend or delete one of the jobs that the message names"},
    {"IPUQuotaExceeded", REASON_WAITING, "The namespace would hold more IPUs than its quota",
     "Wait, end another job of the namespace, or ask an admin to raise queue.quotas in the chart's values"},
    {"QueueQuotaExceeded", REASON_WAITING,
     "The namespace has as many instances in the queue as its quota allows",
     "Wait, delete jobs of the namespace that wait, or ask an admin to raise queue.instanceQuotas in the "
     "chart's values"},
    {"QueueFull", REASON_WAITING, "As many instances wait for IPUs as the chart's values allow",
     "Wait, reduce spec.jobInstances of jobs that wait or delete some, or ask an admin to raise the value "
     "that "
     "the message names"},
    {"ExceedsCapacity", REASON_WARNING,
     "No controller can ever create a partition with as many IPUs as the job requests",
     "Create a new job with a smaller ipusPerJobInstance, a power of two"},
    {"NoMatchingController", REASON_WARNING, "No V-IPU controller matches the job",
     "Compare the template's nodeSelector with the operator's list of controllers"},
    {"NoMatchingNodes", REASON_WARNING, "No node has the label that the controller's configuration names",
     "Label the nodes that reach the IPUs"},
    {"ControllerUnavailable", REASON_WARNING, "The V-IPU controller cannot be reached",
     "Check that it runs and that the operator's configuration has its address; if the message names a "
     "Secret, check that Secret"},
    {"ScaledToZero", REASON_WAITING, "spec.jobInstances is 0",
     "Scale the job up: kubectl scale --replicas=1"},

    /* the API server rejects the pods */
    {"QuotaExceeded", REASON_WARNING, "The pods exceed a ResourceQuota of the namespace",
     "Free some of the quota or have it raised until all pods of an instance fit; the operator retries "
     "automatically"},
    {"PodSecurityViolation", REASON_WARNING, "The pods violate the namespace's pod security standard",
     "Change the template as the message says, or relax the namespace's label"},
    {"PodsForbidden", REASON_WARNING,
     "The pods are forbidden by a LimitRange, a quota that requires limits, an admission policy, or a "
     "missing ServiceAccount or PriorityClass",
     "Change the template as the message says; the operator also retries automatically"},
    {"NamespaceTerminating", REASON_WARNING, "The namespace is being deleted",
     "No action needed; the job is deleted with its namespace"},
    {"FailedCreate", REASON_WARNING,
     "The API server rejects the pods or objects they need (Service, Secret, NetworkPolicy), or fails to "
     "create them",
     "Read the message; the operator retries with increasing delays"},
    {"NameConflict", REASON_WARNING,
     "An object with the name of one of the job's objects exists and does not belong to the job",
     "Delete or rename it, or give the job another name; the operator never changes it"},
    {"WriteRejected", REASON_WARNING,
     "The API server does not let the operator write the record of a partition, stop or delete a pod, or "
     "change the "
     "job",
     "Read in the message which write was rejected, and why; the operator retries with increasing delays"},

    /* starting */
    {"CreatingPartition", REASON_PROGRESS, "The V-IPU controller is creating the partition", NULL},
    {"PartitionError", REASON_WARNING,
     "The partition is in error; it is reset before the pods start or restart, and replaced if resets do not "
     "help",
     "If the error persists, check the IPUs with the V-IPU controller's tools"},
    {"PartitionMissing", REASON_WARNING,
     "The partition was removed at the V-IPU controller while the pods ran, or the controller lost it",
     "Do not remove the operator's partitions; to have such jobs restarted, use restartPolicy OnFailure"},
    {"PartitionLost", REASON_WARNING, "The partition changed or failed while pods were started on it",
     "No action needed; another partition is created"},
    {"StoppingOldPods", REASON_PROGRESS, "Pods of an earlier start are being stopped first", NULL},
    {"StartingPods", REASON_PROGRESS, "The pods are being started", NULL},
    {"WaitingForWorkers", REASON_PROGRESS, "The launcher starts when all workers are ready", NULL},
    {"StartingLauncher", REASON_PROGRESS, "All workers are ready, and the launcher is being started", NULL},
    {"SecretDeleted", REASON_WARNING,
     "The Secret that authenticates launcher and workers was deleted before the launcher had read it",
     "No action needed; the pods are restarted with new keys"},
    {"Recovering", REASON_PROGRESS,
     "The operator was interrupted while it started pods, and starts them again", NULL},

    /* pods that do not start */
    {"ImagePullFailed", REASON_WARNING, "An image cannot be pulled",
     "Correct the image's name, its tag or the pull secret; if the registry was not reached, check the "
     "node's network"},
    {"ContainerCannotStart", REASON_WARNING, "A container cannot be created or started",
     "Look for a missing ConfigMap, Secret, key or program in the message"},
    {"PodSandboxNotReady", REASON_WARNING, "The pod's node could not prepare its volumes and network in time",
     "Look for a missing Secret, ConfigMap or claim among those that the message names; the events of "
     "the pod say which"},
    {"Unschedulable", REASON_WARNING, "No node has enough free resources for a pod, or none may run it",
     "If the message is about claims, create them, or correct their names or storage classes (kubectl get "
     "pvc); else lower the pod's requests, or change its nodeSelector or tolerations"},
    {"HostPortConflict", REASON_WARNING,
     "A port of the node that a pod declares as hostPort is in use on a node",
     "Wait for the pod that has the port, delete it, or set hostNetwork: false in the template"},
    {"SchedulingGated", REASON_WAITING, "The template's scheduling gates hold the pod back",
     "Remove the scheduling gate from the pod"},
    {"PodWaiting", REASON_WAITING, "A pod reports that it is waiting",
     "Read the message; kubectl describe pod shows more"},

    /* running, stopping, restarting */
    {"Running", REASON_PROGRESS, "All instances are running", NULL},
    {"PodsNotReady", REASON_WAITING,
     "All pods run, and a container of some does not pass its readiness or startup probe",
     "Compare the probe with what the program serves; the events of the pod say what the kubelet got"},
    {"NodeNotReady", REASON_WARNING, "All pods run, as far as is known; the node of some does not report",
     "Check the node: kubectl get nodes; if it stays away, the cluster evicts its pods"},
    {"Finishing", REASON_PROGRESS, "The program has ended; another process of its pods has not",
     "If this persists, look for a sidecar that does not end"},
    {"Restarting", REASON_PROGRESS, "An instance is being restarted, as restartPolicy requires",
     "status.failures shows why it ended"},
    {"IPUsPreempted", REASON_WAITING,
     "A job of higher priority gets the IPUs of an instance, which returns to the queue",
     "Wait; to keep IPUs, remove the annotations graphcore.ai/preemptible and graphcore.ai/checkpointed-at"},
    {"RollingUpdate", REASON_PROGRESS, "Instances are being replaced, because the template has changed",
     "Change it back to return; workers.strategy sets how many are replaced at a time"},
    {"PodDeleted", REASON_WARNING, "A pod was deleted; the pods of its instance are restarted",
     "No action needed; to stop a job, suspend or delete it"},
    {"TerminationUnconfirmed", REASON_WARNING,
     "A pod is gone, or does not end, and its processes may still use the IPUs",
     "Wait until the time in the message (controller.holdSeconds); or, if you know that none of its "
     "processes is running, run the command in the message"},
    {"Suspended", REASON_PROGRESS,
     "spec.suspend is true; the job holds no IPUs when status.partitionCounts.total is 0",
     "Set spec.suspend to false"},
    {"Terminating", REASON_PROGRESS, "The job is being deleted; its IPUs are released first",
     "If this persists, the message says what it is waiting for"},
    {"Completed", REASON_PROGRESS, "All instances completed successfully", NULL},
    {"InteractiveTTLExpired", REASON_PROGRESS, "The time of an interactive job has expired",
     "Set a longer interactive.ttl"},

    /* failures */
    {"ContainerFailed", REASON_FAILURE, "A container ended with an exit code other than 0",
     "Read its last lines in status.failures, and its log"},
    {"WorkerEnded", REASON_FAILURE, "A worker ended with exit code 0 before its launcher",
     "Workers wait for their launcher; find out why this one ended"},
    {"WorkerLost", REASON_FAILURE,
     "The launcher cannot reach a worker, or gets no answer from it, and the worker's pod has not ended",
     "Check the worker's node, and what its network allows; to have the job restarted, use restartPolicy "
     "OnFailure"},
    {"OOMKilled", REASON_FAILURE, "The kernel killed a process because the memory of its container ran out",
     "Raise the container's memory limit"},
    {"Evicted", REASON_FAILURE, "The pod was evicted: its node ran short of a resource, or was drained",
     "Raise the pod's requests; to have it restarted, use restartPolicy OnFailure"},
    {"Preempted", REASON_FAILURE, "The pod was preempted by a pod with higher priority",
     "Give the template a priorityClassName; to have it restarted, use restartPolicy OnFailure"},
    {"NodeLost", REASON_FAILURE,
     "The pod's node does not respond, was removed, or has a taint that evicts the pod",
     "Check the node; to have the job restarted, use restartPolicy OnFailure"},
    {"NodeShutdown", REASON_FAILURE, "The pod's node was shut down",
     "To have the job restarted, use restartPolicy OnFailure"},
    {"RejectedByNode", REASON_FAILURE, "The node's kubelet rejected the pod",
     "Read the message; something on the node changed after the pod was scheduled"},
    {"PodDeadlineExceeded", REASON_FAILURE, "The template's own activeDeadlineSeconds has passed",
     "Use the job's activeDeadlineSeconds, or raise the template's"},
    {"PodFailed", REASON_FAILURE, "The pod failed without a failed container",
     "kubectl describe pod shows more"},
    {"InstanceFailed", REASON_FAILURE, "Some or all of several instances failed",
     "status.failures shows why, and status.failedIndexes which"},
    {"BackoffLimitExceeded", REASON_FAILURE,
     "The instance failed more often than restartPolicy.backOffLimit allows",
     "status.failures shows the last three failures"},
    {"DeadlineExceeded", REASON_FAILURE, "The job ran longer than activeDeadlineSeconds",
     "Raise it, or find out what takes so long"},
    {"StartDeadlineExceeded", REASON_FAILURE,
     "Pods failed to start for longer than startDeadlineSeconds; the IPUs were released",
     "The message says what prevented the start"},
    {"InvalidSpec", REASON_FAILURE, "The spec is invalid; the message lists every error", "Correct the spec"},
    {"InvalidPodTemplate", REASON_FAILURE,
     "The API server rejects the template; the message lists every error",
     "Correct spec.workers.template; the job then starts"},
    {"PartitionRejected", REASON_FAILURE, "The V-IPU controller rejects a partition of this shape",
     "Create a new job without spec.partition, or with another one"},

    /* only in events and conditions */
    {"RestartPolicyIgnored", REASON_INFO, "The restartPolicy of the template is ignored",
     "Remove it and set spec.restartPolicy"},
    {"ScaleIgnored", REASON_INFO, "A finished job was scaled, which has no effect",
     "Delete and create the job again to rerun it"},
    {"OtherOperator", REASON_INFO,
     "Another IPU operator, which the message names, runs the job; the one that reports this leaves it alone",
     "Uninstall one of the two, or give each its own namespace to watch"},
    {"UpdateIgnored", REASON_INFO,
     "The spec of a finished job was changed; only ttlSecondsAfterFinished and cleanPodPolicy still have an "
     "effect",
     "Delete and create the job again to rerun it"},
    {"PartitionsActive", REASON_INFO, "PartitionsReady: every instance has its partition", NULL},
    {"PodsRunning", REASON_INFO, "PodsReady: all pods are running and ready", NULL},
    {"InstancesRunning", REASON_INFO, "Running: at least one instance is running", NULL},
    {"JobFinished", REASON_INFO, "A condition of a running job is false, because the job has finished", NULL},
    {"NotCompleted", REASON_INFO, "Completed is false", NULL},
    {"NotFailed", REASON_INFO, "Failed is false", NULL},
    {"NotSuspended", REASON_INFO, "Suspended is false", NULL},
    {"NotFinished", REASON_INFO, "Finished is false", NULL},
};

const size_t reason_count = COUNT_OF(reasons);

const struct condition_row condition_rows[] = {
    {"PartitionsReady", "Every instance has its partition, and it is active"},
    {"PodsReady", "Every pod of every unfinished instance is running and ready"},
    {"Running", "At least one instance is running"},
    {"Suspended", "The job is suspended and starts no pods"},
    {"Completed", "The job completed successfully"},
    {"Failed", "The job failed"},
    {"Finished", "The job completed or failed; the reason says which"},
    {"Ready",
     "Every unfinished instance runs with ready pods, or the job is completed, suspended or scaled to zero"},
    {"Reconciling", "The job waits or starts; absent otherwise"},
    {"Stalled", "The job failed, or cannot start until it is changed; absent otherwise"},
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
    static const char *const names[] = {"progress", "waiting", "warning", "failure", "info"};

    return names[kind];
}

bool reason_is_warning(const char *name)
{
    const struct reason *reason = reason_find(name);

    return reason && (reason->kind == REASON_WARNING || reason->kind == REASON_FAILURE);
}
