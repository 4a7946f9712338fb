/* Who gets IPUs now and which, whose block is kept free from when, and when everybody else will start.
 * Pure: no clock, no randomness but hashes of uids. The same input gives the same bytes, whatever the order
 * of its arrays. It accepts everything: input that cannot be true (a block outside its controller, a deadline
 * of 0, an end before now) is read in the way that starts nobody wrongly.
 *
 * The line. Claims are served by priority, then guard, then the namespace's share, then turn (turn_s,
 * arrival, uid, instance). A claim may stand for many equal instances of one job: when one of them has got
 * IPUs, the next one takes its turn from then, behind all that wait already in its priority. So a job of
 * 10,000 instances lets everybody else's next one pass after each of its own, and nobody waits forever.
 *
 * Reservations. The first `depth` claims of each controller that must wait get a block: the one that is whole
 * earliest by the stated bounds of its occupants. A claim reserves at one controller only, the one where that
 * is earliest. The block stays the same from plan to plan unless another is free earlier by more than a
 * minute and 5 %. A later claim may start outside every reserved block, or inside if it must have ended when
 * the reservation begins (invariant I-HEAD): so it cannot delay the reserved claim while bounds hold.
 *
 * Promises. The first start_s of a reservation is a promise, unless an earlier claim without one could take
 * the block. A claim whose own promise holds breaks none that was made to a later claim: it neither starts in
 * such a block nor moves its reservation there, unless it must have ended when that one begins.
 *
 * Bounds. `strict` and `bounded` believe deadlines only, `predicted` also run times without a
 * deadline: that of who would start by its p90 times p90/p50, that of who runs by its p90, if that is at most
 * four times its p50. A bound that has passed is corrected by growing steps (run_estimate_corrected), so that
 * the reservation slides by known jumps. `max_slide_s` after the promised start, the block closes to
 * everybody else. A start that `predicted` promised may rest on a run time, which can be wrong, and who has
 * run past it runs long: there the block closes only when it has been reserved for `close_after_s` as well.
 *
 * A reservation whose start nobody can know, because an occupant of its block has no bound, leaves its block
 * open to everybody: an occupant without an end must not close a machine. So that a stream of small claims
 * cannot keep a large one waiting forever, the block closes when it has been reserved for `close_after_s`:
 * then nobody else starts in it. The wait before does not count, or each claim of a long line would close its
 * block at once. The block stays open as long as an occupant without a bound belongs to the claim's own
 * namespace, which can end it by itself.
 *
 * Controllers without places. If a controller does not tell or honour places (`is_placed` false), its IPUs
 * are only counted: strict order, no promise, and times are a guess. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORECAST_UNKNOWN INT64_MAX /* a time or span that nobody knows */
#define FORECAST_NONE UINT32_MAX   /* no such index */
#define FORECAST_CONTROLLERS 64u   /* as bits of forecast_claim.eligible; more are not used */
#define FORECAST_DEPTH_MAX 8u
#define FORECAST_DOMAINS_MAX 1024u     /* of one controller; more are not used */
#define FORECAST_COUNTED_MAX 65536u    /* IPUs of a controller without places; more are not used */
#define FORECAST_CLAIMS_MAX (1u << 23) /* claims of one input */
#define FORECAST_PERMILLE_MIN 250u     /* what forecast_calibrate makes of early_permille and late_permille */
#define FORECAST_PERMILLE_MAX 16000u

enum forecast_policy {
    FORECAST_STRICT,   /* nothing passes the first that could use the controller */
    FORECAST_BOUNDED,  /* see above */
    FORECAST_PREDICTED /* likewise, and run times count as bounds where there is no deadline */
};

/* The same IPUs in each of `domain_count` consecutive domains. A part of one domain has domain_count 1, a
 * block of several domains has all of their IPUs. domain_count 0: no place, only counted. */
struct forecast_block {
    uint32_t domain; /* number within its controller */
    uint32_t domain_count;
    uint64_t ipus;
};

static inline bool forecast_blocks_overlap(const struct forecast_block *a, const struct forecast_block *b)
{
    return a->ipus & b->ipus && a->domain < (uint64_t)b->domain + b->domain_count &&
           b->domain < (uint64_t)a->domain + a->domain_count;
}

struct forecast_controller {
    bool is_usable; /* its partitions are known and recent, and nodes exist: claims may start there */
    bool is_placed; /* it honours places; else it is counted capacity in strict order */
    enum forecast_policy policy;
    uint32_t ipus_per_domain; /* a power of two up to 64: of a whole domain */
    const uint64_t *domains;  /* per domain: the IPUs that exist and have not failed; 0 separates clusters */
    uint32_t domain_count;
    uint32_t total_ipus; /* counted capacity only */
};

