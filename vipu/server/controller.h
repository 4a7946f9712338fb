/* The V-IPU controller as a pure state machine: partitions, what they are going through, and when that is
 * over. Requests and the time come in; states, errors and a list of what changed go out. It makes no
 * connection, writes no file and reads no clock.
 *
 * Making, resetting and removing take time: the call returns at once, the state says PENDING, and
 * controller_step brings the next state when it is due. A restart finishes whatever was under way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/map.h"
#include "vipu/model/cluster.h"
#include "vipu/model/partition.h"
#include "vipu/server/occupancy.h"

struct controller_times {
    uint32_t create_ms;
    uint32_t remove_ms;
    uint32_t reset_ms;
};

/* One partition as the controller keeps it. */
struct held {
    struct vipu_partition partition;
    const struct vipu_cluster *cluster; /* NULL: its hardware is no longer configured */
    enum vipu_operation_state operation;
    int64_t due_ms;  /* when the operation ends */
    uint64_t number; /* in order of creation */
    bool disable_auto_reset;
    bool relocatable;
    bool is_changed;
    const char *error; /* static text, or NULL */
};

struct controller {
    const struct vipu_clusters *clusters;
    struct controller_times times;
    uint32_t max_auto_reset_retries;
    struct occupancy occupancy;
    struct map by_id;
    struct held **list; /* in order of creation */
    size_t count;
    uint64_t next_number;
    struct strv removed; /* ids gone since the last controller_saved */
};

void controller_init(struct controller *c, const struct vipu_clusters *clusters,
                     struct controller_times times, uint32_t max_auto_reset_retries);
void controller_release(struct controller *c);

/* A partition as it was saved, moved in. One whose hardware is gone is kept in error; ERR_INVALID when two
 * share an IPU or an id. What was under way begins anew at now_ms. */
MUST_USE bool controller_restore_take(struct controller *c, struct held *held, int64_t now_ms,
                                      struct err *err);

/* ERR_INVALID adds every reason to `problems`; also ERR_EXISTS, ERR_BUSY (no room). */
MUST_USE bool controller_create(struct controller *c, const struct vipu_requirements *given, int64_t now_ms,
                                struct strv *problems, struct err *err);
MUST_USE bool controller_remove(struct controller *c, const char *id, bool force, int64_t now_ms,
                                struct err *err);
/* ERR_CONFLICT while something else is under way. */
MUST_USE bool controller_reset(struct controller *c, const char *id, bool relocatable, int64_t now_ms,
                               struct err *err);
/* NULL with ERR_NOT_FOUND. */
const struct held *controller_find(const struct controller *c, const char *id, struct err *err);

/* Ends every operation that is due; returns when the next one is, or -1. */
int64_t controller_step(struct controller *c, int64_t now_ms);

bool controller_has_changes(const struct controller *c);
void controller_saved(struct controller *c); /* forgets is_changed and removed */
