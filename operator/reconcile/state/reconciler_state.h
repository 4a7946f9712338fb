/* The reconciler's own state, shared by its parts: observe, act, grants, and the watches. */
#pragma once

#include "base/core/map.h"
#include "base/io/loop.h"
#include "operator/api/node.h"
#include "operator/api/owned.h"
#include "operator/api/podaccess.h"
#include "operator/kube/client.h"
#include "operator/kube/events.h"
#include "operator/kube/queue.h"
#include "operator/kube/watch.h"
#include "operator/pool/pool.h"
#include "operator/reconcile/state/dry_run_cache.h"
#include "operator/reconcile/state/job_cache.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/reconciler.h"

/* Requests of plans. More keys wait in the queue, so that memory does not follow its length: a pod has 10 KB
 * and more. Each answer lets the next key in, so the client's window does not run dry. */
#define REQUESTS_MAX KUBE_WINDOW
/* A write of ours is visible within milliseconds. Until the watch has shown it, or is known to have passed
 * it, nothing is decided about the job: a pod that was made and is not seen yet looks like one that never
 * was. A watch that is silent is begun anew after 90 s. */
#define EXPECT_MS 5000 /* look again */
#define EXPECT_MAX_MS 150000
/* A pod that nobody answered for: when it would have been created by, and seen. */
#define LATE_POD_MS (34000 + EXPECT_MAX_MS)

struct reconciler {
    struct loop *loop;
    struct kube *kube;
    struct events *events;
    struct pool *pool;
    struct reconciler_options options;
    struct watch *jobs, *pods, *records, *services, *slices;
    struct watch *nodes;    /* NULL: the operator has one namespace, and may not see them */
    struct watch *policies; /* NULL: the operator makes none */
    struct queue *queue;
    struct map job_caches; /* uid -> struct job_cache */
    struct map waiting;    /* those of them that have claims */
    uint64_t arrivals;     /* memories made so far */
    struct map gone;       /* uids of jobs that a live GET did not find */
    struct map executions; /* key -> struct execution */
    unsigned requests;     /* of all works */
    struct dry_run_cache dry_run_cache;
    struct loop_timer pump;
    bool claims_changed;     /* somebody's claim, a controller's room or the nodes */
    int64_t claims_due_ms;   /* not before: all who wait are looked at together, and not for each change */
    bool all_seen;           /* every job was looked at once since the start */
    bool all_validated;      /* and the API server has answered what the pods of each are worth */
    uint64_t first_arrivals; /* memories made by then */
    int64_t validate_by_ms;  /* who has no answer then is not waited for */
    bool aborted;
    struct reconciler_counters counters;
};

/* reconciler.c */
void reconciler_wake(struct reconciler *r);
void reconciler_enqueue(struct reconciler *r, const char *key);
void reconciler_claims_changed(struct reconciler *r);
void reconciler_execution_done(struct reconciler *r, const char *key, bool failed, int64_t again_at_ms);

/* memories.c: what is remembered of jobs, for as long as there is the job or a record of it. */
struct job_cache *job_cache_get(struct reconciler *r, const char *key,
                                const char *uid); /* made when absent */
void job_cache_on_pod(struct reconciler *r, const struct store_change *change, const struct pod *pod);
/* Its pods may have been heard of first: from a list that was behind the others. */
void job_cache_on_pods_of_record(struct reconciler *r, const struct record *record);
void job_cache_forget(struct reconciler *r, const char *key, const char *uid); /* unless a record is left */
/* Of what was remembered before all was listed: the partitions that have no record, and the jobs that have
 * gone. */
void job_cache_forget_unlisted(struct reconciler *r);

/* watches.c: keeps the four stores and the memory of what was seen in them, and enqueues whom a change
 * concerns. */
void watches_start(struct reconciler *r);
void watches_stop(struct reconciler *r);
size_t watches_all(const struct reconciler *r, const struct watch *ret[WATCHES_MAX]); /* how many there are */
void reconciler_follow(struct reconciler *r, const struct record *record);

/* grants.c: asks the queue for IPUs who may go next, and wakes whose answer has changed. */
void grants_refresh(struct reconciler *r);
void grants_set(struct reconciler *r, struct job_cache *cache, const struct plan *plan);
/* The instance's claim is being served by that record. */
void grants_note_record(struct job_cache *cache, const struct record *record);
cJSON *grants_print(const struct reconciler *r); /* the whole line, who goes first first; yours */

/* observe.c */
struct observation {
    struct job_view view;
    void **owned; /* arrays of the view */
    size_t owned_count;
};
void observe(struct reconciler *r, const char *key, struct observation *o);
void observation_release(struct observation *observation);
const struct node *node_seen(const struct reconciler *r, const char *name); /* NULL: nothing is known of it */
/* What a controller's Secret has for the pods of jobs. Borrowed until the loop's next turn. */
struct podaccess_vipu vipu_access(const struct reconciler *r, const char *controller);
uint64_t node_boot(const struct node *node); /* tells its boots apart; 0: not told */
bool node_is_fenced(const struct reconciler *r, const char *node, uint64_t boot);
/* The uid of a job of this name that is not in the store, though records name it and nobody has looked yet;
 * or NULL. */
const char *observe_unconfirmed(const struct reconciler *r, const char *key);

/* act.c: performs the plan (moved in) and ends with reconciler_execution_done. */
void act(struct reconciler *r, const char *key, const struct job *job, struct job_cache *cache,
         struct plan *plan_take);
void act_confirm_gone(struct reconciler *r, const char *key, const char *uid);
void act_cancel_all(struct reconciler *r);
