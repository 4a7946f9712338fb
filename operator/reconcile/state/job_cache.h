/* What this process remembers of a job beside the stores: facts that were seen and are gone (a pod's last
 * state), answers that are reused (the dry run), and writes that the watches must show before the job is
 * reconciled again. All of it can be lost: a new process knows less and is more careful. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "base/core/str.h"
#include "operator/forecast/run_estimate.h"
#include "operator/reconcile/decide/model/view.h"
#include "operator/reconcile/state/claim_order.h"
#include "operator/reconcile/state/job_claims.h"

struct queue_group;
struct watch;

/* One worker of the current run of a partition. */
struct worker_cache {
    enum worker_state state;
    bool is_ending, has_started, has_begun;
    uint64_t boot;           /* boot id of its node when the pod was first seen started there; 0: unknown */
    int64_t started_version; /* the pod's resource version then; 0: not a number */
    int64_t bound_version;   /* likewise when it was first seen on its node */
    char *pod, *node;        /* once it is gone; until then the pod's view has them */
    uint64_t revision;
    const char *disruption; /* why it was being evicted or deleted when last seen, or NULL */
    int64_t disrupted_s;
    int64_t since_ms;
};

struct partition_cache {
    uint32_t run;
    bool is_ours_fresh;           /* this process created its record */
    int64_t record_until_ms;      /* a request without a clear answer may create its record until then */
    int64_t since_ms;             /* when this process first saw the partition */
    int64_t run_since_ms;         /* ...and this run on it */
    struct worker_cache *workers; /* by pod index */
    uint32_t worker_count;
    enum keys_state keys;
    int64_t keys_at_ms;       /* when the API server confirmed it */
    bool launch_noted_by_us;  /* this process has recorded that the launcher of this run is to be created */
    bool is_rejected;         /* the API server rejected a pod of this run, or an object its pods need */
    int64_t offered_since_ms; /* its pods cannot start since then; 0: nothing is known of that */
    const char *offered_for;  /* why, of reasons.h */
    bool is_offered;          /* for so long that a job that waits for its IPUs gets them */
    bool is_wanted;           /* there is such a job */
    bool is_given_up;         /* and so its IPUs are given up */
    char *preemptor;          /* the job that is to get its IPUs, "namespace/name"... */
    char *preemptor_uid;      /* ...and which of that name; NULL: it keeps them */
    uint16_t *agent_ports;    /* of the workers of this run; NULL: not chosen yet */
    uint32_t agent_port_count;
};

/* A write that the watch has to show before the job is reconciled again. */
struct expectation {
    const struct watch *watch;
    char *key;              /* in its store */
    char *resource_version; /* expected; NULL: gone... */
    bool may_linger;        /* ...or being deleted... */
    char *other_than;       /* ...or, not NULL, of another version than this */
    int64_t until_ms;
};

/* What a job adds to queue_totals.h. */
struct queue_share {
    struct queue_group *group; /* NULL: nothing */
    uint32_t claims, waiting;
    uint64_t ipus;
    int64_t since_s;
    bool is_unready;
};

#define JOB_CACHE_VERSIONS 64

struct job_cache {
    char *key, *uid;
    uint64_t arrival;
    size_t unlisted_at;     /* its place in reconciler.unlisted, from 1; 0: none */
    struct map partitions;  /* partition id -> struct partition_cache */
    struct map foreign_ids; /* ids of other owners */

    int64_t dry_run_generation; /* the generation that the answer is about; 0: none */
    enum dry_run_state dry_run;
    char *dry_run_text;
    const char *dry_run_reason;
    int64_t dry_run_retry_at_ms;

    /* Of its next start: */
    bool has_band;
    struct forecast_verdict band; /* that was expected first */
    uint64_t told_hash;           /* of what its status tells */

    struct run_kind kind; /* of its runs; size 0: not known yet */
    int32_t priority;     /* of its template's PriorityClass, as the API server answered; 0 until then */
    bool preempts;        /* which lets it preempt */

    bool create_rejected, endpoints_rejected; /* of pods and objects they need; of EndpointSlices */
    const char *create_reason;
    char *create_text;
    int64_t create_rejected_ms, create_retry_at_ms;
    int64_t create_generation;  /* of the job that was rejected */
    unsigned create_rejections; /* rejections in a row */
    unsigned requeues;          /* starts in a row that ended with the IPUs given up: rejected, as it were */
    int64_t requeued_s;         /* when that was */
    bool knows_status; /* these and its turn were read from it, for a process that has just become leader */

    int64_t failing_since_ms; /* the API server rejects requests of... */
    enum op_kind failing_op;  /* ...this kind; 0: none */
    char *write_rejected;     /* as in the view */
    enum op_kind write_rejected_op;

    int64_t details_since_ms; /* of the view */

