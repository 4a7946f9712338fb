/* What the leader tells others in an annotation of its lease: the largest partition, because it alone sends
 * requests to V-IPU controllers, and a key. Who shows the key may read the pages that name jobs: it can read
 * the lease. Pure. */
#pragma once

#include <stdint.h>

char *leader_note_print(uint32_t largest_partition, const char *key); /* owned by the caller */
uint32_t leader_note_largest_partition(const char *note);             /* 0: unknown; accepts NULL */
const char *leader_note_key(const char *note); /* borrowed; NULL: it has none; likewise */
