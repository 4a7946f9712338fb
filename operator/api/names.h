/* Every name, label, annotation and finalizer that the operator writes or reads, and how names are
 * generated. Pure. Names are deterministic, so that an operator finds its own objects again after a crash:
 * it expects a 409. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"

#define API_GROUP_VERSION "graphcore.ai/v1alpha1"
#define API_KIND "IPUJob"
#define API_FINALIZER "graphcore.ai/ipu-partitions"
/* Beside the finalizer: the namespace of the operator that has set it, and that runs the job. An operator
 * owns all partition records of its namespace, so that its namespace names it, whatever its release is
 * called. A VIPUController that an operator has created has it, too. */
#define ANNOTATION_OPERATOR "graphcore.ai/operator"
/* The one that was first written there. */
#define ANNOTATION_FIRST_OPERATOR "graphcore.ai/first-operator"
#define API_FIELD_MANAGER "ipu-operator"
/* The value of spec.managedBy that selects this operator. */
#define MANAGED_BY_US "graphcore.ai/ipu-operator"

#define LABEL_JOB_NAME "graphcore.ai/job-name"
#define LABEL_JOB_UID "graphcore.ai/job-uid"
#define LABEL_ROLE "graphcore.ai/role"
#define ROLE_WORKER "worker"
#define ROLE_LAUNCHER "launcher"
#define LABEL_INSTANCE "graphcore.ai/instance"
#define LABEL_WORKER "graphcore.ai/worker"
#define LABEL_RECORD "graphcore.ai/partition-record"
/* Standard labels of an EndpointSlice: its Service, and its controller. */
#define LABEL_SLICE_SERVICE "kubernetes.io/service-name"
#define LABEL_SLICE_WRITER "endpointslice.kubernetes.io/managed-by"
#define ANNOTATION_PARTITION "graphcore.ai/partition"
#define ANNOTATION_RUN "graphcore.ai/run"
/* Of a worker that waits for its launcher: the image of ipu-launch, which both must have. Webhooks of others
 * may change that of the container. */
#define ANNOTATION_LAUNCHER_IMAGE "graphcore.ai/launcher-image"
#define ANNOTATION_POD_INDEX                                                                                 \
    "graphcore.ai/pod-index" /* of a launcher: the number of its instance's workers */
#define ANNOTATION_REVISION "graphcore.ai/template-revision"
/* When the operator asked the kubelet to end the pod. */
#define ANNOTATION_STOPPED "graphcore.ai/stopped-at"
#define STOPPED_DEADLINE_S 1 /* its activeDeadlineSeconds then */
#define ANNOTATION_RELEASE "graphcore.ai/release"
/* Of a job: whether its IPUs may be given to a job of higher priority, "true" or "false"; and when its
 * program has written its latest checkpoint, which says so as well. */
#define ANNOTATION_PREEMPTIBLE "graphcore.ai/preemptible"
#define ANNOTATION_CHECKPOINTED "graphcore.ai/checkpointed-at"
#define ANNOTATION_DRAIN "graphcore.ai/drain"
#define ANNOTATION_CORDON "graphcore.ai/cordon"
/* Of a pod: the CA of the server to which its program reports its progress. */
#define ANNOTATION_PROGRESS_CA "graphcore.ai/progress-ca"
/* Of a restarted pod: how the attempt before it ended. */
#define ANNOTATION_PREVIOUS_ATTEMPT "graphcore.ai/previous-attempt"
#define ANNOTATION_DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"

/* The agent's port of a worker: its name in the pod spec, and its number if the pod has its own network. */
#define AGENT_PORT_NAME "ipu-agent"
#define AGENT_PORT 2222
/* With host networking: one of these, below Linux's range of ephemeral ports. */
#define AGENT_HOST_PORT_FIRST 12000
#define AGENT_HOST_PORT_COUNT 8000

/* What the operator adds to pods; templates must use other names. */
#define NAME_LAUNCHER_PART "ipu-launcher" /* a volume, and the init container that fills it */
#define NAME_KEYS_VOLUME "ipu-launch-keys"
#define NAME_SCRATCH_VOLUME "ipu-launch-tmp"
#define NAME_VIPU_VOLUME "ipu-vipu-ca"
#define NAME_PROGRESS_VOLUME "ipu-progress"

