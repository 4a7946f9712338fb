/* What the leader tells others in an annotation of its lease: the largest partition, because it alone sends
 * requests to V-IPU controllers, how many instances wait, what templates take, and a key. Who shows the key
 * may read the pages that name jobs: it can read the lease. Pure. */
#pragma once

#include <stdint.h>

/* counts: as queue_sum_up (operator/reconcile/report/queue.h) prints them. Owned by the caller. */
char *leader_note_print(uint32_t largest_partition, const char *counts, const char *key);
uint32_t leader_note_largest_partition(const char *note); /* 0: unknown; accepts NULL */
/* Zero for a namespace that is not among those with most; likewise. */
void leader_note_read_counts(const char *note, const char *ns, uint32_t *ret_in_namespace,
                             uint32_t *ret_total, uint32_t *ret_template_kib);
const char *leader_note_key(const char *note); /* borrowed; NULL: it has none; likewise */
