/* The V-IPU controller as a pure state machine: partitions, their operations, and when these end. Requests
 * and the time go in; states, errors and a list of changes come out. It makes no connection, writes no file
 * and reads no clock.
 *
 * Creating, resetting and removing take time: the call returns at once, the state is PENDING, and
 * controller_step moves to the next state when it is due. After a restart every operation is finished.
 * Failures of operations and hardware come from the faults; controller_partition.h has the states.
 *
 * The cost of one change does not depend on the number of partitions. Requests that could not be saved are
 * undone by controller_undo; what time has changed stays, and is saved later. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/map.h"
#include "vipu/placement/allocator.h"
#include "vipu/model/cluster.h"
#include "vipu/model/partition.h"
#include "vipu/server/controller/controller_partition.h"
#include "vipu/server/controller/due_queue.h"
#include "vipu/server/controller/faults.h"
#include "vipu/server/controller/health.h"
#include "vipu/server/controller/undo_log.h"

struct controller_times {
    uint32_t create_ms;
    uint32_t remove_ms;
    uint32_t reset_ms;
    uint32_t auto_reset_ms; /* from a failure to the automatic reset */
    uint32_t removed_ms;    /* how long a removed partition remains visible */
};

struct controller {
    const struct vipu_clusters *clusters;
    struct controller_times times;
    uint32_t max_auto_reset_retries;
    int64_t
        unix_offset_ms; /* wall clock minus the time that is passed to calls; the owner keeps it up to date */
    struct faults *faults; /* see controller_set_faults */
    struct health health;
    struct vipu_allocator allocator;
    struct map by_id;
    struct controller_partition *first, *last; /* in order of creation */
    size_t count;
    uint64_t next_number;
    struct due_queue due;
    struct undo_log undo;                  /* requests since the last controller_saved */
    struct controller_partition **changed; /* since the last controller_saved */
    size_t changed_count;
    struct strv removed; /* ids removed since the last controller_saved */
};

/* Walks the partitions in order of creation; the current one must stay. */
#define CONTROLLER_EACH(entry, c)                                                                            \
    for (struct controller_partition *entry = (c)->first; entry; entry = entry->next)

void controller_init(struct controller *c, const struct vipu_clusters *clusters,
                     struct controller_times times, uint32_t max_auto_reset_retries);
void controller_release(struct controller *c);

/* Activates these faults; one-time faults happen at once. NULL: none. They must outlive the controller or
 * the next call; their counters are updated. */
void controller_set_faults(struct controller *c, struct faults *faults, int64_t now_ms);
/* Removes every partition, as if it had never existed. */
void controller_forget(struct controller *c);

/* Restores a saved partition, moved in. One without hardware is kept in error; ERR_INVALID if two share an
 * IPU or an id. An operation in progress is restarted at now_ms. */
MUST_USE bool controller_restore_take(struct controller *c, struct controller_partition *entry,
                                      int64_t now_ms, struct err *err);

/* ERR_INVALID adds every reason to `problems`; also ERR_EXISTS, ERR_BUSY (not enough free IPUs). */
MUST_USE bool controller_create(struct controller *c, const struct vipu_requirements *given, int64_t now_ms,
                                struct strv *problems, struct err *err);
/* From any state. Without force a removal fails if the hardware does. */
MUST_USE bool controller_remove(struct controller *c, const char *id, bool force, int64_t now_ms,
                                struct err *err);
/* If it is relocatable, now or since its creation, it moves to other IPUs when some of its own have failed.
 * ERR_CONFLICT while another operation is in progress. */
MUST_USE bool controller_reset(struct controller *c, const char *id, bool relocatable, int64_t now_ms,
                               struct err *err);
/* As a part of the create or reset right before it: the hash of the access key with which the partition's own
 * user may use it. */
void controller_set_key_hash(struct controller *c, const char *id, const char *hash);
/* NULL with ERR_NOT_FOUND. */
const struct controller_partition *controller_find(const struct controller *c, const char *id,
                                                   struct err *err);

/* Borrowed from entry. */
struct vipu_status controller_status(const struct controller *c, const struct controller_partition *entry);

/* Does everything that is due; returns when the next thing is due, or -1. */
int64_t controller_step(struct controller *c, int64_t now_ms);

bool controller_has_changes(const struct controller *c);
/* All changes are saved: the requests can no longer be undone. */
void controller_saved(struct controller *c);
/* Undoes the requests since the last controller_saved, as if they had never been made. Every other function
 * that changes something makes them final, too: save before it. */
void controller_undo(struct controller *c);
