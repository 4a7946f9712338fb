/* The operator's view of an IPUJob: a small struct of spec and metadata, with every mistake found in it.
 * Pure. The pod template and the status are kept whole, so that unknown fields pass through, and compressed,
 * because they are most of a job's memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/compressed_text.h"
#include "base/core/str.h"
#include "base/doc/json.h"

enum restart_type { RESTART_NEVER, RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_EXIT_CODE };
enum strategy { STRATEGY_ROLLING_UPDATE, STRATEGY_RECREATE };
enum clean_policy { CLEAN_NONE, CLEAN_WORKERS, CLEAN_ALL };

/* The end of the message of a suspended job. */
#define SUSPENDED_REMEDY ". Set spec.suspend to false to resume"

#define JOB_NO_TTL UINT32_MAX
#define JOB_INSTANCES_MAX 10000u
#define JOB_PODS_MAX                                                                                         \
    32768u /* workers of all instances: each has a view in memory whenever the job is reconciled \ */
/* Bytes that are kept in memory for each job. */
#define JOB_TEMPLATE_MAX ((size_t)64 * 1024)   /* as JSON */
#define JOB_FINALIZERS_MAX ((size_t)16 * 1024) /* without quotes and commas... */
#define JOB_FINALIZER_LEAST 16u /* ...but each counts as so much: short ones take more in memory */
#define JOB_RELEASE_MAX ((size_t)64 * 1024)
#define JOB_IPUS_PER_DOMAIN 64u
#define JOB_IPUS_MAX (1u << 16)  /* of one instance */
#define JOB_SLOTS_MAX (1u << 16) /* of one worker */

/* States are single words such as Terminating. */
#define JOB_STATE_SIZE 16

/* A number of instances, or a percentage of them. */
struct int_or_percent {
    uint32_t amount;
    bool is_percent;
};

/* The shape of a job, all sizes checked against each other if `problems` is empty. */
struct job_spec {
    uint32_t instances;            /* jobInstances; 0: scaled to zero */
    uint32_t ipus_per_instance;    /* power of two, or a multiple of 64 above 64 */
    uint32_t workers_per_instance; /* pods per instance, >= 1 */
    uint32_t replicas_per_worker;  /* modelReplicasPerWorker; 0: not given */

    enum restart_type restart;
    uint32_t backoff_limit;
    char *exit_codes; /* "1-5,137" or NULL */
    enum clean_policy clean;
    enum strategy strategy; /* how instances are replaced when the template changes */
    struct int_or_percent max_surge, max_unavailable;
    bool suspend;
    char *managed_by;  /* or NULL */
    bool has_launcher; /* one pod per instance starts the program on the workers, which run the agent */
    uint32_t slots_per_worker;     /* launcher.slotsPerWorker; 0: not given */
    uint32_t interactive_ttl_s;    /* 0: not interactive */
    uint32_t active_deadline_s;    /* 0: not given */
    uint32_t start_deadline_s;     /* 0: not given */
    uint32_t ttl_after_finished_s; /* JOB_NO_TTL: not given */

    /* spec.partition: overrides what follows from the shape */
    int reconfigurable;                     /* -1: not given, 0, 1 */
    uint32_t gcds;                          /* 0: not given */
    char *sync_type, *routing, *allocation; /* as given, or NULL */
};

struct job {
    char *ns, *name, *uid, *resource_version;
    int64_t generation;
    int64_t created_s; /* Unix seconds */
    bool deleting;     /* deletionTimestamp is set */
    int64_t deleted_s; /* the time of the request; 0: not requested */
    struct strv finalizers;
    bool has_many_finalizers; /* more than JOB_FINALIZERS_MAX: these are the first ones */
    bool has_finalizer;       /* the operator's finalizer is set */
    char *operator_ns; /* with the finalizer: the namespace of the operator that has set it; NULL: unknown */
    char *first_operator_ns; /* the first that was written there; NULL: unknown */
    bool is_vendors;         /* started by the vendor's operator, and must be left alone */
    char *release; /* annotation graphcore.ai/release: ids that an admin releases, comma-separated; or NULL,
                      also if it is too long */
    bool is_preemptible;    /* its owner lets a job of higher priority have its IPUs */
    int64_t checkpointed_s; /* annotation graphcore.ai/checkpointed-at; 0: none */
    struct job_spec spec;
    struct strv problems;                  /* the result of validate_job; empty for a valid spec */
    char *key;                             /* "namespace/name" */
    uint64_t revision;                     /* hash of the template; never 0 */
    uint64_t launcher_revision;            /* hash of spec.launcher; 0 without one */
    uint64_t image;                        /* of the template; see job_image */
    struct compressed_text *template_text; /* spec.workers.template; {} when absent or too large */
    struct compressed_text *launcher_text; /* spec.launcher, likewise; NULL without one */
    bool overrides_restart_policy;         /* the template has its own restart policy, which is not Never */
    struct compressed_text *status_text;   /* status; {} if absent */
    char state[JOB_STATE_SIZE];            /* launcherStatus of the status, truncated; "" if absent */
};