/* Spans in seconds below which a run ends with probability 10, 50 and 90 %. All 0: unknown. */
struct forecast_quantiles {
    uint32_t p10, p50, p90;
};

/* What holds IPUs: partitions of jobs, of others, and those that are requested or being removed. One of a
 * shape that no block can describe is several entries. */
struct forecast_running {
    uint64_t uid; /* of its job: the first 64 bits of the UUID; another number if it has none */
    uint32_t instance;
    uint32_t ns; /* number of its namespace; FORECAST_NONE: of nobody */
    uint32_t controller;
    struct forecast_block block;
    uint32_t size; /* IPUs in all */
    int32_t priority;
    int64_t start_s;
    int64_t end_s;                  /* must have released its IPUs by then; FORECAST_UNKNOWN: no bound */
    struct forecast_quantiles left; /* from now, of the time that it still runs */
    bool is_restartable;            /* may be ended for another (remedy.h) */
    bool is_leaving;                /* its IPUs are being released already: its end costs nothing */
    bool is_accounted;              /* its run counts as usage already: it is not charged once more */
    int64_t checkpoint_s;           /* work done before is not lost; start_s without a checkpoint */
    uint32_t restart_s;             /* until it computes again after a restart */
};

/* `count` waiting instances of one job that are alike. */
struct forecast_claim {
    uint64_t uid;      /* of its job: the first 64 bits of the UUID, so that they sort as uids do */
    uint32_t instance; /* the first of them */
    uint32_t count;
    uint64_t eligible; /* bit per controller whose nodes it selects */
    uint32_t ns;       /* number of its namespace; FORECAST_NONE: without quota and share */
    uint32_t size;     /* IPUs: a power of two within a domain, or a multiple of whole domains */
    int32_t priority;
    int64_t turn_s;   /* since when it waits: its creation, or when the latest instance of its job got IPUs */
    uint64_t arrival; /* order within a second */
    int64_t bound_s;  /* must have released its IPUs so long after the start; FORECAST_UNKNOWN: no bound */
    struct forecast_quantiles run; /* of the time that it occupies IPUs */
    bool is_ready;                 /* false: its place and its IPUs are kept, but it does not start yet */
};

struct forecast_namespace {
    uint64_t used_ipu_s; /* decayed usage */
    uint32_t weight;     /* of its share; 0 counts as 1 */
    uint32_t max_ipus;   /* running at the same time; 0: no quota */
    uint32_t held_ipus;  /* that count as running, beside those of running[] */
    uint32_t max_queued; /* instances in line, the first in turn of those that max_ipus does not keep out;
                            0: no quota */
};

/* A block that is kept for a claim: result of one plan and input of the next. */
struct forecast_reservation {
    uint64_t uid;
    uint32_t instance;
    uint32_t controller;
    struct forecast_block block; /* domain_count 0: counted capacity, no block */
    int64_t start_s;             /* the block is free by then if all bounds hold; FORECAST_UNKNOWN: open */
    int64_t
        promise_s;   /* the first start_s that was known since it was reserved; FORECAST_UNKNOWN: none yet */
    int64_t since_s; /* when the claim's reservation was made, in whichever block */
    bool is_displaced; /* a claim before it in turn has got IPUs of the block beyond the promised start */
    bool is_overrun;   /* its start has moved beyond the promise while an occupant ran past its bound */
    uint32_t claim;    /* index in the input of this plan; result only */
    bool is_open;      /* others may start in it freely; result only */
    bool is_closed;    /* nobody else starts in it; result only */
};

struct forecast_settings {
    uint32_t depth;        /* reservations per controller, up to FORECAST_DEPTH_MAX; 0: none */
    int64_t max_slide_s;   /* after a broken promise, others may use the block for so long */
    int64_t close_after_s; /* a block with unknown start closes so long after it was reserved;
                              FORECAST_UNKNOWN: never */
    int64_t guard_after_s; /* wait after which a claim comes first in its priority; FORECAST_UNKNOWN: never */
    uint32_t early_permille, late_permille; /* of how far p10 and p90 are from p50 (forecast_calibrate) */
    bool has_shares; /* namespaces with less usage per weight come first, by factors of two */
};

