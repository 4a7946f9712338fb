#include "vipu/server/later.h"

#include <sys/queue.h>

#include "base/core/mem.h"

struct later_entry {
    TAILQ_ENTRY(later_entry) entry;
    struct later *later;
    struct loop_timer timer;
    size_t bytes;
    later_fn fn;
    void *ctx;
};

TAILQ_HEAD(later_entries, later_entry);

struct later {
    struct loop *loop;
    struct later_entries entries;
    size_t bytes;
};

struct later *later_new(struct loop *loop)
{
    struct later *later = NEW(struct later);

    later->loop = loop;
    TAILQ_INIT(&later->entries);
    return later;
}

static void happen(struct later_entry *entry)
{
    later_fn fn = entry->fn;
    void *ctx = entry->ctx;

    loop_timer_stop(&entry->timer);
    TAILQ_REMOVE(&entry->later->entries, entry, entry);
    entry->later->bytes -= entry->bytes;
    mem_free(entry);
    fn(ctx);
}

static void on_due(struct loop_timer *timer)
{
    happen(CONTAINER_OF(timer, struct later_entry, timer));
}

bool later_do(struct later *later, int64_t delay_ms, size_t bytes, later_fn fn, void *ctx)
{
    struct later_entry *entry;
    size_t cost = bytes + sizeof(*entry);

    if (cost > LATER_MAX_BYTES - later->bytes)
        return false;
    entry = NEW(struct later_entry);
    *entry = (struct later_entry){.later = later, .bytes = cost, .fn = fn, .ctx = ctx};
    TAILQ_INSERT_TAIL(&later->entries, entry, entry);
    later->bytes += cost;
    loop_timer_start(later->loop, &entry->timer, delay_ms, on_due);
    return true;
}

void later_free(struct later *later)
{
    struct later_entry *entry;

    if (!later)
        return;
    while ((entry = TAILQ_FIRST(&later->entries)))
        happen(entry);
    mem_free(later);
}
