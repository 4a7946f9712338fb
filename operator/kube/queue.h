/* A work queue of keys without duplicates. A key is waiting, delayed, or taken; added while taken it runs
 * once more after queue_done. Pure: time and dice are arguments. Keys are "namespace/name"; among ready keys
 * the namespaces take turns, and inside a namespace first come is first served. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue;

struct queue *queue_new(void);
void queue_free(struct queue *queue);

void queue_add(struct queue *queue, const char *key);                    /* ready now */
void queue_add_at(struct queue *queue, const char *key, int64_t due_ms); /* the earliest wins */
/* Adds after the key's own back-off: 5 ms after its first failure, doubling to 2 min, with jitter. Returns
 * the delay. */
int64_t queue_add_failed(struct queue *queue, const char *key, int64_t now_ms, uint32_t dice);
void queue_forget(struct queue *queue, const char *key); /* success: the next failure starts at 5 ms again */

/* The next key, borrowed until its queue_done; NULL when none is ready. It is not given out again before
 * queue_done. */
const char *queue_take(struct queue *queue, int64_t now_ms);
void queue_done(struct queue *queue, const char *key);

/* When queue_take will next have something: 0 when now, -1 when nothing is waiting, else a time. */
int64_t queue_due_ms(const struct queue *queue, int64_t now_ms);
size_t queue_ready(const struct queue *queue);
size_t queue_delayed(const struct queue *queue);
size_t queue_taken(const struct queue *queue);
unsigned queue_failures(const struct queue *queue, const char *key); /* in a row */
