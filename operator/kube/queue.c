#include "operator/kube/queue.h"

#include <string.h>

#include "base/core/backoff.h"
#include "base/core/map.h"
#include "base/core/mem.h"

#define NOT_DELAYED SIZE_MAX

static const struct backoff FAILURE = {.first_ms = 5, .max_ms = 120000};

struct entry {
    char *key;
    unsigned failures;
    bool is_ready, is_taken;
    bool is_wanted;     /* added while taken: ready again after queue_done */
    int64_t due_ms;     /* while delayed */
    size_t heap_index;  /* NOT_DELAYED, or its place in the heap */
    struct entry *next; /* in its namespace's line */
};

/* The ready keys of one namespace. Lines form a ring, and queue_take serves them in turn. */
struct line {
    char *ns;
    struct entry *first, *last;
    struct line *next, *prev;
};

struct queue {
    struct map entries;
    struct map lines;
    struct line *turn;   /* whose turn it is; NULL: nothing is ready */
    struct entry **heap; /* delayed, earliest first */
    size_t heap_count, heap_cap;
    size_t ready_count, taken_count;
};

struct queue *queue_new(void)
{
    return NEW(struct queue);
}

static void entry_free(struct entry *entry)
{
    mem_free(entry->key);
    mem_free(entry);
}

void queue_free(struct queue *queue)
{
    void *value;

    if (queue == NULL)
        return;
    for (size_t i = 0; map_next(&queue->entries, &i, NULL, &value);)
        entry_free(value);
    for (size_t i = 0; map_next(&queue->lines, &i, NULL, &value);) {
        mem_free(((struct line *)value)->ns);
        mem_free(value);
    }
    map_release(&queue->entries);
    map_release(&queue->lines);
    mem_free(queue->heap);
    mem_free(queue);
}

static struct entry *entry_for(struct queue *queue, const char *key)
{
    struct entry *entry = map_get(&queue->entries, key);

    if (entry == NULL) {
        entry = NEW(struct entry);
        entry->key = mem_strdup(key);
        entry->heap_index = NOT_DELAYED;
        map_set(&queue->entries, key, entry);
    }
    return entry;
}

static bool is_delayed(const struct entry *entry)
{
    return entry->heap_index != NOT_DELAYED;
}

/* A key that is nowhere and has no failures to remember needs no entry. */
static void forget_if_idle(struct queue *queue, struct entry *entry)
{
    if (entry->is_ready || entry->is_taken || is_delayed(entry) || entry->failures > 0)
        return;
    map_remove(&queue->entries, entry->key);
    entry_free(entry);
}

/* --- the heap of delayed keys --- */

static void heap_place(struct queue *queue, struct entry *entry, size_t at)
{
    queue->heap[at] = entry;
    entry->heap_index = at;
}

