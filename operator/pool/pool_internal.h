/* The pool's own state, shared by its parts: controller.c (lists and how often), partition_tracker.c (one
 * partition with a record: its writes and their effects), pool.c (all of them, for the outside). */
#pragma once

#include "base/core/map.h"
#include "base/io/loop.h"
#include "operator/pool/pool.h"

enum await { AWAIT_NOTHING, AWAIT_ACTIVE, AWAIT_RESET, AWAIT_GONE };

struct controller {
    struct pool_controller public; /* first: the public part */
    struct pool *pool;
    struct vipu_client *client;
    struct loop_timer timer;
    struct vipu_partitions listed;
    struct map listed_by_id;
    struct map trackers; /* id -> struct partition_tracker */
    struct vipu_call *list_call, *count_call, *version_call;
    struct vipu_client *stranger; /* asks without an access key, once after each outage; NULL: not now */
    int64_t list_begun_ms;        /* of the one in flight */
    int64_t count_at_ms;          /* when it was asked last; 0: never */
    bool has_listed;              /* the last list succeeded */
    bool has_sized;               /* it has responded to the request for its IPUs, with or without a number */
    unsigned unsized;             /* how often it has not, although it listed its partitions */
    int64_t poll_ms;
    int64_t next_poll_ms;
    unsigned failures;
    struct controller_secret controller_secret;
    int64_t secret_read_ms;   /* when its files were read last; 0: never */
    bool has_credentials;     /* the client has it */
    uint64_t fingerprint;     /* of the last list, to see that something changed */
    unsigned rejected_places; /* in a row, of partitions that were then created elsewhere */
};

struct partition_tracker {
    struct controller *controller;
    char *id, *job_uid;
    struct partition_view view;
    char *trouble;
    char *place; /* NULL: the controller chooses */
    uint32_t size;
    bool has_sent_place;    /* with the latest create */
    bool is_place_busy;     /* another partition has it, and the controller chooses */
    bool was_seen;          /* a list has shown it */
    bool is_place_rejected; /* it has not taken effect, and the controller chooses */
    bool reserves, is_ours_fresh, started;
    enum await await;
    int64_t await_until_ms;
    bool status_says_gone;
    struct vipu_call *call; /* create, reset or remove */
    struct vipu_call *status_call;
    int64_t last_write_ms; /* when it was answered or given up; lists begun before prove nothing */
    int64_t sent_ms;
    int64_t late_reset_until_ms; /* until then an unanswered reset may still take effect */
    unsigned sends, failures;
    bool created_in_run; /* a create was sent, and no pod has been started on it since */
};

struct pool {
    struct loop *loop;
    struct pool_options options;
    struct controller *controllers;
    size_t count;
    bool waiting;
};

/* pool.c */
/* As pool_free_capacity, but without what is reserved for creates that are still to be sent. */
struct vipu_pool_view controller_unsent_capacity(const struct controller *c);

/* controller.c */
void controller_start(struct pool *pool, struct controller *c, const struct vipu_controller_config *config);
void controller_stop(struct controller *c);
int64_t controller_now_ms(const struct controller *c);
/* A partition that was to have a certain place was created there, or elsewhere: by the controller's own
 * choice, or because it had rejected the place. */
void controller_note_placed(struct controller *c, bool is_there, bool was_rejected);
void controller_count(struct controller *c, enum pool_call call, const struct vipu_result *result);
void controller_poll_soon(struct controller *c); /* something was sent: list soon, and often for a while */
void controller_poll_within(struct controller *c, int64_t ms);

/* partition_tracker.c */
struct partition_tracker *partition_tracker_new(struct controller *c, const struct pool_track *track);
void partition_tracker_free(struct partition_tracker *tracker);
/* What a list shows of it; `listed` NULL: nothing. begun_ms: when that list began. */
void partition_tracker_observe(struct partition_tracker *tracker, const struct vipu_partition *listed,
                               int64_t begun_ms);
/* Its controller became unavailable, or available again: then trouble is NULL. */
void partition_tracker_set_unavailable(struct partition_tracker *tracker, const char *trouble);
bool partition_tracker_is_in_flight(const struct partition_tracker *tracker);
void partition_tracker_note_pending_pod(struct partition_tracker *tracker, int64_t until_ms);
void partition_tracker_create(struct partition_tracker *tracker,
                              const struct vipu_requirements *requirements);
void partition_tracker_reset(struct partition_tracker *tracker);
void partition_tracker_remove(struct partition_tracker *tracker);
