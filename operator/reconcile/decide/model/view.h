/* Everything that is known about one job at one moment: the only input of decide. Plain borrowed data;
 * observe.c fills it from the stores and the pool, tests fill it by hand. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "operator/api/job/job.h"
#include "operator/api/observed/owned.h"
#include "operator/api/observed/pod.h"
#include "operator/api/partition/record.h"
#include "operator/pool/claims.h"
#include "operator/pool/partition_view.h"
#include "operator/reconcile/decide/model/plan.h"

/* One pod of an instance in its current run: a worker, or at the index behind them the launcher. */
enum worker_state {
    WORKER_NEVER_SEEN, /* no pod, and this process never saw one on this partition in this run */
    WORKER_PRESENT,
    WORKER_GONE_STOPPED, /* was seen, is gone, and nothing of it can be running */
    WORKER_GONE_UNKNOWN, /* was seen and is gone, but its processes may live on */
};

struct worker_view {
    enum worker_state state;
    bool may_have_started_unseen; /* NEVER_SEEN: it was started all the same, by a process before this one */
    const struct pod *pod;        /* PRESENT: it; GONE_*: NULL */
    bool node_fenced; /* PRESENT: its node is out of service or has rebooted, or an admin has released it */
    const char *pod_name; /* GONE_UNKNOWN: for messages */
    const char *node;
    uint64_t revision;      /* of the template it was made from; 0: never seen, or unknown */
    const char *disruption; /* GONE_*: who took it away, of reasons.h; or NULL */
    int64_t disrupted_s;
    int64_t since_ms; /* GONE_UNKNOWN: when that was noticed; PRESENT and deleting: when it was asked to go */
};

/* The Secret of this start, as far as this process knows. */
enum keys_state { KEYS_UNKNOWN, KEYS_THERE, KEYS_LOST };

enum claim_answer { CLAIM_NONE, CLAIM_GRANTED, CLAIM_WAITING };

struct instance_view {
    uint32_t index;
    const struct record *record; /* the id in use; NULL: none */
    uint32_t next_attempt;       /* for the next hashed id */
    bool readable_id_taken;      /* a record or partition of the readable id belongs to another owner or is a
                                    tombstone */
    struct partition_view partition;
    const char *controller_trouble; /* why the record's controller does not answer now; NULL: it does */
    int64_t controller_trouble_ms;  /* since when */
    bool released_by_admin;         /* the job need not wait for it */
    int64_t partition_since_ms;     /* when this process first heard of the partition */
    int64_t run_since_ms;           /* ...and of this run on it */
    struct worker_view *workers;    /* job_pods_per_instance(spec) of them */
    const struct owned **slices; /* of workers that meet by name, by endpoints.h's numbers; NULL: not there */
    enum keys_state keys;
    int64_t keys_at_ms;      /* THERE: when the API server last confirmed it */
    bool is_rejected;        /* the API server would not take all pods of this run, or what they need */
    bool needs_vipu_access;  /* the record's controller has something for pods to know it, or be known, by */
    struct pod **stale_pods; /* pods of this instance that belong to an earlier run or another partition */
    size_t stale_count;
    enum claim_answer claim;
    const char *granted;           /* controller's name */
    const struct claim_wait *wait; /* WAITING: why */
};

/* A record that only waits to go away: of an earlier attempt, a removed instance, or a job that is gone. */
struct tombstone_view {
    const struct record *record;
    struct partition_view partition;
    bool released_by_admin;       /* the job need not wait for it */
    bool all_stopped;             /* no pod that ran on it can be running */
    bool has_running_pod;         /* a pod is there whose program may be running, asked to go or not */
    bool is_over;                 /* and each was seen to end, or its node to be fenced */
    bool may_have_started_unseen; /* pods may have been created on it that no watch has shown */
    bool is_held;                 /* a pod may still run: hold it... */
    int64_t hold_since_ms;        /* ...since then */
    const char *held_for_pod;     /* pod and node, for messages */
    bool has_vipu_access;         /* as an instance's needs_vipu_access */
};

enum dry_run_state {
    DRY_RUN_NEEDED,
    DRY_RUN_AWAITED, /* it is being asked for a like job */
    DRY_RUN_PASSED,
    DRY_RUN_INVALID,
    DRY_RUN_REJECTED,
};

struct dry_run_result {
    const char *reason;  /* CamelCase: such pods are rejected for now; NULL: they are accepted */
    const char *text;    /* REFUSED: the API server's words */
    int64_t retry_at_ms; /* REFUSED: when to ask again; later and later as long as they are */
    int32_t priority;    /* of the pods, as the API server reads the template's PriorityClass */
};

struct job_view {
    const struct job *job; /* NULL: gone, only tombstones are left */
    const char *ns, *name;
    struct instance_view *instances;
    size_t instance_count; /* those that the spec asks for... */
    size_t
        surge_count; /* ...and behind them those that may run beside while a changed template is rolled out */
    struct tombstone_view *tombstones;
    size_t tombstone_count;
    struct pod **extra_pods; /* ours, but of no instance the job has now */
    size_t extra_count;
    enum dry_run_state dry_run;
    const char *dry_run_text;    /* the API server's words */
    const char *dry_run_reason;  /* CamelCase */
    int64_t dry_run_retry_at_ms; /* FORBIDDEN: when to ask again */
    bool has_service;            /* the headless Service of its workers exists */
    bool service_has_selector;   /* and is an earlier version's, which the cluster fills by itself */
    bool needs_policy;           /* the job's NetworkPolicy is wanted and not known to exist */
    bool create_rejected;        /* the API server would not take a pod although the dry run passed */
    bool endpoints_rejected;     /* it would not take who is behind the workers' names */
    const char *create_reason, *create_text; /* of the latest rejection */
    int64_t create_rejected_ms, create_retry_at_ms;
    const char *write_rejected;     /* what else it does not let us do, in words: ops of... */
    enum op_kind write_rejected_op; /* ...this kind; NULL: nothing */
    int64_t
        details_since_ms; /* since when this process holds back numbers (plan.h, holds_details); 0: none */
    bool is_busy;         /* requests of other jobs are waiting for the API server */
    const char *partition_prefix;
    int64_t hold_ms;
    int64_t
        trouble_ms; /* a running instance lives with a broken partition or a silent controller for so long */
    int64_t now_ms; /* the loop's clock, for delays */
    int64_t now_unix_s; /* for timestamps people read */
};

static inline size_t view_all(const struct job_view *view)
{
    return view->instance_count + view->surge_count;
}
