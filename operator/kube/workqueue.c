#include "operator/kube/workqueue.h"

#include <string.h>

#include "base/core/backoff.h"
#include "base/core/heap.h"
#include "base/core/map.h"
#include "base/core/mem.h"

static const struct backoff FAILURE = {.first_ms = 5, .max_ms = 120000};

struct entry {
    char *key;
    unsigned failures;
    bool is_ready, is_taken;
    bool is_wanted; /* added while taken: ready again after workqueue_done */
    int64_t due_ms; /* while delayed */
    struct heap_node delayed;
    struct entry *next; /* in its namespace's line */
};

/* The ready keys of one namespace. Lines form a ring, and workqueue_get serves them in turn. */
struct line {
    char *ns;
    struct entry *first, *last;
    struct line *next, *prev;
};

struct workqueue {
    struct map entries;
    struct map lines;
    struct line *turn;   /* whose turn it is; NULL: nothing is ready */
    struct heap delayed; /* earliest first */
    size_t ready_count, taken_count;
};

struct workqueue *workqueue_new(void)
{
    return NEW(struct workqueue);
}

static void entry_free(struct entry *entry)
{
    mem_free(entry->key);
    mem_free(entry);
}

void workqueue_free(struct workqueue *workqueue)
{
    void *value;

    if (workqueue == NULL)
        return;
    for (size_t i = 0; map_next(&workqueue->entries, &i, NULL, &value);)
        entry_free(value);
    for (size_t i = 0; map_next(&workqueue->lines, &i, NULL, &value);) {
        mem_free(((struct line *)value)->ns);
        mem_free(value);
    }
    map_release(&workqueue->entries);
    map_release(&workqueue->lines);
    heap_release(&workqueue->delayed);
    mem_free(workqueue);
}

static struct entry *entry_for(struct workqueue *workqueue, const char *key)
{
    struct entry *entry = map_get(&workqueue->entries, key);

    if (entry == NULL) {
        entry = NEW(struct entry);
        entry->key = mem_strdup(key);
        map_set(&workqueue->entries, key, entry);
    }
    return entry;
}

static bool is_delayed(const struct entry *entry)
{
    return entry->delayed.at > 0;
}

/* A key that is nowhere and has no failures to remember needs no entry. */
static void forget_if_idle(struct workqueue *workqueue, struct entry *entry)
{
    if (entry->is_ready || entry->is_taken || is_delayed(entry) || entry->failures > 0)
        return;
    map_remove(&workqueue->entries, entry->key);
    entry_free(entry);
}

/* --- delayed keys --- */

static bool is_earlier(const struct heap_node *a, const struct heap_node *b)
{
    return CONTAINER_OF(a, struct entry, delayed)->due_ms < CONTAINER_OF(b, struct entry, delayed)->due_ms;
}

static void delay(struct workqueue *workqueue, struct entry *entry, int64_t due_ms)
{
    entry->due_ms = due_ms;
    heap_put(&workqueue->delayed, &entry->delayed, is_earlier);
}

static void end_delay(struct workqueue *workqueue, struct entry *entry)
{
    heap_remove(&workqueue->delayed, &entry->delayed, is_earlier);
}

static struct entry *first_delayed(const struct workqueue *workqueue)
{
    struct heap_node *first = heap_first(&workqueue->delayed);

    return first ? CONTAINER_OF(first, struct entry, delayed) : NULL;
}

/* --- the lines of ready keys --- */

static char *ns_of(const char *key)
{
    const char *slash = strchr(key, '/');

    return mem_strndup(key, slash != NULL ? (size_t)(slash - key) : 0);
}

/* A new line goes last: just before the one whose turn it is. */
static struct line *line_new(struct workqueue *workqueue, const char *ns)
{
    struct line *line = NEW(struct line);

    line->ns = mem_strdup(ns);
    line->next = workqueue->turn != NULL ? workqueue->turn : line;
    line->prev = workqueue->turn != NULL ? workqueue->turn->prev : line;
    line->next->prev = line;
    line->prev->next = line;
    if (workqueue->turn == NULL)
        workqueue->turn = line;
    map_set(&workqueue->lines, ns, line);
    return line;
}

