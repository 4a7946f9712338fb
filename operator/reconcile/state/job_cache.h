/* What this process remembers of a job beside what the API server tells: facts that were seen and are gone (a
 * pod's last state), answers that need not be asked for twice (the dry run), and what our own writes must
 * become visible as before we look again. All of it can be lost: a new process knows less and is more
 * careful. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "base/core/str.h"
#include "operator/reconcile/decide/model/view.h"

struct watch;

/* One worker of the current run of a partition. */
struct worker_cache {
    enum worker_state state;
    bool deleting, has_started;
    uint64_t boot;    /* of its node when it was first seen to have started there; 0: unknown */
    char *pod, *node; /* once it is gone; until then the pod's view has them */
    uint64_t revision;
    const char *disruption; /* who was taking it away when it was last seen, or NULL */
    int64_t disrupted_s;
    int64_t since_ms;
};

struct partition_cache {
    uint32_t run;
    bool is_ours_fresh;           /* this process made its record */
    int64_t since_ms;             /* when this process first heard of the partition */
    int64_t run_since_ms;         /* ...and of this run on it */
    struct worker_cache *workers; /* by pod index */
    uint32_t worker_count;
    enum keys_state keys;
    int64_t keys_at_ms;      /* when the API server confirmed it */
    bool launch_noted_by_us; /* this process has noted that the launcher of this run is to be created */
    bool is_rejected;        /* the API server would not take a pod of this run, or what its pods need */
    uint16_t *agent_ports;   /* of the workers of this run; NULL: not chosen yet */
    uint32_t agent_port_count;
};

/* A write of ours that the watch has to show before the job is looked at again. */
struct expectation {
    const struct watch *watch;
    char *key;              /* in its store */
    char *resource_version; /* to be seen; NULL: to be gone... */
    bool may_linger;        /* ...or on its way out... */
    char *other_than;       /* ...or, not NULL, of another version than this */
    int64_t until_ms;
};

struct claim_cache {
    uint32_t instance;
    bool ready;
    int64_t since_s; /* Unix seconds, for people */
    char *granted;   /* controller, or NULL */
    char *record;    /* the partition that was last recorded for it, or NULL */
    struct claim_wait wait;
};

#define JOB_CACHE_VERSIONS 64

struct job_cache {
    char *key, *uid;
    uint64_t arrival;
    struct map partitions;  /* partition id -> struct partition_cache */
    struct map foreign_ids; /* ids that belong to other owners */

    int64_t dry_run_generation; /* the generation that the answer is about; 0: none */
    enum dry_run_state dry_run;
    char *dry_run_text;
    const char *dry_run_reason;
    int64_t dry_run_retry_at_ms;

    int32_t priority; /* of its template's PriorityClass, as the API server has answered; 0 until then */

    bool create_rejected, endpoints_rejected; /* pods and what they need; who is behind their names */
    const char *create_reason;
    char *create_text;
    int64_t create_rejected_ms, create_retry_at_ms;
    int64_t create_generation;  /* of the job that was rejected */
    unsigned create_rejections; /* one after the other */

    int64_t failing_since_ms; /* the API server fails at our requests of... */
    enum op_kind failing_op;  /* ...this kind; 0: it does not */
    char *write_rejected;     /* as in the view */
    enum op_kind write_rejected_op;

    int64_t details_since_ms; /* of the view */

    struct claim_cache *claims; /* in the order of instances */
    size_t claim_count;
    bool *eligible; /* per controller; of eligible_generation */
    int64_t eligible_generation;

    struct expectation *expectations;
    size_t expectation_count;
    uint64_t
        *versions; /* hashes of resource versions seen lately that no watch can compare, a ring; or NULL */
    unsigned version_next;
};

struct job_cache *job_cache_new(const char *key, const char *uid);
void job_cache_free(struct job_cache *cache);

struct partition_cache *job_cache_partition(struct job_cache *cache, const char *id,
                                            int64_t now_ms); /* made when absent */
void job_cache_forget_partition(struct job_cache *cache, const char *id);
/* Forgets all that are not wanted. */
void job_cache_keep_partitions(struct job_cache *cache, bool (*is_wanted)(void *ctx, const char *id),
                               void *ctx);
struct worker_cache *partition_cache_worker(struct partition_cache *partition,
                                            uint32_t worker); /* made when absent */
/* The launcher of this run is to be created. Its keys are asked for once more: they may have been deleted
 * while the workers started. */
void partition_cache_note_launch(struct partition_cache *partition);
/* Forgets the workers of earlier runs. */
void partition_cache_begin_run(struct partition_cache *partition, uint32_t run, int64_t now_ms);

/* What the API server has said of the pods of this job or of one like it. */
void job_cache_set_dry_run(struct job_cache *cache, int64_t generation,
                           const struct dry_run_result *dry_run_result);

/* Pods, or what they need, are refused: it is told, and tried again after a while that grows with each try.
 * Jobs that got into each other's way come back at different times. */
void job_cache_note_rejection(struct job_cache *cache, int64_t generation, const char *reason,
                              char *text_take, int64_t now_ms);
/* A pod was created. Others of the same try may have been rejected. */
void job_cache_note_creation(struct job_cache *cache, int64_t now_ms);
/* The API server has failed at a request of this kind of op, or has done one. Returns whether it has failed
 * for so long that it is as good as refused. */
bool job_cache_note_outage(struct job_cache *cache, enum op_kind op, int64_t now_ms);
void job_cache_note_success(struct job_cache *cache, enum op_kind op);
/* Marks all runs that are starting as lacking what was rejected. */
void job_cache_reject_starts(struct job_cache *cache);

void job_cache_note_version(struct job_cache *cache, const char *resource_version);
void job_cache_expect(struct job_cache *cache,
                      const struct expectation *expectation); /* strings are copied */
bool job_cache_has_version(const struct job_cache *cache, const char *resource_version);
void job_cache_drop_expectation(struct job_cache *cache, size_t index);

struct claim_cache *job_cache_claim(const struct job_cache *cache, uint32_t instance); /* NULL when absent */
void job_cache_free_claims(struct job_cache *cache);
/* The instance's claim is being served by that record. */
void job_cache_note_claim_record(struct job_cache *cache, const struct record *record);