#define FORECAST_SETTINGS_DEFAULT                                                                            \
    ((struct forecast_settings){.depth = 1,                                                                  \
                                .max_slide_s = 30 * 60,                                                      \
                                .close_after_s = 3 * 24 * 3600,                                              \
                                .guard_after_s = FORECAST_UNKNOWN,                                           \
                                .early_permille = 1000,                                                      \
                                .late_permille = 1500})

/* All borrowed for the life of the forecast. */
struct forecast_input {
    int64_t now_s;
    const struct forecast_controller *controllers;
    size_t controller_count;
    const struct forecast_running *running;
    size_t running_count;
    const struct forecast_claim *claims;
    size_t claim_count;
    const struct forecast_namespace *namespaces;
    size_t namespace_count;
    const struct forecast_reservation *reservations; /* of the previous plan */
    size_t reservation_count;
    struct forecast_settings settings;
};

struct forecast_start {
    uint32_t claim;    /* index in the input */
    uint32_t instance; /* claim's first one + 0, 1, 2 ... */
    uint32_t controller;
    struct forecast_block block;
};

/* Why the next instance of a claim that waits does not start. */
enum forecast_cause {
    FORECAST_STARTS,        /* nothing waits: all of its instances start now */
    FORECAST_NOT_READY,     /* its IPUs are kept until its template is validated */
    FORECAST_NO_ROOM,       /* fewer IPUs are free than it needs */
    FORECAST_FRAGMENTED,    /* enough are free, but no aligned block of its size */
    FORECAST_RESERVED,      /* a block of its size is free, but part of it is kept for an earlier claim */
    FORECAST_ORDER,         /* a block of its size is free, but the order there is strict */
    FORECAST_IPU_QUOTA,     /* not in line: its namespace runs as many IPUs as it may */
    FORECAST_QUEUE_QUOTA,   /* not in line: its namespace has as many instances in line as it may */
    FORECAST_TOO_LARGE,     /* or not a possible size, for each controller that it selects */
    FORECAST_UNAVAILABLE,   /* no controller that could hold it is usable */
    FORECAST_NO_CONTROLLER, /* it selects none */
};

/* What an expected start rests on. */
enum forecast_basis {
    FORECAST_BY_NOW,     /* starts now */
    FORECAST_BY_BOUNDS,  /* reserved: p90 is the reserved start */
    FORECAST_BY_HISTORY, /* of scenarios with run times drawn from the quantiles */
    FORECAST_BY_ORDER,   /* far behind: one run with median times, its band is extrapolated */
    FORECAST_OPEN,       /* nobody knows */
};

struct forecast_verdict {
    uint32_t started;    /* instances that start now... */
    uint32_t waiting;    /* ...and that wait in line */
    uint32_t controller; /* where it starts, is reserved, or is nearest to start; FORECAST_NONE: none */
    uint32_t position;   /* among those who wait for that controller, from 1; 0: does not wait in line */
    uint8_t cause;       /* enum forecast_cause */
    uint8_t basis;       /* enum forecast_basis; the forecast must be complete */
    bool is_reserved;
    /* Of the next instance that does not start now, or of the first that does. Valid when the forecast is
     * complete; FORECAST_UNKNOWN: open. If nothing of higher turn arrives. */
    int64_t p10_s, p50_s, p90_s;
};

/* Complete when forecast_new() returns, except for the expected starts. */
struct forecast_plan {
    const uint32_t *order;               /* the line: claims of the input by index */
    const struct forecast_start *starts; /* in the order of the line */
    size_t start_count;
    const struct forecast_reservation *reserved; /* in the order of the line */
    size_t reserved_count;
    const struct forecast_verdict *verdicts; /* per claim of the input */
    int64_t next_wake_s; /* before then, the plan changes by new input only; FORECAST_UNKNOWN: never */
    bool is_complete;
};

struct forecast;

/* Decides who starts now. Owned by the caller; the input must stay unchanged until it is freed. */
struct forecast *forecast_new(const struct forecast_input *input);
void forecast_free(struct forecast *forecast); /* accepts NULL */
const struct forecast_plan *forecast_plan_of(const struct forecast *forecast);
/* Works on the expected starts, for about `work` microseconds of a usual processor: counted in steps, so that
 * slices of any length give the same result. True when they are complete. */
bool forecast_step(struct forecast *forecast, uint32_t work);

/* Corrects the widths after a start that was expected in this band, so that 10 % of starts come before p10
 * and 10 % after p90: what arrives later is not in the forecast, so that starts are rather late. */
void forecast_calibrate(struct forecast_settings *settings, const struct forecast_verdict *told,
                        int64_t start_s);
