#include "vipu/server/controller/undo_log.h"

#include "base/core/mem.h"

void undo_log_add(struct undo_log *log, struct controller_partition *entry, bool is_new)
{
    const struct vipu_partition *p = &entry->partition;

    log->steps = mem_grow(log->steps, log->count + 1, sizeof(*log->steps));
    if (is_new)
        log->steps[log->count++] = (struct undo_step){.entry = entry, .is_new = true};
    else
        log->steps[log->count++] = (struct undo_step){.entry = entry,
                                                      .was_changed = entry->changed_at > 0,
                                                      .is_forced = entry->is_forced,
                                                      .ready_state = p->ready_state,
                                                      .operation = entry->operation,
                                                      .auto_resets = entry->auto_resets,
                                                      .due_ms = entry->due_ms,
                                                      .planned_error = mem_strdup(entry->planned_error),
                                                      .key_hash = mem_strdup(entry->key_hash),
                                                      .ipus = mem_dup(p->ipus, p->size * sizeof(*p->ipus))};
}

bool undo_log_pop(struct undo_log *log, struct undo_step *ret)
{
    if (log->count == 0)
        return false;
    *ret = log->steps[--log->count];
    return true;
}

void undo_log_clear(struct undo_log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        mem_free(log->steps[i].planned_error);
        mem_free(log->steps[i].key_hash);
        mem_free(log->steps[i].ipus);
    }
    mem_free(log->steps);
    *log = (struct undo_log){0};
}