/* Reports of progress: the audience of the tokens, the path for pods, and that from a standby to the leader.
 */
#define PROGRESS_AUDIENCE "graphcore.ai/progress"
#define PROGRESS_PATH "/apis/graphcore.ai/v1alpha1/progress"
#define PROGRESS_FORWARD_PATH "/progress"
/* Kubeflow's names, which its clients look for. The last two are paths of files. */
#define PROGRESS_URL "KUBEFLOW_TRAINER_SERVER_URL"
#define PROGRESS_CA "KUBEFLOW_TRAINER_SERVER_CA_CERT"
#define PROGRESS_TOKEN "KUBEFLOW_TRAINER_SERVER_TOKEN"

/* Longest id that stays readable; V-IPU documents no limit, but users had problems with long ones. */
#define PARTITION_ID_MAX 63
/* Limit of label values and of the parts of host names. */
#define LABEL_MAX 63
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
/* A job's name is the value of a label. Its pods' names may be longer; host names are truncated if
 * necessary. */
#define JOB_NAME_MAX LABEL_MAX

/* "<job>-worker-<n>", owned by the caller. */
char *name_worker_pod(const char *job, uint32_t n);
/* The host name of worker n: the name of its pod if that is a valid host name, else "<truncated job>-<10 hex
 * of uid>-worker-<n>", owned by the caller. */
char *name_worker_host(const char *job, const char *uid, uint32_t n);
/* "<job>-workers": the headless Service of a job with several workers per instance; truncated like a host
 * name, owned by the caller. */
char *name_worker_service(const char *job, const char *uid);
/* "<job>-launcher" for instance 0, "<job>-launcher-<instance>" for others, owned by the caller. */
char *name_launcher_pod(const char *job, uint32_t instance);
/* The Secret with the keys of one start of an instance's pods: "<job>-mpi-<8 of uid>-<start>", with the
 * instance before the start for others than 0; "-vipu-" for jobs without a launcher. Owned by the caller. */
char *name_keys_secret(const char *job, const char *uid, bool has_launcher, uint32_t instance,
                       uint32_t start);
/* "<job>-peers": the NetworkPolicy of a job with a launcher, owned by the caller. */
char *name_network_policy(const char *job);
/* The readable id "<prefix>-<job>-<namespace>-<instance>", or NULL if it is longer than PARTITION_ID_MAX.
 * Owned by the caller. */
char *name_partition(const char *prefix, const char *job, const char *ns, uint32_t instance);
/* "<prefix>-<truncated job>-<10 hex of uid>-<instance>-<attempt>", with a prefix of up to 28 characters
 * never longer than PARTITION_ID_MAX. Owned by the caller. */
char *name_partition_hashed(const char *prefix, const char *job, const char *uid, uint32_t instance,
                            uint32_t attempt);
/* In place of the uid, if another operator was the first to run the job: that one may still have records of
 * the job, which this one does not see, so that no id may be made from the same. Owned by the caller. */
char *name_uid_of_later_operator(const char *uid, const char *operator_ns);
/* Iterates over the jobs that could have the partition of a readable id: returns the next one,
 * "namespace/name", owned by the caller, and its instance; NULL: there are no more. *at is 0 at first. There
 * may be several, because names contain dashes as well. */
char *partition_id_next_owner(const char *prefix, const char *id, size_t *at, uint32_t *ret_instance);
/* Whether the id contains the job's uid, or its replacement. Then no other job can ever have it, whatever its
 * prefix. */
bool name_is_hashed(const char *id, const char *uid, const char *operator_ns, uint32_t instance,
                    uint32_t attempt);
/* The namespace of a job's key, "namespace/name". Owned by the caller. */
char *namespace_of_key(const char *key);
/* A port in [20000, 29999] derived from the job's uid and the instance, for rendezvous of its workers. */
uint16_t name_master_port(const char *uid, uint32_t instance);
/* The next of the ids in an annotation graphcore.ai/release, which commas or spaces separate; false: there
 * are no more. Borrowed. */
bool released_id_next(const char **at, struct slice *ret);
