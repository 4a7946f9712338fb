/* One partition of the controller, and its states:
 *
 *     create -> PENDING/CREATING -> ACTIVE/IDLE -> reset -> PENDING/RESETTING -> ACTIVE/IDLE
 *     creating or resetting fails -> ERROR/FAILED
 *     an active one fails -> ERROR/IDLE, which waits for an automatic reset -> PENDING/RESETTING
 *         (ERROR/FAILED when automatic resets are off, or as many in a row as allowed have failed)
 *     remove, from any state -> PENDING/REMOVING -> REMOVED/IDLE for a while if so configured -> gone
 *     removing fails, unless forced -> ERROR/FAILED
 *
 * State transitions only; the rules about IPUs are the controller's. Time is an argument. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/heap.h"
#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/model/partition.h"

struct controller_partition {
    struct vipu_partition partition;
    const struct vipu_cluster *cluster; /* NULL: its hardware is no longer configured */
    enum vipu_operation_state operation;
    int64_t due_ms;  /* when its timer expires; see controller_partition_is_timed */
    uint64_t number; /* in order of creation */
    bool disable_auto_reset;
    bool relocatable;
    bool is_forced;       /* the removal continues whatever fails */
    uint32_t auto_resets; /* since it failed; reset to 0 by a requested reset */
    int64_t last_auto_reset_unix_s;
    char *key_hash;      /* of the access key of the partition's own user, or NULL */
    struct strv errors;  /* why it is in error; kept until a reset succeeds */
    char *planned_error; /* why the operation in progress is going to fail, or NULL */

    /* The controller's, which finds everything about a partition without a search. */
    struct controller_partition *previous, *next; /* in order of creation */
    size_t changed_at;                            /* position among the unsaved ones, from 1; 0: saved */
    struct heap_node due;                         /* in the due_queue */
};

void controller_partition_free(struct controller_partition *entry);

/* An operation is in progress. */
bool controller_partition_is_under_way(const struct controller_partition *entry);
/* Something happens at due_ms: an operation ends, an automatic reset begins, or the partition is removed. */
bool controller_partition_is_timed(const struct controller_partition *entry);
bool controller_partition_waits_for_reset(const struct controller_partition *entry);
bool controller_partition_is_removed(const struct controller_partition *entry);

void controller_partition_begin(struct controller_partition *entry, enum vipu_operation_state operation,
                                int64_t due_ms);
void controller_partition_settle(struct controller_partition *entry); /* active, without errors */
/* Both end the operation in progress; the errors are set already. */
void controller_partition_fail(struct controller_partition *entry);
void controller_partition_await_reset(struct controller_partition *entry, int64_t due_ms);
void controller_partition_leave(struct controller_partition *entry,
                                int64_t gone_ms); /* removed, but still visible */
