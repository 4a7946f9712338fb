#include "vipu/server/held.h"

#include "base/core/mem.h"

void held_free(struct held *held)
{
    if (!held)
        return;
    vipu_partition_release(&held->partition);
    strv_release(&held->errors);
    mem_free(held->doom);
    mem_free(held);
}

bool held_is_under_way(const struct held *held)
{
    return held->operation == VIPU_OPERATION_CREATING || held->operation == VIPU_OPERATION_REMOVING ||
           held->operation == VIPU_OPERATION_RESETTING;
}

bool held_waits_for_reset(const struct held *held)
{
    return held->partition.ready_state == VIPU_READY_ERROR && held->operation == VIPU_OPERATION_IDLE;
}

bool held_is_removed(const struct held *held)
{
    return held->partition.ready_state == VIPU_READY_REMOVED;
}

bool held_is_timed(const struct held *held)
{
    return held_is_under_way(held) || held_waits_for_reset(held) || held_is_removed(held);
}

static void move(struct held *held, enum vipu_ready_state ready, enum vipu_operation_state operation)
{
    held->partition.ready_state = ready;
    held->operation = operation;
    held->is_changed = true;
    mem_set_str(&held->doom, NULL);
}

void held_begin(struct held *held, enum vipu_operation_state operation, int64_t due_ms)
{
    move(held, VIPU_READY_PENDING, operation);
    held->due_ms = due_ms;
    held->is_forced = false;
}

void held_settle(struct held *held)
{
    move(held, VIPU_READY_ACTIVE, VIPU_OPERATION_IDLE);
    strv_release(&held->errors);
}

void held_fail(struct held *held)
{
    move(held, VIPU_READY_ERROR, VIPU_OPERATION_FAILED);
}

void held_await_reset(struct held *held, int64_t due_ms)
{
    move(held, VIPU_READY_ERROR, VIPU_OPERATION_IDLE);
    held->due_ms = due_ms;
}

void held_leave(struct held *held, int64_t gone_ms)
{
    move(held, VIPU_READY_REMOVED, VIPU_OPERATION_IDLE);
    held->due_ms = gone_ms;
}
