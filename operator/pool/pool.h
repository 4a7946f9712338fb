/* The V-IPU controllers: keeps a recent list of each one's partitions, sends creates, resets and removes, and
 * follows them to their end. It decides nothing: the reconciler requests writes, and the pool reports what it
 * observes (struct partition_view).
 *
 * Only a list that began after our last write says what is there; error texts prove nothing. A write whose
 * outcome is unknown is remembered until it can no longer take effect. A slow or unavailable controller does
 * not delay the others: each has its own connection and no call blocks. */
#pragma once

#include "base/doc/openmetrics.h"
#include "operator/pool/controller_secret.h"
#include "operator/pool/cordon.h"
#include "operator/pool/config.h"
#include "operator/pool/partition_view.h"
#include "vipu/client/client.h"
#include "vipu/placement/pool.h"

struct loop;
struct pool;

/* Long enough for any answer; short enough to be over before a lease could be. */
#define POOL_DEADLINE_MS 4000
/* A cancelled request may still take effect within this time. */
#define POOL_STRAY_MS 30000

struct pool_options {
    const struct pool_config *config; /* borrowed; must outlive the pool */
    const char *credentials; /* directory with one subdirectory per Secret; borrowed; must outlive the pool;
                                NULL: none */
    bool (*may_send)(void *ctx); /* asked right before each write */
    void (*on_partition)(void *ctx, const char *controller,
                         const char *id);  /* what is known of it has changed */
    void (*on_capacity_change)(void *ctx); /* free IPUs, size or state of a controller changed */
    void *ctx;
};

struct pool *pool_new(struct loop *loop, const struct pool_options *options);
void pool_free(struct pool *pool);
void pool_abort(struct pool *pool); /* resets all connections at once: the lease is lost */

/* What a controller is asked. */
enum pool_call {
    POOL_LIST,
    POOL_ATTRIBUTES,
    POOL_VERSION,
    POOL_STATUS,
    POOL_CREATE,
    POOL_RESET,
    POOL_REMOVE,
    POOL_CALLS,
};
const char *pool_call_name(enum pool_call call); /* "ListPartitions" */

struct pool_counter {
    struct openmetrics_histogram durations; /* of those that were sent */
    uint64_t unanswered;                    /* not sent, or with unknown outcome */
};

/* Whether a controller rejects clients without an access key. */
enum pool_security { POOL_SECURITY_UNKNOWN, POOL_OPEN, POOL_SECURE };

/* Current state of a controller; index as in the configuration. Borrowed until the loop's next turn. */
struct pool_controller {
    const struct vipu_controller_config *config;
    bool is_known; /* the last list succeeded */
    char *trouble; /* why not, or NULL */
    enum err_kind trouble_kind;
    int64_t listed_unix_s; /* when the last list arrived; 0: never */
    char *version;         /* whatever it calls so; NULL: it has not told */
    struct cordon cordon;
    enum pool_security security;
    int64_t trouble_since_unix_s;
    int64_t trouble_since_ms;             /* on the loop's clock */
    uint32_t total_ipus;                  /* 0: unknown */
    const struct vipu_partitions *listed; /* the last good list */
    bool chooses;                         /* it does not honour places, as far as it has shown */
    struct pool_counter calls[POOL_CALLS];
    const struct controller_secret *controller_secret; /* the last that was good; all NULL without a Secret */
};
size_t pool_count(const struct pool *pool);
const struct pool_controller *pool_controller(const struct pool *pool, size_t index);
int pool_find(const struct pool *pool, const char *controller); /* -1: not configured */
/* Free IPUs as the last list shows them, less what is cordoned and what tracked partitions reserve that it
 * does not show yet. Yours. */
struct vipu_pool_view pool_free_capacity(const struct pool *pool, size_t index);
/* IPUs of the largest partition that some controller could ever create; 0: not known of each of them. */
uint32_t pool_largest_partition(const struct pool *pool);
/* Nothing that is not granted yet is placed there. */
void pool_set_cordon(struct pool *pool, size_t index, const struct cordon *cordon);
/* Jobs wait for IPUs: poll more often. */
void pool_set_waiting(struct pool *pool, bool waiting);
/* The partition as the last good list of the controller has it; NULL when it has none. Borrowed until the
 * next turn. */
const struct vipu_partition *pool_listed(const struct pool *pool, const char *controller, const char *id);

/* Whether the free IPUs of some controller exclude those of that record. */
bool pool_reserves(const struct pool *pool, const char *id);

/* ---- partitions with a record ---- */

struct pool_track {
    const char *controller;
    const char *id;
    const char *job_uid; /* of the job that has the partition's key */
    const char *place;   /* of its IPUs, as a record has it; NULL: the controller chooses */
    uint32_t size;
    bool is_ours_fresh; /* this process made the record: a first create that finds it there means it is
                           foreign */
    bool started;       /* record.started */
    bool is_unsettled;  /* the record's outcome is unknown, or an earlier process may have sent something just
                           before its end */
    bool may_be_reset;  /* likewise a reset */
    bool reserves;      /* its size counts as taken before it is listed */
};
/* Starts following it, or updates size and flags. */
void pool_follow(struct pool *pool, const struct pool_track *track);
void pool_forget(struct pool *pool, const char *controller, const char *id);
/* A new run of pods is about to be started by this process: nothing runs on it, and it has to be reset first.
 */
void pool_begin_run(struct pool *pool, const char *controller, const char *id);
/* An unanswered request may still create a pod on it: its outcome is unknown until then. */
void pool_note_pending_pod(struct pool *pool, const char *controller, const char *id, int64_t until_ms);
struct partition_view pool_partition(const struct pool *pool, const char *controller, const char *id);

void pool_create(struct pool *pool, const char *controller, const struct vipu_requirements *requirements);
void pool_reset(struct pool *pool, const char *controller, const char *id);
void pool_remove(struct pool *pool, const char *controller, const char *id);