/* Never fails for an object of the right kind: an invalid spec is a view with problems. NULL only without
 * name or uid. */
struct job *job_parse(const cJSON *object);
void job_free(struct job *job);
/* The same, as a callback of watch; ctx is unused. */
bool job_view_item(void *ctx, const cJSON *item, void **ret);
void job_free_item(void *view);

static inline void job_auto(struct job **job)
{
    job_free(*job);
}

size_t job_finalizer_bytes(const cJSON *object); /* all of them */
/* As received from the API server; owned by the caller. Fails for the launcher of a job without one. */
uint64_t job_image(const cJSON *template); /* hash of the image of its first container */
MUST_USE cJSON *job_template(const struct job *job, struct err *err);
MUST_USE cJSON *job_launcher(const struct job *job, struct err *err);
MUST_USE cJSON *job_status(const struct job *job, struct err *err);

/* The pods of an instance: its workers, followed by its launcher. */
uint32_t job_pods_per_instance(const struct job_spec *spec);
char *job_pod_name(const struct job *job, uint32_t instance, uint32_t pod_index); /* owned by the caller */
bool job_is_managed_by_us(const struct job_spec *spec);
/* Whether another operator than that of this namespace runs the job. */
bool job_is_of_other_operator(const struct job *job, const char *operator_ns);
/* Whether an operator of another namespace ran it first, and may still have records of it. */
bool job_was_of_other_operator(const struct job *job, const char *operator_ns);
/* The id of a partition for it, see name_partition_hashed. Owned by the caller. */
char *job_hashed_partition(const struct job *job, const char *operator_ns, const char *prefix,
                           uint32_t instance, uint32_t attempt);
/* Whether its workers need a Service to find each other: there are several, and no launcher. */
bool job_needs_worker_service(const struct job_spec *spec);
bool job_has_several_workers(const struct job_spec *spec);
bool job_has_popdist(const struct job_spec *spec);         /* replicas given, or several workers */
uint32_t job_worker_replicas(const struct job_spec *spec); /* of the model, in each worker: default 1 */
uint32_t job_replicas(const struct job_spec *spec);        /* in all workers of an instance */
bool job_is_reconfigurable(const struct job_spec *spec);   /* the size of the partition it requests */
uint32_t job_gcds(const struct job_spec *spec);
uint32_t job_slots(const struct job_spec *spec); /* processes that mpirun may start on each worker */
uint32_t job_vipu_replicas(const struct job_spec *spec);
/* For how long it may have IPUs at a time: the shorter of its deadline and the time of an interactive job; 0:
 * no limit. */
uint32_t job_limit_s(const struct job_spec *spec);
#define POD_GRACE_S 30 /* what the API server sets if a pod says nothing */
/* How long such a pod may take to stop, however long its template says. */
uint32_t job_pod_grace_s(const cJSON *pod_spec);
/* The same for the pods of a job, of spec.workers.template and spec.launcher, which may be NULL. */
uint32_t job_grace_s(const cJSON *workers_template, const cJSON *launcher);
/* A number of `total` instances; a percentage is rounded up or down. */
uint32_t int_or_percent_of(const struct int_or_percent *share, uint32_t total, bool round_up);
/* How many instances may run in addition during a rollout: not more than there are to be replaced. */
uint32_t job_surge(const struct job_spec *spec);
