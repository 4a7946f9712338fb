/* What the pool knows of one partition, as plain data for decisions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A partition as the last list that began after our last write shows it. */
enum partition_state {
    PARTITION_UNKNOWN, /* no such list yet */
    PARTITION_ABSENT,
    PARTITION_PENDING,
    PARTITION_ACTIVE,
    PARTITION_ERROR,
};

enum partition_rejection {
    PARTITION_NOT_REJECTED,
    PARTITION_REJECTED_CAPACITY, /* not enough free IPUs now */
    PARTITION_REJECTED_FOREIGN,  /* a foreign partition: it existed before the first create of this process */
    PARTITION_REJECTED_INVALID,  /* the controller will never make such a partition */
};

/* What this process knows of a partition and of its own calls about it. All zero: nothing. */
struct partition_view {
    enum partition_state state;
    int64_t since_ms; /* when it came into this state, on the loop's clock */
    bool busy;        /* a call about it is in flight, or its effect is awaited */
    bool quiet;       /* this process knows that no pod was created on it in this run, or it created them */
    bool fresh;       /* this process saw it become active by a create or reset in this run */
    enum partition_rejection rejection;
    const char *trouble; /* the last failure's text, or NULL */
    int64_t retry_at_ms; /* not before: after a failure, also of a write that was taken and ended in error */
    bool made;           /* a create of this process was answered well */
    bool is_broken;      /* in error, and not active since */
    int64_t resets_failing_since_ms; /* resets have been rejected or have ended in error since then; 0: none
                                        has */
    bool outcome_unknown;  /* a write with unknown outcome, and no list since that could not take effect any
                              more */
    int64_t settle_at_ms;  /* when that can no longer take effect */
    int64_t pods_until_ms; /* until then a pod of this run may still be created by an unanswered request */
    int64_t removal_until_ms; /* until then a removal that an earlier process has sent may still come */
    uint32_t size, gcds;      /* as listed; 0 when not */
};
