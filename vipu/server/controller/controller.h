/* The V-IPU controller as a pure state machine: partitions, what they are going through, and when that is
 * over. Requests and the time come in; states, errors and a list of what changed go out. It makes no
 * connection, writes no file and reads no clock.
 *
 * Creating, resetting and removing take time: the call returns at once, the state says PENDING, and
 * controller_step brings the next state when it is due. A restart finishes whatever was under way. Failures
 * of operations and hardware come from the faults; controller_partition.h has the states. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/map.h"
#include "vipu/model/allocator.h"
#include "vipu/model/cluster.h"
#include "vipu/model/partition.h"
#include "vipu/server/controller/controller_partition.h"
#include "vipu/server/controller/faults.h"
#include "vipu/server/controller/health.h"

struct controller_times {
    uint32_t create_ms;
    uint32_t remove_ms;
    uint32_t reset_ms;
    uint32_t auto_reset_ms; /* from a failure to the automatic reset */
    uint32_t removed_ms;    /* how long a removed partition is still to be seen */
};

struct controller {
    const struct vipu_clusters *clusters;
    struct controller_times times;
    uint32_t max_auto_reset_retries;
    int64_t unix_offset_ms; /* wall clock minus the time that calls are given; the owner keeps it right */
    struct faults *faults;  /* see controller_set_faults */
    struct health health;
    struct vipu_allocator allocator;
    struct map by_id;
    struct controller_partition **list; /* in order of creation */
    size_t count;
    uint64_t next_number;
    struct strv removed; /* ids gone since the last controller_saved */
};

void controller_init(struct controller *c, const struct vipu_clusters *clusters,
                     struct controller_times times, uint32_t max_auto_reset_retries);
void controller_release(struct controller *c);

/* From now on these go wrong, and what they say about the present happens at once; NULL: nothing does. They
 * outlive the controller or the next call; they count what they do. */
void controller_set_faults(struct controller *c, struct faults *faults, int64_t now_ms);
/* Every partition is gone, as if it had never been. */
void controller_forget(struct controller *c);

/* A partition as it was saved, moved in. One whose hardware is gone is kept in error; ERR_INVALID when two
 * share an IPU or an id. An operation in progress is restarted at now_ms. */
MUST_USE bool controller_restore_take(struct controller *c, struct controller_partition *entry,
                                      int64_t now_ms, struct err *err);

/* ERR_INVALID adds every reason to `problems`; also ERR_EXISTS, ERR_BUSY (not enough free IPUs). */
MUST_USE bool controller_create(struct controller *c, const struct vipu_requirements *given, int64_t now_ms,
                                struct strv *problems, struct err *err);
/* From any state. Without force a removal fails when the hardware does. */
MUST_USE bool controller_remove(struct controller *c, const char *id, bool force, int64_t now_ms,
                                struct err *err);
/* Relocatable, now or at its creation, it moves to other IPUs if some of its own do not work. ERR_CONFLICT
 * while something else is under way. */
MUST_USE bool controller_reset(struct controller *c, const char *id, bool relocatable, int64_t now_ms,
                               struct err *err);
/* NULL with ERR_NOT_FOUND. */
const struct controller_partition *controller_find(const struct controller *c, const char *id,
                                                   struct err *err);

/* Borrowed from entry. */
struct vipu_status controller_status(const struct controller *c, const struct controller_partition *entry);

/* Does all that is due; returns when the next thing is, or -1. */
int64_t controller_step(struct controller *c, int64_t now_ms);

bool controller_has_changes(const struct controller *c);
void controller_saved(struct controller *c); /* forgets is_changed and removed */
