#include "vipu/server/controller/controller_partition.h"

#include "base/core/mem.h"

void controller_partition_free(struct controller_partition *entry)
{
    if (!entry)
        return;
    vipu_partition_release(&entry->partition);
    strv_release(&entry->errors);
    mem_free(entry->planned_error);
    mem_free(entry->key_hash);
    mem_free(entry);
}

bool controller_partition_is_under_way(const struct controller_partition *entry)
{
    return entry->operation == VIPU_OPERATION_CREATING || entry->operation == VIPU_OPERATION_REMOVING ||
           entry->operation == VIPU_OPERATION_RESETTING;
}

bool controller_partition_waits_for_reset(const struct controller_partition *entry)
{
    return entry->partition.ready_state == VIPU_READY_ERROR && entry->operation == VIPU_OPERATION_IDLE;
}

bool controller_partition_is_removed(const struct controller_partition *entry)
{
    return entry->partition.ready_state == VIPU_READY_REMOVED;
}

bool controller_partition_is_timed(const struct controller_partition *entry)
{
    return controller_partition_is_under_way(entry) || controller_partition_waits_for_reset(entry) ||
           controller_partition_is_removed(entry);
}

static void move(struct controller_partition *entry, enum vipu_ready_state ready,
                 enum vipu_operation_state operation)
{
    entry->partition.ready_state = ready;
    entry->operation = operation;
    mem_set_str(&entry->planned_error, NULL);
}

void controller_partition_begin(struct controller_partition *entry, enum vipu_operation_state operation,
                                int64_t due_ms)
{
    move(entry, VIPU_READY_PENDING, operation);
    entry->due_ms = due_ms;
    entry->is_forced = false;
}

void controller_partition_settle(struct controller_partition *entry)
{
    move(entry, VIPU_READY_ACTIVE, VIPU_OPERATION_IDLE);
    strv_release(&entry->errors);
}

void controller_partition_fail(struct controller_partition *entry)
{
    move(entry, VIPU_READY_ERROR, VIPU_OPERATION_FAILED);
}

void controller_partition_await_reset(struct controller_partition *entry, int64_t due_ms)
{
    move(entry, VIPU_READY_ERROR, VIPU_OPERATION_IDLE);
    entry->due_ms = due_ms;
}

void controller_partition_leave(struct controller_partition *entry, int64_t gone_ms)
{
    move(entry, VIPU_READY_REMOVED, VIPU_OPERATION_IDLE);
    entry->due_ms = gone_ms;
}
