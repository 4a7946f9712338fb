#include "vipu/server/calls/delayed_calls.h"

#include <sys/queue.h>

#include "base/core/mem.h"

struct delayed_entry {
    TAILQ_ENTRY(delayed_entry) entry;
    struct delayed_calls *calls;
    struct loop_timer timer;
    size_t bytes;
    delayed_call_fn fn;
    void *ctx;
};

TAILQ_HEAD(later_entries, delayed_entry);

struct delayed_calls {
    struct loop *loop;
    struct later_entries entries;
    size_t bytes;
};

struct delayed_calls *delayed_calls_new(struct loop *loop)
{
    struct delayed_calls *calls = NEW(struct delayed_calls);

    calls->loop = loop;
    TAILQ_INIT(&calls->entries);
    return calls;
}

static void run_delayed(struct delayed_entry *entry)
{
    delayed_call_fn fn = entry->fn;
    void *ctx = entry->ctx;

    loop_timer_stop(&entry->timer);
    TAILQ_REMOVE(&entry->calls->entries, entry, entry);
    entry->calls->bytes -= entry->bytes;
    mem_free(entry);
    fn(ctx);
}

static void on_due(struct loop_timer *timer)
{
    run_delayed(CONTAINER_OF(timer, struct delayed_entry, timer));
}

bool delayed_calls_add(struct delayed_calls *calls, int64_t delay_ms, size_t bytes, delayed_call_fn fn,
                       void *ctx)
{
    struct delayed_entry *entry;
    size_t cost = bytes + sizeof(*entry);

    if (cost > DELAYED_CALLS_MAX_BYTES - calls->bytes)
        return false;
    entry = NEW(struct delayed_entry);
    *entry = (struct delayed_entry){.calls = calls, .bytes = cost, .fn = fn, .ctx = ctx};
    TAILQ_INSERT_TAIL(&calls->entries, entry, entry);
    calls->bytes += cost;
    loop_timer_start(calls->loop, &entry->timer, delay_ms, on_due);
    return true;
}

void delayed_calls_free(struct delayed_calls *calls)
{
    struct delayed_entry *entry;

    if (!calls)
        return;
    while ((entry = TAILQ_FIRST(&calls->entries)))
        run_delayed(entry);
    mem_free(calls);
}
