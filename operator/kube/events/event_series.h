/* Which events are written and when: the same event again is counted and written as a series once in a while,
 * and no object may write without end. Pure: time is an argument. Bounded: at most SERIES_MAX events are
 * remembered. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_MAX 1024u
#define SERIES_PERIOD_MS ((int64_t)60000)  /* between two writes of one event */
#define SERIES_IDLE_MS ((int64_t)360000)   /* forgotten after so long without it event_occurrence */
#define SERIES_BURST 25u                   /* new events of one object at once */
#define SERIES_REFILL_MS ((int64_t)300000) /* until it may have one more */

struct series_table;

struct series {
    const char *key;
    unsigned count;      /* how often it happened */
    int64_t last_micros; /* wall clock of the last time */
};

enum series_action {
    SERIES_CREATE, /* the first time: write the event */
    SERIES_UPDATE, /* write the series now */
    SERIES_LATER,  /* counted; series_due gives it when its time comes */
    SERIES_DROP,   /* over the object's budget, or the table is full */
};

struct series_table *series_new(void);
void series_free(struct series_table *table);

struct event_occurrence {
    const char *key;
    const char *uid; /* of the object that it is about */
    bool is_warning; /* gets a slot in a full table, that of the event that was idle longest */
    int64_t now_ms;
    int64_t wall_micros;
};

/* ret is borrowed until the next call; unset for SERIES_DROP. */
enum series_action series_record(struct series_table *table, const struct event_occurrence *it,
                                 struct series *ret);
/* Gives one series that happened since it was written and whose time has come; marks it written. Forgets idle
 * ones. */
bool series_due(struct series_table *table, int64_t now_ms, struct series *ret);
bool series_is_pending(const struct series_table *table); /* something happened that is not written */
size_t series_count(const struct series_table *table);
