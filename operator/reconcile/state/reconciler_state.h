/* The state that observe, act and the reconciler share. */
#pragma once

#include "base/core/map.h"
#include "base/io/loop.h"
#include "operator/api/observed/node.h"
#include "operator/api/observed/owned.h"
#include "operator/api/page.h"
#include "operator/api/pod/pod_secrets.h"
#include "operator/kube/client/client.h"
#include "operator/kube/events/events.h"
#include "operator/kube/workqueue.h"
#include "operator/kube/watch/watch.h"
#include "operator/pool/pool.h"
#include "operator/reconcile/state/claim_order.h"
#include "operator/reconcile/state/dry_run_cache.h"
#include "operator/reconcile/state/job_cache.h"
#include "operator/reconcile/accounting/job_counts.h"
#include "operator/reconcile/state/queue_plan.h"
#include "operator/reconcile/state/queue_totals.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/state/reconciler_options.h"

/* Requests of plans in flight. Further keys wait in the queue, so that memory does not grow with its length:
 * a pod has 10 KB and more. Each response starts the next key, so the client's window stays full. */
#define REQUESTS_MAX KUBE_WINDOW
/* A write usually shows in the watch within milliseconds. Until it does, or the watch is known to have
 * passed it, nothing is decided about the job: a pod that was created and is not seen yet looks like one
 * that was never created. A silent watch is restarted after 90 s, which can take 71 s. */
#define EXPECT_MS 5000 /* look again */
#define EXPECT_MAX_MS 180000
/* For a request for a pod or record that got no response: by then the object has been created and seen, or
 * never will be. */
#define LATE_CREATE_MS (34000 + EXPECT_MAX_MS)

struct history;
struct instance_progress;
struct progress_board;

/* Half of the window are the first of all. The others are the first of each group, in equal shares: the crowd
 * of one keeps nobody of another out. */
#define CLAIM_GROUPS 16u

/* See claim_window.h. */
struct claim_window {
    struct map jobs;         /* uid -> struct job_cache */
    size_t new_count;        /* jobs that came in since the last search began */
    bool has_changed;        /* some have come or gone, or their claims have changed, since then */
    struct loop_timer slice; /* runs during a search */
    struct claim_key at;     /* the latest job that it has come to... */
    size_t passed;           /* ...after so many, and in each group so many */
    size_t group_passed[CLAIM_GROUPS];
    size_t group_count; /* that have jobs; of the latest search that has ended */
    struct claims_admitted admitted;
    bool is_awaited;        /* a look is due after it */
    int64_t next_ms;        /* no other search is begun before, on the loop's clock, unless it is needed */
    struct loop_timer look; /* one is due then */
};

struct reconciler {
    struct loop *loop;
    struct kube *kube;
    struct events *events;
    struct pool *pool;
    struct reconciler_options options;
    struct watch *jobs, *pods, *records, *services, *slices;
    struct watch *nodes;    /* NULL: the operator runs in one namespace, without access to nodes */
    struct watch *policies; /* NULL: the operator creates none */
    struct workqueue *queue;
    struct map job_caches;       /* uid -> struct job_cache */
    struct job_cache **unlisted; /* those that are older than the lists, until they are compared; owned */
    size_t unlisted_count, unlisted_cap;
    struct claim_order with_claims;   /* job caches with claims... */
    struct claim_window claim_window; /* ...and the first of them, which change together */
    struct queue_totals queue_totals; /* of those with claims */
    struct job_counts job_counts;     /* of all jobs */
    struct map with_offers;           /* job caches with partitions that are offered */
    uint64_t arrivals;                /* number of job caches created so far */
    struct map confirmed_gone;        /* uids of jobs that a live GET did not find */
    struct map executions;            /* key -> struct execution */
    unsigned requests;                /* of all executions */
    struct dry_run_cache dry_run_cache;
    struct loop_timer due;                    /* keys or the claims are due */
    void (*on_due)(struct loop_timer *timer); /* reconciles what is due */
    bool claims_changed;   /* a claim, a controller's free IPUs or the nodes have changed */
    int64_t claims_due_ms; /* not before then: all claims are evaluated together, not with each change */
    struct queue_plan queue_plan;
    struct page_snapshot snapshots[PAGE_LISTS];
    bool all_seen;           /* every job has been reconciled once since the start */
    bool all_validated;      /* and the API server has reported the priority of each job's pods */
    uint64_t first_arrivals; /* value of arrivals by then */
    bool cordons_are_known;
    int64_t validate_by_ms; /* jobs without an answer by then are not waited for */
    bool aborted;
    struct reconciler_counters counters;
    struct history *history;
    /* What the program on a partition has reported, borrowed until the next report, or NULL. */
    const struct instance_progress *(*progress_of)(const struct progress_board *board,
                                                   const struct record *record); /* NULL: programs cannot */
    const struct progress_board *progress;
};

struct job_cache *job_cache_get(struct reconciler *r, const char *key,
                                const char *uid); /* created when absent */
void job_cache_drop(struct reconciler *r, const char *uid);
size_t reconciler_watches(const struct reconciler *r,
                          const struct watch *ret[WATCHES_MAX]); /* how many there are */
bool reconciler_watches_are_synced(const struct reconciler *r);
/* Who may pass whom at this controller of the pool. */
enum forecast_policy reconciler_policy(const struct reconciler *r, size_t controller);
