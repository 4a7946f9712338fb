/* The queue for IPUs. Pure. The engine of operator/forecast/ decides; here is what it decides about, and what
 * its plan means for jobs. The waiting instances of a job are one claim with their number, so that nothing
 * here costs more the more of them there are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/map.h"
#include "base/core/str.h"
#include "operator/api/queue/namespace_numbers.h"
#include "operator/api/queue/queue_limits.h"
#include "operator/forecast/forecast.h"
#include "operator/forecast/usage.h"
#include "vipu/placement/pool.h"

/* A partition in use. Borrowed. */
struct claims_holder {
    const char *job;       /* "namespace/name"; NULL: a foreign partition */
    const char *partition; /* id */
    uint32_t size;
    const char *stuck; /* why its pods cannot start, of reasons.h; NULL: they can */
    bool is_preempted;
};

/* A partition of a job. Borrowed. */
struct claims_running {
    const struct vipu_partition *partition; /* as listed; NULL: it is being created... */
    struct vipu_pool_part place;            /* ...here */
    uint32_t size;
    const char *job, *uid; /* as of a claim */
    uint32_t instance;
    int32_t priority;
    int64_t start_s;
    int64_t end_s;                  /* must have released its IPUs by then; FORECAST_UNKNOWN: no bound */
    struct forecast_quantiles left; /* of the time that it still runs */
    bool is_preemptible;            /* a claim of higher priority may have its IPUs... */
    int64_t release_s;              /* ...and gets them within so many seconds */
    bool is_leaving;                /* they are being released */
    bool is_accounted;              /* its run counts as usage already */
    int64_t checkpoint_s;           /* 0: none */
};

/* The current state of one V-IPU controller. Borrowed. */
struct claims_controller {
    const char *name;                  /* "host:port" */
    bool is_known;                     /* its partitions and IPUs are known, and recent enough */
    const char *trouble;               /* why not, or NULL */
    const char *trouble_since;         /* "since 10:02:11Z", or NULL */
    bool has_nodes;                    /* some node carries its label, or it needs none */
    const char *node_label;            /* "key=value", for the message; NULL when it needs none */
    const struct vipu_pool_view *pool; /* with what is reserved already taken; total_ipus 0: size unknown */
    enum forecast_policy policy;
    uint32_t unlisted;                    /* if its size is unknown: partitions that are being created */
    const struct claims_running *running; /* the other IPUs in use are of nobody known */
    size_t running_count;
    /* For claims_explain alone: what blocks the head of the queue, and what of that fits elsewhere, so that
     * its restart would make room. */
    const struct claims_holder *holders, *movable;
    size_t holder_count, movable_count;
    /* Partitions whose pods cannot start: their jobs give them up if the head of the queue is served then. */
    const struct vipu_partitions *stuck; /* NULL: none; those that are being given up come first... */
    size_t stuck_leaving;                /* ...and are so many */
    bool *stuck_wanted;                  /* stuck->count entries; claims_decide sets those to give up */
};

/* Why the first instance of a claim that is not granted waits. */
enum claim_wait_cause {
    CLAIM_NOTHING_TO_REPORT, /* all are granted, or there is nothing to report yet */
    CLAIM_IS_FIRST,
    CLAIM_IS_BEHIND,
    CLAIM_IS_FAR_BEHIND, /* what is reported about it does not change while this and its controller stay the
                            same */
    CLAIM_HAS_NO_NODES,
    CLAIM_CONTROLLER_UNAVAILABLE, /* the controller is not available */
    CLAIM_IS_TOO_LARGE,           /* for every controller that serves its nodes */
    CLAIM_NO_MATCHING_CONTROLLER, /* no controller does */
    CLAIM_NAMESPACE_IS_FULL,      /* as many instances of its namespace wait as may */
    CLAIM_QUEUE_IS_FULL,          /* likewise of all namespaces */
    CLAIM_IS_OVER_QUOTA,          /* its namespace would hold more IPUs than it may */
    CLAIM_IS_OVER_INSTANCE_QUOTA, /* its namespace has as many instances in the queue as it may */
};

struct claim {
    const char *job; /* "namespace/name" */
    const char *uid;
    uint32_t instance; /* the first... */
    uint32_t count;    /* ...of so many, each with a partition of its own */
    int32_t priority;  /* of the template's PriorityClass; higher goes first */
    bool preempts;     /* which lets it have IPUs of others */
    int64_t turn_s;    /* since when it waits */
    uint64_t arrival;  /* the order of arrival, within the one-second resolution of creation times */
    uint32_t size;     /* IPUs of each instance */
    int64_t bound_s; /* releases its IPUs so long after the start at the latest; FORECAST_UNKNOWN: no bound */
    struct forecast_quantiles run; /* of the time that each instance keeps its IPUs */
    /* It may not wait, because of others that the caller does not tell of; else CLAIM_NOTHING_TO_REPORT. */
    enum claim_wait_cause full;
    bool is_ready; /* false: its template is still being validated; only its place in the queue and its IPUs
                      are reserved */
    const bool *eligible; /* per controller; NULL: all */
    void *ctx;            /* the caller's own */
};

/* The position in the queue, and the blockers of a claim, are reported up to here. Behind that, nothing is
 * reported that would change with every step of the queue. */
#define CLAIMS_POSITIONS 10
#define CLAIMS_BLOCKERS 4
/* A controller that does not report how many IPUs it has is asked for at most so many partitions at a time.
 */
