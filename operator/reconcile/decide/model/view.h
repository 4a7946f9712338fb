/* Everything that is known about one job at one moment: the only input of job_decide. Plain borrowed data;
 * observe.c fills it from the stores and the pool, tests fill it by hand. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "operator/api/job/indexset.h"
#include "operator/api/job/job.h"
#include "operator/api/observed/owned.h"
#include "operator/api/observed/pod.h"
#include "operator/api/partition/record.h"
#include "operator/pool/claims.h"
#include "operator/pool/partition_view.h"
#include "operator/reconcile/decide/model/job_forecast.h"
#include "operator/reconcile/decide/model/plan.h"

/* One pod of an instance in its current run: a worker, or at the index after them the launcher. */
enum worker_state {
    WORKER_NEVER_SEEN, /* no pod, and this process has not seen one on this partition in this run */
    WORKER_PRESENT,
    WORKER_GONE_STOPPED, /* was seen, is gone, and none of its processes can be running */
    WORKER_GONE_UNKNOWN, /* was seen and is gone, but its processes may be running */
};

struct worker_view {
    enum worker_state state;
    bool may_have_started_unseen; /* NEVER_SEEN: an earlier process created it */
    const struct pod *pod;        /* PRESENT: the pod; GONE_*: NULL */
    bool node_fenced; /* PRESENT: its node is out of service or has rebooted, or an admin has released it */
    const char *pod_name; /* GONE_UNKNOWN: for messages */
    const char *node;
    uint64_t revision;      /* of the template it was created from; 0: never seen, or unknown */
    const char *disruption; /* GONE_*: why it was evicted or deleted, of reasons.h; or NULL */
    int64_t disrupted_s;
    int64_t since_ms; /* GONE_UNKNOWN: when that was noticed; PRESENT and ending: since when */
};

/* The Secret of this run, as far as this process knows. */
enum keys_state { KEYS_UNKNOWN, KEYS_THERE, KEYS_LOST };

enum claim_answer { CLAIM_NONE, CLAIM_GRANTED, CLAIM_WAITING };

struct instance_view {
    uint32_t index;
    const struct record *record; /* the id in use; NULL: none */
    uint32_t next_attempt;       /* for the next hashed id */
    bool readable_id_taken;      /* a record or partition of the readable id belongs to another owner or is a
                                    tombstone */
    struct partition_view partition;
    const char *controller_trouble; /* why the record's controller does not answer; NULL: it does */
    int64_t controller_trouble_ms;  /* since when */
    bool released_by_admin;         /* the job need not wait for its removal */
    int64_t partition_since_ms;     /* when this process first saw the partition */
    int64_t run_since_ms;           /* ...and this run on it */
    struct worker_view *workers;    /* job_pods_per_instance(spec) entries */
    const struct owned **slices;    /* of workers that find each other by name, by the slice numbers of
                                       endpoints.h; NULL: missing */
    enum keys_state keys;
    int64_t keys_at_ms;       /* THERE: when the API server last confirmed it */
    bool is_rejected;         /* the API server rejected some pods of this run, or objects they need */
    int64_t offered_since_ms; /* its pods cannot start since then; 0: they can, or it is not known yet */
    bool is_wanted;           /* a job waits for its IPUs and would be served with them */
    bool is_given_up;         /* they are given up: its pods are stopped, and it goes back to the queue */
    const char *preemptor;    /* the job of higher priority that gets its IPUs; NULL: it keeps them */
    bool needs_vipu_access;   /* the controller has a Secret with access keys or certificates for pods */
    struct pod **stale_pods;  /* pods of this instance that belong to an earlier run or another partition */
    size_t stale_count;
    enum claim_answer claim;
    const char *granted;           /* controller's name... */
    const char *place;             /* ...and place there; NULL: it chooses... */
    uint32_t limit_s, grace_s;     /* ...for so long, as in its record */
    const struct claim_wait *wait; /* WAITING: why */
};

/* A record that is to be removed: of an earlier attempt, a removed instance, or a deleted job. */
struct tombstone_view {
    const struct record *record;
    struct partition_view partition;
    bool released_by_admin;       /* the job need not wait for its removal */
    bool all_stopped;             /* no pod that ran on it can be running */
    bool has_running_pod;         /* a pod exists whose program may be running, terminating or not */
    bool is_over;                 /* and each was seen to end, or its node is fenced */
    bool may_have_started_unseen; /* pods may have been created on it that no watch has shown */
    bool is_held;                 /* a pod may still run: hold the partition... */
    int64_t hold_since_ms;        /* ...since then */
    int64_t grace_ends_s;         /* of that pod, if it exists; 0: it is gone */
    const char *held_for_pod, *held_for_node; /* NULL: unknown */
    bool has_vipu_access;                     /* as for an instance */
};

