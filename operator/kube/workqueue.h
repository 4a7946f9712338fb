/* A work queue of keys without duplicates. A key is waiting, delayed, or taken; added while taken it runs
 * once more after workqueue_done. Pure: time and dice are arguments. Keys are "namespace/name"; among ready
 * keys the namespaces take turns, and inside a namespace first come is first served. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct workqueue;

struct workqueue *workqueue_new(void);
void workqueue_free(struct workqueue *workqueue);

void workqueue_add(struct workqueue *workqueue, const char *key); /* ready now */
void workqueue_add_after(struct workqueue *workqueue, const char *key,
                         int64_t due_ms); /* the earliest wins */
/* Adds after the key's own back-off: 5 ms after its first failure, doubling to 2 min, with jitter. Returns
 * the delay. */
int64_t workqueue_add_rate_limited(struct workqueue *workqueue, const char *key, int64_t now_ms,
                                   uint32_t random);
void workqueue_forget(struct workqueue *workqueue,
                      const char *key); /* success: the next failure starts at 5 ms again */

/* The next key, borrowed until its workqueue_done; NULL when none is ready. It is not given out again before
 * workqueue_done. */
const char *workqueue_get(struct workqueue *workqueue, int64_t now_ms);
void workqueue_done(struct workqueue *workqueue, const char *key);

/* When workqueue_get will next have something: 0 when now, -1 when nothing is waiting, else a time. */
int64_t workqueue_due_ms(const struct workqueue *workqueue, int64_t now_ms);
size_t workqueue_len(const struct workqueue *workqueue);
