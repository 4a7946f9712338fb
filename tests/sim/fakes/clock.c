#include "fakes/clock.h"

#include "base/core/heap.h"
#include "base/core/mem.h"

/* 2026-01-01T00:00:00Z */
#define EPOCH_UNIX_S INT64_C(1767225600)
#define BOOT_MS INT64_C(1000000)

struct planned {
    int64_t at_ms;
    int64_t due_ms; /* before at_ms when a pause has put it off */
    uint64_t number;
    const struct host *host;
    clock_fn fn;
    void *ctx;
    bool is_timer;
    struct heap_node node;
};

static struct {
    int64_t now_ms;
    const struct host *host;
    uint64_t numbers, random;
    struct heap planned;
    struct host **hosts;
    size_t host_count;
} the;

/* ---- the heap ---- */

/* After a pause: what has arrived meanwhile is there when the process wakes, which then looks at its timers.
 */
static int rank(const struct planned *planned)
{
    return planned->due_ms == planned->at_ms ? 2 : planned->is_timer;
}

static bool is_before(const struct heap_node *node_a, const struct heap_node *node_b)
{
    const struct planned *a = CONTAINER_OF(node_a, struct planned, node);
    const struct planned *b = CONTAINER_OF(node_b, struct planned, node);

    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms;
    if (rank(a) != rank(b))
        return rank(a) < rank(b);
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->number < b->number;
}

static struct planned *first(void)
{
    struct heap_node *node = heap_first(&the.planned);

    return node ? CONTAINER_OF(node, struct planned, node) : NULL;
}

static void put_in(struct planned *planned)
{
    heap_put(&the.planned, &planned->node, is_before);
}

static void take_out(struct planned *planned)
{
    heap_remove(&the.planned, &planned->node, is_before);
}

/* ---- time ---- */

void clock_begin(uint64_t seed)
{
    the.now_ms = BOOT_MS;
    the.numbers = 0;
    the.host = NULL;
    the.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

void clock_end(void)
{
    struct planned *planned;

    while ((planned = first()))
        clock_cancel(planned);
    heap_release(&the.planned);
    for (; the.host_count; the.host_count--) {
        mem_free(the.hosts[the.host_count - 1]->name);
        mem_free(the.hosts[the.host_count - 1]);
    }
    mem_free(TAKE(the.hosts));
}

struct host *clock_new_host(void)
{
    the.hosts = mem_grow(the.hosts, the.host_count + 1, sizeof(struct host *));
    the.hosts[the.host_count] = NEW(struct host);
    return the.hosts[the.host_count++];
}

int64_t clock_now_ms(void)
{
    return the.now_ms;
}

int64_t clock_read_ms(void)
{
    return the.host && the.host->paused_until_ms > the.now_ms ? the.host->paused_until_ms : the.now_ms;
}

int64_t clock_unix_s(void)
{
    return EPOCH_UNIX_S + (the.now_ms - BOOT_MS) / 1000;
}

struct planned *clock_plan(int64_t delay_ms, const struct host *host, clock_fn fn, void *ctx)
{
    struct planned *planned = NEW(struct planned);
    int64_t at_ms = the.now_ms + (delay_ms > 0 ? delay_ms : 0);

    *planned = (struct planned){
        .at_ms = at_ms, .due_ms = at_ms, .number = ++the.numbers, .host = host, .fn = fn, .ctx = ctx};
    put_in(planned);
    return planned;
}

struct planned *clock_plan_timer(int64_t delay_ms, const struct host *host, clock_fn fn, void *ctx)
{
    struct planned *planned = clock_plan(delay_ms, host, fn, ctx);

    planned->is_timer = true; /* which places it no otherwise as long as it is not put off */
    return planned;
}

void clock_cancel(struct planned *planned)
{
    if (!planned)
        return;
    take_out(planned);
    mem_free(planned);
}

/* What a paused host would have done is put off. */
static bool put_off(struct planned *planned)
{
    if (!planned->host || planned->host->paused_until_ms <= planned->at_ms)
        return false;
    planned->at_ms = planned->host->paused_until_ms;
    put_in(planned);
    return true;
}

bool clock_step(void)
{
    struct planned *planned;

    while ((planned = first())) {
        struct planned now = *planned;

        take_out(planned);
        if (put_off(planned))
            continue;
        mem_free(planned);
        the.now_ms = now.at_ms;
        the.host = now.host;
        now.fn(now.ctx);
        return true;
    }
    return false;
}

const struct host *clock_host(void)
{
    return the.host;
}

/* ---- dice: splitmix64 ---- */

uint32_t next_random(void)
{
    uint64_t z = the.random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

uint32_t dice_below(uint32_t limit)
{
    return limit ? next_random() % limit : 0;
}

int64_t dice_between(int64_t low, int64_t high)
{
    return low + (int64_t)dice_below((uint32_t)(high - low + 1));
}

bool dice_permille(unsigned chance)
{
    return chance > 0 && dice_below(1000) < chance;
}
