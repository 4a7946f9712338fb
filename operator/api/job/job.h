/* What the operator knows of an IPUJob: a small view of spec and metadata, with every mistake found in it.
 * Pure. The pod template and the status are kept whole, so that fields we do not know pass through, and
 * packed, because they are most of what a job takes in memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/compressed_text.h"
#include "base/core/str.h"
#include "base/doc/json.h"

enum restart_type { RESTART_NEVER, RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_EXIT_CODE };
enum strategy { STRATEGY_ROLLING_UPDATE, STRATEGY_RECREATE };
enum clean_policy { CLEAN_NONE, CLEAN_WORKERS, CLEAN_ALL };

#define JOB_NO_TTL UINT32_MAX
#define JOB_INSTANCES_MAX 10000u
#define JOB_PODS_MAX                                                                                         \
    32768u /* workers of all instances: each time it is looked at, there is a view of each                   \
            */
#define JOB_IPUS_PER_DOMAIN 64u
#define JOB_IPUS_MAX (1u << 16) /* of one instance */

/* States are words such as Terminating. */
#define JOB_STATE_SIZE 16

/* So many instances, or so many of a hundred. */
struct int_or_percent {
    uint32_t amount;
    bool is_percent;
};

/* The shape of a job, all sizes checked against each other when `problems` is empty. */
struct job_spec {
    uint32_t instances;            /* jobInstances; 0 is a job scaled to nothing */
    uint32_t ipus_per_instance;    /* power of two, or a multiple of 64 above 64 */
    uint32_t workers_per_instance; /* pods per instance, >= 1 */
    uint32_t replicas_per_worker;  /* modelReplicasPerWorker; 0 when not given */

    enum restart_type restart;
    uint32_t backoff_limit;
    char *exit_codes; /* "1-5,137" or NULL */
    enum clean_policy clean;
    enum strategy strategy; /* how instances are replaced when the template changes */
    struct int_or_percent max_surge, max_unavailable;
    bool suspend;
    char *managed_by;  /* or NULL */
    bool has_launcher; /* one pod per instance starts the program on the workers, which run the agent */
    uint32_t interactive_ttl_s;    /* 0 when not interactive */
    uint32_t active_deadline_s;    /* 0 when not given */
    uint32_t start_deadline_s;     /* 0 when not given */
    uint32_t ttl_after_finished_s; /* JOB_NO_TTL when not given */

    /* spec.partition: what overrides the reading of the shape */
    int reconfigurable;                     /* -1 not given, 0, 1 */
    uint32_t gcds;                          /* 0 when not given */
    char *sync_type, *routing, *allocation; /* as given, or NULL */
};

struct job {
    char *ns, *name, *uid, *resource_version;
    int64_t generation;
    int64_t created_s; /* Unix seconds */
    bool deleting;     /* deletionTimestamp is set */
    int64_t deleted_s; /* when that was asked for; 0: it was not */
    struct strv finalizers;
    bool has_finalizer; /* ours is among them */
    bool is_vendors;    /* started by the vendor's operator, and to be left alone */
    char *release; /* annotation graphcore.ai/release: ids an admin lets go of, comma-separated; or NULL */
    struct job_spec spec;
    struct strv problems;                  /* what validate_job says of it; empty for a valid spec */
    char *key;                             /* "namespace/name" */
    uint64_t revision;                     /* of the template: another template has another; never 0 */
    uint64_t launcher_revision;            /* the same of spec.launcher; 0 without one */
    struct compressed_text *template_text; /* spec.workers.template; {} when absent */
    struct compressed_text *launcher_text; /* spec.launcher; NULL without one */
    bool overrides_restart_policy;         /* the template has one of its own that is not Never */
    struct compressed_text *status_text;   /* status; {} when absent */
    char state[JOB_STATE_SIZE];            /* of the status: launcherStatus, cut; "" when absent */
};

/* Never fails for an object of the right kind: a bad spec is a view with problems. NULL only without name or
 * uid. */
struct job *job_parse(const cJSON *object);
void job_free(struct job *job);
/* The same, for a watch; ctx is not used. */
bool job_view_item(void *ctx, const cJSON *item, void **ret);
void job_free_item(void *view);

static inline void job_auto(struct job **job)
{
    job_free(*job);
}

/* As they came from the API server; yours. Asking for the launcher of a job without one fails. */
MUST_USE cJSON *job_template(const struct job *job, struct err *err);
MUST_USE cJSON *job_launcher(const struct job *job, struct err *err);
MUST_USE cJSON *job_status(const struct job *job, struct err *err);

/* The pods of an instance: its workers, and behind them its launcher. */
uint32_t job_pods_per_instance(const struct job_spec *spec);
char *job_pod_name(const struct job *job, uint32_t instance, uint32_t pod_index); /* yours */
bool job_is_managed_by_us(const struct job_spec *spec);
/* Its workers find each other through a Service: there are several, and no launcher starts anything on them.
 */
bool job_needs_worker_service(const struct job_spec *spec);
bool job_has_several_workers(const struct job_spec *spec);
bool job_has_popdist(const struct job_spec *spec);         /* replicas given, or several workers */
uint32_t job_worker_replicas(const struct job_spec *spec); /* of the model, in each worker: 1 unless given */
uint32_t job_replicas(const struct job_spec *spec);        /* in all workers of an instance */
bool job_is_reconfigurable(const struct job_spec *spec);   /* the partition it asks for */
uint32_t job_gcds(const struct job_spec *spec);
uint32_t job_vipu_replicas(const struct job_spec *spec);
/* Of `total` instances; a percentage is rounded up or down. */
uint32_t int_or_percent_of(const struct int_or_percent *share, uint32_t total, bool round_up);
/* Instances that may run beside the others in a rollout: no more than there are to be replaced. */
uint32_t job_surge(const struct job_spec *spec);