enum dry_run_state {
    DRY_RUN_NEEDED,
    DRY_RUN_AWAITED, /* a dry run for a job with the same template is in flight */
    DRY_RUN_PASSED,
    DRY_RUN_INVALID,
    DRY_RUN_REJECTED,
};

struct dry_run_result {
    const char *reason;  /* CamelCase: why such pods are rejected for now; NULL: they are accepted */
    const char *text;    /* REJECTED: the API server's words */
    int64_t retry_at_ms; /* REJECTED: when to ask again; the delay grows */
    int32_t priority;    /* of the pods, as the API server reads the template's PriorityClass */
    bool preempts;       /* which lets them preempt */
};

struct job_view {
    const struct job *job; /* NULL: the job is gone, only its records are left */
    const char *ns, *name;
    const char *operator_ns; /* of the operator that decides */
    uint64_t launcher_image; /* hash of the image of ipu-launch that new pods get */
    size_t instance_count;   /* those of the spec... */
    size_t surge_count; /* ...and after them those that may run in addition while a changed template is rolled
                           out */
    /* Of these, those that have a record or pods, or that are granted IPUs, by index. The others are idle:
     * they differ in their index alone, and there may be thousands of them. */
    struct instance_view *live;
    size_t live_count;
    struct instance_view idle;
    const struct job_forecast *forecast; /* of its next start; NULL: nothing is known of it yet, or... */
    bool is_far_behind;                  /* ...it is told nothing */
    const struct indexset *answered;     /* those that the queue was evaluated with; NULL: all */
    struct tombstone_view *tombstones;
    size_t tombstone_count;
    struct pod **extra_pods; /* records of this job without an instance */
    size_t extra_count;
    const char *pending_record; /* a request without a clear answer may create this one... */
    int64_t pending_until_ms;   /* ...until then; NULL: none */
    enum dry_run_state dry_run;
    const char *dry_run_text;    /* the API server's words */
    const char *dry_run_reason;  /* CamelCase */
    int64_t dry_run_retry_at_ms; /* FORBIDDEN: when to ask again */
    bool has_service;            /* the headless Service of its workers exists */
    bool service_has_selector;   /* the Service exists from an earlier version, with a selector by which the
                                    cluster fills it */
    bool needs_policy;           /* the job's NetworkPolicy is wanted and may be missing */
    bool create_rejected;        /* the API server rejected a pod although the dry run passed */
    bool endpoints_rejected;     /* the API server rejected an EndpointSlice */
    const char *create_reason, *create_text; /* of the latest rejection */
    int64_t create_rejected_ms, create_retry_at_ms;
    uint32_t
        requeues; /* starts in a row that ended with the IPUs given up; the last is the latest rejection */
    int64_t requeued_s;             /* when that was */
    int64_t turn_s;                 /* since when its next instance waits */
    int32_t priority;               /* of its pods in the queue, as the dry run told it */
    const char *write_rejected;     /* what else the API server rejects, in words: ops of... */
    enum op_kind write_rejected_op; /* ...this kind; NULL: none */
    int64_t
        details_since_ms; /* since when changed numbers are not written (plan.h, holds_details); 0: none */
    bool is_busy;         /* requests of other jobs wait for a connection to the API server */
    const char *partition_prefix;
    int64_t hold_ms;
    int64_t requeue_ms; /* how long pods may fail to start before a job that waits for the IPUs gets them */
    int64_t partition_failure_ms; /* how long a running instance tolerates a failed partition or a silent
                                     controller */
    bool is_one_machine;          /* as in reconciler_options.h */
    int64_t now_ms;               /* the loop's clock, for delays */
    int64_t now_unix_s;           /* for timestamps in objects */
    int64_t unix_offset_ms;       /* from the loop's clock to Unix time */
};

/* NULL: it is idle, or no instance of the job. */
struct instance_view *view_live(const struct job_view *view, size_t index);
/* Of the instances of the spec, those that are idle; added. */
void view_add_idle(const struct job_view *view, struct indexset *ret);

static inline size_t view_all(const struct job_view *view)
{
    return view->instance_count + view->surge_count;
}
