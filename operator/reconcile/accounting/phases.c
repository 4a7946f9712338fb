#include "operator/reconcile/accounting/phases.h"

static void begin(struct phase_ends *ends)
{
    for (size_t i = 0; i < PHASES; i++)
        ends->seconds[i] = PHASE_NOT_ENDED;
}

static void note(struct phase_ends *ends, enum phase phase, int64_t from_s, int64_t to_s)
{
    if (from_s && to_s)
        ends->seconds[phase] = to_s > from_s ? to_s - from_s : 0;
}

const char *phase_name(enum phase phase)
{
    static const char *const names[] = {
        [PHASE_QUEUED] = "queued",   [PHASE_ALLOCATING] = "allocating", [PHASE_SCHEDULING] = "scheduling",
        [PHASE_PULLING] = "pulling", [PHASE_STARTING] = "starting",     [PHASE_RUNNING] = "running",
    };

    return names[phase];
}

uint32_t phases_size(uint32_t ipus)
{
    uint32_t size = 0;

    while (size < PHASES_SIZES - 1 && ipus > 1u << size)
        size++;
    return size;
}

/* A restart on the same partition waits only for its reset, which is not an allocation. */
static bool ends_allocation(const struct pod *pod, const struct record *record)
{
    return record && pod->run == 0 && pod->worker == 0;
}

void phases_of_pod(const struct pod *old, const struct pod *new, const struct record *record,
                   struct phase_ends *ret)
{
    static const struct pod nothing;
    const struct pod *before = old ? old : &nothing;
    int64_t ready_s = before->ready_s ? before->ready_s : new->ready_s;

    begin(ret);
    if (!before->created_s && ends_allocation(new, record))
        note(ret, PHASE_ALLOCATING, record->created_s, new->created_s);
    if (!before->scheduled_s)
        note(ret, PHASE_SCHEDULING, new->created_s, new->scheduled_s);
    if (!before->begun_s)
        note(ret, PHASE_PULLING, new->scheduled_s, new->begun_s);
    if (!before->ready_s)
        note(ret, PHASE_STARTING, new->begun_s, new->ready_s);
    if (!pod_is_terminal(before) && pod_is_terminal(new))
        note(ret, PHASE_RUNNING, ready_s ? ready_s : new->begun_s, new->finished_s);
}

void phases_of_record(const struct record *record, int64_t waits_since_s, struct phase_ends *ret)
{
    begin(ret);
    note(ret, PHASE_QUEUED, waits_since_s, record->created_s);
}
