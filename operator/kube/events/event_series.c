#include "operator/kube/events/event_series.h"

#include "base/core/map.h"
#include "base/core/mem.h"

struct entry {
    char *key;
    unsigned count, written_count;
    int64_t happened_ms, written_ms;
    int64_t last_micros;
};

struct budget {
    char *uid;
    unsigned spent;
    int64_t refilled_ms;
};

struct series_table {
    struct map entries;
    struct map budgets;
};

struct series_table *series_new(void)
{
    return NEW(struct series_table);
}

static void entry_free(struct entry *entry)
{
    mem_free(entry->key);
    mem_free(entry);
}

static void budget_free(struct budget *budget)
{
    mem_free(budget->uid);
    mem_free(budget);
}

void series_free(struct series_table *table)
{
    void *value;

    if (table == NULL)
        return;
    for (size_t i = 0; map_next(&table->entries, &i, NULL, &value);)
        entry_free(value);
    for (size_t i = 0; map_next(&table->budgets, &i, NULL, &value);)
        budget_free(value);
    map_release(&table->entries);
    map_release(&table->budgets);
    mem_free(table);
}

static void refill(struct budget *budget, int64_t now_ms)
{
    int64_t earned = (now_ms - budget->refilled_ms) / SERIES_REFILL_MS;

    budget->refilled_ms += earned * SERIES_REFILL_MS;
    budget->spent = earned < budget->spent ? budget->spent - (unsigned)earned : 0;
}

static bool spend(struct series_table *table, const char *uid, int64_t now_ms)
{
    struct budget *budget = map_get(&table->budgets, uid);

    if (budget == NULL) {
        budget = NEW(struct budget);
        *budget = (struct budget){.uid = mem_strdup(uid), .refilled_ms = now_ms};
        map_set(&table->budgets, uid, budget);
    }
    refill(budget, now_ms);
    if (budget->spent >= SERIES_BURST)
        return false;
    budget->spent++;
    return true;
}

static bool is_idle(const struct entry *entry, int64_t now_ms)
{
    return entry->count == entry->written_count && now_ms - entry->happened_ms >= SERIES_IDLE_MS;
}

static struct entry *find_idle(const struct series_table *table, int64_t now_ms)
{
    void *value;

    for (size_t i = 0; map_next(&table->entries, &i, NULL, &value);)
        if (is_idle(value, now_ms))
            return value;
    return NULL;
}

/* A budget that is full again says nothing that a missing one does not. */
static struct budget *find_full(const struct series_table *table, int64_t now_ms)
{
    void *value;

    for (size_t i = 0; map_next(&table->budgets, &i, NULL, &value);) {
        refill(value, now_ms);
        if (((struct budget *)value)->spent == 0)
            return value;
    }
    return NULL;
}

static void entry_forget(struct series_table *table, struct entry *entry)
{
    map_remove(&table->entries, entry->key);
    entry_free(entry);
}

static void budget_forget(struct series_table *table, struct budget *budget)
{
    map_remove(&table->budgets, budget->uid);
    budget_free(budget);
}

/* One at a time, since the tables must not change while they are walked. */
static void forget_old(struct series_table *table, int64_t now_ms)
{
    struct entry *entry;
    struct budget *budget;

    while ((entry = find_idle(table, now_ms)) != NULL)
        entry_forget(table, entry);
    while ((budget = find_full(table, now_ms)) != NULL)
        budget_forget(table, budget);
}

static struct entry *find_quietest(const struct series_table *table)
{
    struct entry *quietest = NULL;
    void *value;

    for (size_t i = 0; map_next(&table->entries, &i, NULL, &value);) {
        struct entry *entry = value;
        bool is_written = entry->count == entry->written_count;

        if (is_written && (quietest == NULL || entry->happened_ms < quietest->happened_ms))
            quietest = entry;
    }
    return quietest;
}

static struct budget *find_least_spent(const struct series_table *table)
{
    struct budget *least = NULL;
    void *value;

    for (size_t i = 0; map_next(&table->budgets, &i, NULL, &value);) {
        struct budget *budget = value;

        if (least == NULL || budget->spent < least->spent)
            least = budget;
    }
    return least;
}

static bool is_full(const struct series_table *table)
{
    return table->entries.count >= SERIES_MAX || table->budgets.count >= SERIES_MAX;
}

static void make_room(struct series_table *table, const struct event_occurrence *it)
{
    struct entry *entry;

    if (is_full(table))
        forget_old(table, it->now_ms);
    if (!is_full(table) || !it->is_warning)
        return;
    entry = table->entries.count >= SERIES_MAX ? find_quietest(table) : NULL;
    if (entry != NULL)
        entry_forget(table, entry);
    if (table->budgets.count >= SERIES_MAX)
        budget_forget(table, find_least_spent(table));
}

static void fill(const struct entry *entry, struct series *ret)
{
    *ret = (struct series){.key = entry->key, .count = entry->count, .last_micros = entry->last_micros};
}

static void mark_written(struct entry *entry, int64_t now_ms)
{
    entry->written_count = entry->count;
    entry->written_ms = now_ms;
}

static enum series_action first_time(struct series_table *table, const struct event_occurrence *it,
                                     struct series *ret)
{
    struct entry *entry;

    make_room(table, it);
    if (is_full(table) || !spend(table, it->uid, it->now_ms))
        return SERIES_DROP;
    entry = NEW(struct entry);
    *entry = (struct entry){
        .key = mem_strdup(it->key), .count = 1, .happened_ms = it->now_ms, .last_micros = it->wall_micros};
    mark_written(entry, it->now_ms);
    map_set(&table->entries, it->key, entry);
    fill(entry, ret);
    return SERIES_CREATE;
}

enum series_action series_record(struct series_table *table, const struct event_occurrence *it,
                                 struct series *ret)
{
    struct entry *entry = map_get(&table->entries, it->key);

    if (entry == NULL)
        return first_time(table, it, ret);
    entry->count++;
    entry->happened_ms = it->now_ms;
    entry->last_micros = it->wall_micros;
    fill(entry, ret);
    if (it->now_ms - entry->written_ms < SERIES_PERIOD_MS)
        return SERIES_LATER;
    mark_written(entry, it->now_ms);
    return SERIES_UPDATE;
}

bool series_due(struct series_table *table, int64_t now_ms, struct series *ret)
{
    void *value;

    forget_old(table, now_ms);
    for (size_t i = 0; map_next(&table->entries, &i, NULL, &value);) {
        struct entry *entry = value;

        if (entry->count == entry->written_count || now_ms - entry->written_ms < SERIES_PERIOD_MS)
            continue;
        mark_written(entry, now_ms);
        fill(entry, ret);
        return true;
    }
    return false;
}

bool series_is_pending(const struct series_table *table)
{
    void *value;

    for (size_t i = 0; map_next(&table->entries, &i, NULL, &value);) {
        const struct entry *entry = value;

        if (entry->count != entry->written_count)
            return true;
    }
    return false;
}

size_t series_count(const struct series_table *table)
{
    return table->entries.count;
}