#define CLAIMS_BLIND_GRANTS 64

/* The verdict on a claim, in numbers: among thousands that wait, most are unchanged. */
struct claim_verdict {
    uint32_t granted; /* so many of its instances have IPUs now; see claims_grants */
    enum claim_wait_cause why;
    size_t about;          /* index of the controller that explains why, if one does */
    uint32_t position;     /* in line there, from 1, of the first of the others */
    const char *first;     /* the job at the head of that queue; borrowed from its claim */
    uint32_t free_ipus;    /* after what is granted now; not of who is far behind, nor are those below */
    uint32_t granted_ipus; /* now, to others */
    uint32_t fitting_partitions; /* partitions of the size asked for that would fit now */
    /* Over quota: IPUs that its namespace holds after what is granted now, those that are kept for it, and
     * how many it may hold. */
    uint32_t held_ipus, kept_ipus, quota_ipus;
    uint32_t quota_instances; /* over that of the queue: instances of its namespace that may be there */
};

/* What is granted now: an instance of a claim on a controller, both by index. In the order of claims. */
struct claims_grant {
    size_t claim, controller;
    struct forecast_block block; /* domain_count 0: IPUs there are only counted */
};

struct claims_grants {
    struct claims_grant *items;
    size_t count, cap;
};

void claims_grants_release(struct claims_grants *grants);
DEFINE_AUTO(claims_grants);

/* The same as a message and as values for status.queue. */
struct claim_wait {
    enum claim_wait_cause why;
    uint64_t basis;     /* claims_basis at that time; over a quota, of the numbers in the text */
    const char *reason; /* CamelCase constant; NULL: nothing to report yet */
    char *text;         /* without period, owned; NULL likewise */
    char *controller;   /* that the numbers are about, owned; NULL: none */
    uint32_t size;      /* asked for */
    uint32_t position;  /* in line there, from 1 */
    uint32_t free_ipus, total_ipus;
    uint32_t fitting_partitions;
    struct strv blockers; /* "namespace/name", or the id of a partition that is not the operator's: what has
                             to end first, or the job at the head of the queue */
};

void claim_wait_release(struct claim_wait *wait);

/* The V-IPU controllers, and what else decides about all claims. Borrowed. */
struct claims_view {
    const struct claims_controller *controllers;
    size_t controller_count;
    struct queue_limits limits;             /* the oldest instances of the highest priority may wait */
    const struct namespace_numbers *quotas; /* IPUs that a namespace may hold; NULL: any number */
    const struct map *held; /* namespace -> IPUs that its jobs hold, whether listed or not; with quotas */
    const struct namespace_numbers
        *instance_quotas; /* instances that may be in the queue; NULL: any number */
    int64_t now_s;
    struct forecast_settings settings;
    const struct namespace_numbers *weights;         /* of shares; with settings.has_shares, as is... */
    const struct usage *usage;                       /* ...of runs that have ended */
    const struct forecast_reservation *reservations; /* of the previous plan */
    size_t reservation_count;
};

/* The instances that may wait, counted in the order of the queue. Zeroed, any number may. */
struct claims_admitted {
    struct queue_limits limits;
    uint32_t total;
    struct map namespaces; /* -> their number */
};

/* `waiting`: at most so many will be counted. */
void claims_admitted_begin(struct claims_admitted *ret, const struct queue_limits *limits, uint64_t waiting);
/* So many instances of the job wait, too. CLAIM_NOTHING_TO_REPORT: some of them may; else why none. */
enum claim_wait_cause claims_admit(struct claims_admitted *admitted, const char *job, uint32_t waiting);
void claims_admitted_release(struct claims_admitted *admitted);

bool claim_is_eligible(const struct claim *claim, size_t controller);
/* Whether it could ever hold the claim, as far as it is known. */
bool claim_could_use(const struct claim *claim, const struct claims_controller *controller);

/* Who may pass whom: the words of enum forecast_policy, then NULL. */
extern const char *const CLAIMS_POLICIES[];

struct claims_plan;                              /* claims_plan.h */
void claims_plan_free(struct claims_plan *plan); /* accepts NULL */

static inline void claims_plan_auto(struct claims_plan **plan)
{
    claims_plan_free(*plan);
}

/* Sorts the claims in place, in the order of the queue, fills verdicts[i] for claims[i], and adds the grants.
 * Returns the plan, owned by the caller. */
struct claims_plan *claims_decide(const struct claims_view *view, struct claim *claims, size_t count,
                                  struct claim_verdict *verdicts, struct claims_grants *ret_grants);
/* A hash of what the reports say that are not about a position in the queue. */
uint64_t claims_basis(const struct claims_view *view);
/* Whether the report says its position, with numbers that change with every step of the queue. There are few
 * of them. */
bool claims_report_has_position(const struct claim_verdict *verdict);
/* Whether this report is current, except for the position. Cheap; false when in doubt. */
bool claims_report_is_current(const struct claims_view *view, uint64_t basis, const struct claim *claim,
                              const struct claim_verdict *verdict, const struct claim_wait *last);
/* Describes a verdict on the claim as text and values. Owned by the caller. */
void claims_explain(const struct claims_view *view, uint64_t basis, const struct claim *claim,
                    const struct claim_verdict *verdict, struct claim_wait *ret);
