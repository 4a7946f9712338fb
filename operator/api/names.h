/* Every name, label, annotation and finalizer that the operator writes or looks for, and how names are made.
 * Pure. Names are deterministic, so that a crashed operator finds its own work again: a 409 is an answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_GROUP_VERSION "graphcore.ai/v1alpha1"
#define API_KIND "IPUJob"
#define API_FINALIZER "graphcore.ai/ipu-partitions"
#define API_FIELD_MANAGER "ipu-operator"

#define LABEL_JOB_NAME "graphcore.ai/job-name"
#define LABEL_JOB_UID "graphcore.ai/job-uid"
#define LABEL_ROLE "graphcore.ai/role"
#define ROLE_WORKER "worker"
#define ROLE_LAUNCHER "launcher"
#define LABEL_INSTANCE "graphcore.ai/instance"
#define LABEL_WORKER "graphcore.ai/worker"
#define LABEL_RECORD "graphcore.ai/partition-record"
/* Of an EndpointSlice, as Kubernetes has them: whose it is, and who writes it. */
#define LABEL_SLICE_SERVICE "kubernetes.io/service-name"
#define LABEL_SLICE_WRITER "endpointslice.kubernetes.io/managed-by"
#define ANNOTATION_PARTITION "graphcore.ai/partition"
#define ANNOTATION_RUN "graphcore.ai/run"
#define ANNOTATION_POD_INDEX "graphcore.ai/seat" /* of a launcher: the number of its instance's workers */
#define ANNOTATION_REVISION "graphcore.ai/template-revision"
#define ANNOTATION_RELEASE "graphcore.ai/release"
#define ANNOTATION_DRAIN "graphcore.ai/drain"
#define ANNOTATION_DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"

/* The agent's port of a worker: by this name in its pod, and where it is when the pod has its own network. */
#define AGENT_PORT_NAME "ipu-agent"
#define AGENT_PORT 2222
/* With host networking: one of these, below those that Linux gives to connections of its own. */
#define AGENT_HOST_PORT_FIRST 12000
#define AGENT_HOST_PORT_COUNT 8000

/* What the operator adds to pods; templates have to use other names. */
#define NAME_LAUNCHER_PART "ipu-launcher" /* a volume, and the init container that fills it */
#define NAME_KEYS_VOLUME "ipu-launch-keys"
#define NAME_SCRATCH_VOLUME "ipu-launch-tmp"
#define NAME_VIPU_VOLUME "ipu-vipu-ca"

/* Longest id that is kept readable; V-IPU states no limit, but users saw trouble with long ones. */
#define PARTITION_ID_MAX 63
/* Of label values and of the parts of host names. */
#define LABEL_MAX 63
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
/* A job's name is the value of a label. Its pods' names may be longer; host names are cut where needed. */
#define JOB_NAME_MAX LABEL_MAX

/* "<job>-worker-<n>", yours. */
char *name_worker_pod(const char *job, uint32_t n);
/* The host name of worker n: that of its pod where that can be one, else "<job, cut>-<10 hex of
 * uid>-worker-<n>", yours. */
char *name_worker_host(const char *job, const char *uid, uint32_t n);
/* "<job>-workers": the headless Service of a job with several workers per instance; cut like a host name,
 * yours.
 */
char *name_worker_service(const char *job, const char *uid);
/* "<job>-launcher" for instance 0, "<job>-launcher-<instance>" for others, yours. */
char *name_launcher_pod(const char *job, uint32_t instance);
/* The Secret with the keys of one start of an instance's pods: "<job>-mpi-<8 of uid>-<start>", with the
 * instance before the start for others than 0; "-vipu-" for jobs without a launcher. Yours. */
char *name_keys_secret(const char *job, const char *uid, bool has_launcher, uint32_t instance,
                       uint32_t start);
/* "<job>-peers": the NetworkPolicy of a job with a launcher, yours. */
char *name_network_policy(const char *job);
/* The readable id "<prefix>-<job>-<namespace>-<instance>", or NULL when it is longer than PARTITION_ID_MAX.
 * Yours. */
char *name_partition(const char *prefix, const char *job, const char *ns, uint32_t instance);
/* "<prefix>-<job, cut>-<10 hex of uid>-<instance>-<attempt>", with a prefix of up to 28 characters never
 * longer than PARTITION_ID_MAX. Yours. */
char *name_partition_hashed(const char *prefix, const char *job, const char *uid, uint32_t instance,
                            uint32_t attempt);
/* Which job could have the partition of a readable id? Says the next one, "namespace/name", yours, and its
 * instance; NULL: there are no more. *at is 0 before the first. Several, because names have dashes as well.
 */
char *partition_id_next_owner(const char *prefix, const char *id, size_t *at, uint32_t *ret_instance);
/* Has the id the job's uid in it? Then it is nobody else's, ever, whatever prefix it was made with. */
bool name_is_hashed(const char *id, const char *uid, uint32_t instance, uint32_t attempt);
/* A port in [20000, 29999] derived from the job's uid and the instance, for rendezvous of its workers. */
uint16_t name_master_port(const char *uid, uint32_t instance);