static void line_free(struct workqueue *workqueue, struct line *line)
{
    if (workqueue->turn == line)
        workqueue->turn = line->next != line ? line->next : NULL;
    line->prev->next = line->next;
    line->next->prev = line->prev;
    map_remove(&workqueue->lines, line->ns);
    mem_free(line->ns);
    mem_free(line);
}

static void make_ready(struct workqueue *workqueue, struct entry *entry)
{
    AUTO(mem) char *ns = ns_of(entry->key);
    struct line *line = map_get(&workqueue->lines, ns);

    if (line == NULL)
        line = line_new(workqueue, ns);
    entry->is_ready = true;
    entry->next = NULL;
    *(line->last != NULL ? &line->last->next : &line->first) = entry;
    line->last = entry;
    workqueue->ready_count++;
}

static struct entry *line_take(struct workqueue *workqueue, struct line *line)
{
    struct entry *entry = line->first;

    line->first = entry->next;
    entry->is_ready = false;
    workqueue->ready_count--;
    if (line->first == NULL)
        line_free(workqueue, line);
    return entry;
}

/* --- operations --- */

void workqueue_add(struct workqueue *workqueue, const char *key)
{
    struct entry *entry = entry_for(workqueue, key);

    end_delay(workqueue, entry);
    if (entry->is_taken)
        entry->is_wanted = true;
    else if (!entry->is_ready)
        make_ready(workqueue, entry);
}

void workqueue_add_after(struct workqueue *workqueue, const char *key, int64_t due_ms)
{
    struct entry *entry = entry_for(workqueue, key);

    if (entry->is_ready || entry->is_wanted)
        return;
    if (is_delayed(entry)) {
        if (entry->due_ms <= due_ms)
            return;
        end_delay(workqueue, entry);
    }
    delay(workqueue, entry, due_ms);
}

int64_t workqueue_add_rate_limited(struct workqueue *workqueue, const char *key, int64_t now_ms,
                                   uint32_t random)
{
    struct entry *entry = entry_for(workqueue, key);
    int64_t delay_ms = backoff_delay_ms(&FAILURE, ++entry->failures, random);

    workqueue_add_after(workqueue, key, now_ms + delay_ms);
    return delay_ms;
}

void workqueue_forget(struct workqueue *workqueue, const char *key)
{
    struct entry *entry = map_get(&workqueue->entries, key);

    if (entry == NULL)
        return;
    entry->failures = 0;
    forget_if_idle(workqueue, entry);
}

static void promote(struct workqueue *workqueue, int64_t now_ms)
{
    struct entry *entry;

    while ((entry = first_delayed(workqueue)) && entry->due_ms <= now_ms) {
        end_delay(workqueue, entry);
        if (entry->is_taken)
            entry->is_wanted = true;
        else
            make_ready(workqueue, entry);
    }
}

const char *workqueue_get(struct workqueue *workqueue, int64_t now_ms)
{
    struct line *line;
    struct entry *entry;

    promote(workqueue, now_ms);
    if ((line = workqueue->turn) == NULL)
        return NULL;
    workqueue->turn = line->next;
    entry = line_take(workqueue, line);
    entry->is_taken = true;
    workqueue->taken_count++;
    return entry->key;
}

void workqueue_done(struct workqueue *workqueue, const char *key)
{
    struct entry *entry = map_get(&workqueue->entries, key);

    if (entry == NULL || !entry->is_taken)
        return;
    entry->is_taken = false;
    workqueue->taken_count--;
    if (entry->is_wanted)
        make_ready(workqueue, entry);
    entry->is_wanted = false;
    forget_if_idle(workqueue, entry);
}

int64_t workqueue_due_ms(const struct workqueue *workqueue, int64_t now_ms)
{
    const struct entry *first = first_delayed(workqueue);

    if (workqueue->ready_count > 0)
        return 0;
    if (!first)
        return -1;
    return first->due_ms <= now_ms ? 0 : first->due_ms;
}

size_t workqueue_len(const struct workqueue *workqueue)
{
    return workqueue->ready_count;
}
