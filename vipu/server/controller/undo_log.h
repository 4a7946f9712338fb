/* What requests have changed since the last save, so that they can be undone when the save fails. Borrows the
 * partitions; the controller undoes them from the last to the first. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vipu/server/controller/controller_partition.h"

/* A partition right before one request. */
struct undo_step {
    struct controller_partition *entry;
    bool is_new;      /* the request creates it; then the rest is empty */
    bool was_changed; /* since the last save */
    bool is_forced;
    enum vipu_ready_state ready_state;
    enum vipu_operation_state operation;
    uint32_t auto_resets;
    int64_t due_ms;
    char *planned_error;
    char *key_hash;
    struct vipu_ipu *ipus; /* a reset may move it; owned */
};

struct undo_log {
    struct undo_step *steps;
    size_t count;
};

void undo_log_add(struct undo_log *log, struct controller_partition *entry, bool is_new);
/* Removes the last step; the caller owns its contents. False: the log is empty. */
bool undo_log_pop(struct undo_log *log, struct undo_step *ret);
void undo_log_clear(struct undo_log *log); /* frees it */
