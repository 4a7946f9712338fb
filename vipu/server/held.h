/* One partition as the controller keeps it, and the states it goes through:
 *
 *     create -> PENDING/CREATING -> ACTIVE/IDLE -> reset -> PENDING/RESETTING -> ACTIVE/IDLE
 *     creating or resetting fails -> ERROR/FAILED
 *     an active one fails -> ERROR/IDLE, which waits for an automatic reset -> PENDING/RESETTING
 *         (ERROR/FAILED when automatic resets are off, or as many in a row as allowed have failed)
 *     remove, from any state -> PENDING/REMOVING -> REMOVED/IDLE for a while if so configured -> gone
 *     removing fails, unless forced -> ERROR/FAILED
 *
 * Plain moves without rules about IPUs; those are the controller's. Time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/model/partition.h"

struct held {
    struct vipu_partition partition;
    const struct vipu_cluster *cluster; /* NULL: its hardware is no longer configured */
    enum vipu_operation_state operation;
    int64_t due_ms;  /* when what it is timed for happens; see held_is_timed */
    uint64_t number; /* in order of creation */
    bool disable_auto_reset;
    bool relocatable;
    bool is_forced;       /* the removal goes on whatever fails */
    bool is_changed;      /* since it was saved */
    uint32_t auto_resets; /* since it failed; 0 again with a reset that was asked for */
    int64_t last_auto_reset_unix_s;
    struct strv errors; /* why it is in error; kept until a reset succeeds */
    char *doom;         /* why the operation under way is going to fail, or NULL */
};

void held_free(struct held *held);

/* Something is being done with it. */
bool held_is_under_way(const struct held *held);
/* Something happens to it at due_ms: an operation ends, an automatic reset begins, or it is gone. */
bool held_is_timed(const struct held *held);
bool held_waits_for_reset(const struct held *held);
bool held_is_removed(const struct held *held);

void held_begin(struct held *held, enum vipu_operation_state operation, int64_t due_ms);
void held_settle(struct held *held); /* active, and nothing is wrong with it */
/* Both end what was under way; errors say why already. */
void held_fail(struct held *held);
void held_await_reset(struct held *held, int64_t due_ms);
void held_leave(struct held *held, int64_t gone_ms); /* removed, but still to be seen */