    size_t offers; /* partitions that are offered or given up */
    struct job_claims claims;
    struct queue_share share;
    bool is_claiming;       /* it is among the jobs that claim IPUs... */
    struct claim_key place; /* ...here */
    bool *eligible;         /* per controller; of eligible_generation */
    int64_t eligible_generation;
    int64_t created_s; /* of the job */
    bool is_idle;      /* it is suspended or scaled to zero, and does not wait */
    int64_t resumed_s; /* when it last ceased to be so; 0: not known, or never */
    bool takes_turns;  /* it has several instances */
    int64_t served_s;  /* when the latest of them got IPUs, as far as records and status tell; 0: none */
    /* As the job says, since it claims IPUs. */
    uint32_t ipus_per_instance;
    uint32_t limit_s;  /* 0: none */
    uint32_t grace_s;  /* of its pods; of eligible_generation */
    int64_t limited_s; /* since when the limit counts; 0: since it gets IPUs */
    bool is_preemptible;
    int64_t checkpointed_s; /* 0: never */

    struct expectation *expectations;
    size_t expectation_count;
    uint64_t *versions; /* hashes of resource versions that were seen and that no watch can compare, a ring
                           buffer; or NULL */
    unsigned version_next;
};

struct job_cache *job_cache_new(const char *key, const char *uid);
void job_cache_free(struct job_cache *cache);

struct partition_cache *job_cache_partition(struct job_cache *cache, const char *id,
                                            int64_t now_ms); /* created when absent */
void job_cache_forget_partition(struct job_cache *cache, const char *id);
/* Drops all entries that are not wanted. */
void job_cache_keep_partitions(struct job_cache *cache, bool (*is_wanted)(void *ctx, const char *id),
                               void *ctx);
struct worker_cache *partition_cache_worker(struct partition_cache *partition,
                                            uint32_t worker); /* created when absent */
/* The launcher of this run is to be created. Its keys are checked once more: they may have been deleted
 * while the workers started. */
void partition_cache_note_launch(struct partition_cache *partition);
/* Drops the workers of earlier runs. */
void partition_cache_begin_run(struct partition_cache *partition, uint32_t run, int64_t now_ms);

/* The API server's answer about the pods of this job or of one with the same template. */
void job_cache_set_dry_run(struct job_cache *cache, int64_t generation, const struct dry_run_result *result);

/* Pods, or objects they need, were rejected: records that, and the next try, with a growing delay that
 * differs between jobs that compete. */
void job_cache_note_rejection(struct job_cache *cache, int64_t generation, const char *reason,
                              char *text_take, int64_t now_ms);
/* A pod was created. Others of the same try may have been rejected. */
void job_cache_note_creation(struct job_cache *cache, int64_t now_ms);
/* The pods on that partition could not start, and its IPUs are given up: as if they had been rejected. */
void job_cache_note_requeue(struct job_cache *cache, int64_t generation, struct partition_cache *partition,
                            char *text_take, int64_t now_ms, int64_t now_unix_s);
/* What a status tells of that and of the job's turn, which an earlier process may have written. Only the
 * first status counts, and of a job that was idle the next one, too. */
void job_cache_recall_status(struct job_cache *cache, int64_t generation, const cJSON *status, int64_t now_ms,
                             int64_t now_unix_s);
/* A container of a pod has started. */
void job_cache_note_start(struct job_cache *cache, int64_t now_ms);
/* What its spec says of that now. */
void job_cache_note_idle(struct job_cache *cache, bool is_idle, int64_t now_unix_s);
/* Since when the job is queued: its creation, or when it was last resumed. It keeps this age, unless it has
 * failed to start again and again. */
int64_t job_cache_queued_since_s(const struct job_cache *cache, int64_t created_s);
/* By which its next instance is ordered: instances of one job take turns with other jobs. */
int64_t job_cache_turn_s(const struct job_cache *cache);
/* When IPUs that it gets then are released at the latest; FORECAST_UNKNOWN: no bound. */
int64_t job_cache_end_s(const struct job_cache *cache, int64_t start_s);
/* Likewise, when it got them then with this limit, as a record has it. */
int64_t job_cache_kept_end_s(const struct job_cache *cache, const struct record *record);
/* The API server has rejected or accepted a request of this kind of op. Returns whether it has rejected them
 * for so long that it should be reported. */
bool job_cache_note_outage(struct job_cache *cache, enum op_kind op, int64_t now_ms);
void job_cache_note_success(struct job_cache *cache, enum op_kind op);
/* Marks all runs that are starting as lacking the rejected object. */
void job_cache_reject_starts(struct job_cache *cache);

void job_cache_note_version(struct job_cache *cache, const char *resource_version);
void job_cache_expect(struct job_cache *cache,
                      const struct expectation *expectation); /* strings are copied */
bool job_cache_has_version(const struct job_cache *cache, const char *resource_version);
void job_cache_drop_expectation(struct job_cache *cache, size_t index);