static void heap_up(struct queue *queue, struct entry *entry, size_t at)
{
    while (at > 0 && queue->heap[(at - 1) / 2]->due_ms > entry->due_ms) {
        heap_place(queue, queue->heap[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    heap_place(queue, entry, at);
}

static void heap_down(struct queue *queue, struct entry *entry, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < queue->heap_count; at = child) {
        if (child + 1 < queue->heap_count && queue->heap[child + 1]->due_ms < queue->heap[child]->due_ms)
            child++;
        if (queue->heap[child]->due_ms >= entry->due_ms)
            break;
        heap_place(queue, queue->heap[child], at);
    }
    heap_place(queue, entry, at);
}

static void heap_add(struct queue *queue, struct entry *entry, int64_t due_ms)
{
    if (queue->heap_count == queue->heap_cap) {
        queue->heap_cap = queue->heap_cap * 2 + 16;
        queue->heap = mem_grow(queue->heap, queue->heap_cap, sizeof(struct entry *));
    }
    entry->due_ms = due_ms;
    heap_up(queue, entry, queue->heap_count++);
}

static void heap_remove(struct queue *queue, struct entry *entry)
{
    size_t hole = entry->heap_index;
    struct entry *moved = queue->heap[--queue->heap_count];

    entry->heap_index = NOT_DELAYED;
    if (moved == entry)
        return;
    heap_down(queue, moved, hole);
    heap_up(queue, moved, moved->heap_index);
}

/* --- the lines of ready keys --- */

static char *ns_of(const char *key)
{
    const char *slash = strchr(key, '/');

    return mem_strndup(key, slash != NULL ? (size_t)(slash - key) : 0);
}

/* A new line goes last: just before the one whose turn it is. */
static struct line *line_new(struct queue *queue, const char *ns)
{
    struct line *line = NEW(struct line);

    line->ns = mem_strdup(ns);
    line->next = queue->turn != NULL ? queue->turn : line;
    line->prev = queue->turn != NULL ? queue->turn->prev : line;
    line->next->prev = line;
    line->prev->next = line;
    if (queue->turn == NULL)
        queue->turn = line;
    map_set(&queue->lines, ns, line);
    return line;
}

static void line_free(struct queue *queue, struct line *line)
{
    if (queue->turn == line)
        queue->turn = line->next != line ? line->next : NULL;
    line->prev->next = line->next;
    line->next->prev = line->prev;
    map_remove(&queue->lines, line->ns);
    mem_free(line->ns);
    mem_free(line);
}

static void make_ready(struct queue *queue, struct entry *entry)
{
    AUTO(mem) char *ns = ns_of(entry->key);
    struct line *line = map_get(&queue->lines, ns);

    if (line == NULL)
        line = line_new(queue, ns);
    entry->is_ready = true;
    entry->next = NULL;
    *(line->last != NULL ? &line->last->next : &line->first) = entry;
    line->last = entry;
    queue->ready_count++;
}

static struct entry *line_take(struct queue *queue, struct line *line)
{
    struct entry *entry = line->first;

    line->first = entry->next;
    entry->is_ready = false;
    queue->ready_count--;
    if (line->first == NULL)
        line_free(queue, line);
    return entry;
}

/* --- operations --- */

void queue_add(struct queue *queue, const char *key)
{
    struct entry *entry = entry_for(queue, key);

    if (is_delayed(entry))
        heap_remove(queue, entry);
    if (entry->is_taken)
        entry->is_wanted = true;
    else if (!entry->is_ready)
        make_ready(queue, entry);
}

void queue_add_at(struct queue *queue, const char *key, int64_t due_ms)
{
    struct entry *entry = entry_for(queue, key);

    if (entry->is_ready || entry->is_wanted)
        return;
    if (is_delayed(entry)) {
        if (entry->due_ms <= due_ms)
            return;
        heap_remove(queue, entry);
    }
    heap_add(queue, entry, due_ms);
}

int64_t queue_add_failed(struct queue *queue, const char *key, int64_t now_ms, uint32_t dice)
{
    struct entry *entry = entry_for(queue, key);
    int64_t delay_ms = backoff_delay_ms(&FAILURE, ++entry->failures, dice);

    queue_add_at(queue, key, now_ms + delay_ms);
    return delay_ms;
}

void queue_forget(struct queue *queue, const char *key)
{
    struct entry *entry = map_get(&queue->entries, key);

    if (entry == NULL)
        return;
    entry->failures = 0;
    forget_if_idle(queue, entry);
}

static void promote(struct queue *queue, int64_t now_ms)
{
    while (queue->heap_count > 0 && queue->heap[0]->due_ms <= now_ms) {
        struct entry *entry = queue->heap[0];

        heap_remove(queue, entry);
        if (entry->is_taken)
            entry->is_wanted = true;
        else
            make_ready(queue, entry);
    }
}

const char *queue_take(struct queue *queue, int64_t now_ms)
{
    struct line *line;
    struct entry *entry;

    promote(queue, now_ms);
    if ((line = queue->turn) == NULL)
        return NULL;
    queue->turn = line->next;
    entry = line_take(queue, line);
    entry->is_taken = true;
    queue->taken_count++;
    return entry->key;
}

void queue_done(struct queue *queue, const char *key)
{
    struct entry *entry = map_get(&queue->entries, key);

    if (entry == NULL || !entry->is_taken)
        return;
    entry->is_taken = false;
    queue->taken_count--;
    if (entry->is_wanted)
        make_ready(queue, entry);
    entry->is_wanted = false;
    forget_if_idle(queue, entry);
}

int64_t queue_due_ms(const struct queue *queue, int64_t now_ms)
{
    if (queue->ready_count > 0)
        return 0;
    if (queue->heap_count == 0)
        return -1;
    return queue->heap[0]->due_ms <= now_ms ? 0 : queue->heap[0]->due_ms;
}

size_t queue_ready(const struct queue *queue)
{
    return queue->ready_count;
}

size_t queue_delayed(const struct queue *queue)
{
    return queue->heap_count;
}

size_t queue_taken(const struct queue *queue)
{
    return queue->taken_count;
}

unsigned queue_failures(const struct queue *queue, const char *key)
{
    const struct entry *entry = map_get(&queue->entries, key);

    return entry != NULL ? entry->failures : 0;
}
