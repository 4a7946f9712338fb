/* What a site of several teams accounts for: IPUs and IPU-seconds of each namespace, and how jobs ended.
 * Pure. Counters begin at zero in each process; Prometheus adds them up over restarts. */
#pragma once

#include <stdint.h>

#include "base/core/map.h"
#include "operator/api/job/job.h"
#include "operator/api/partition/record.h"
#include "operator/api/reasons.h"

/* Namespaces with numbers of their own. Those that get IPUs after these count together. */
#define ACCOUNTING_NAMESPACES_MAX 500
#define ACCOUNTING_OTHERS "(others)" /* no name of a namespace */

struct account {
    uint32_t ipus;   /* held now, until the partition is being removed */
    uint64_t ipu_ms; /* up to since_ms */
    int64_t since_ms;
};

struct accounting {
    struct map accounts; /* namespace -> struct account, owned */
    uint64_t completed;  /* jobs, seen to end by this process */
    /* By index in `reasons`, and after them those with a reason that is not in the table; owned; NULL: none.
     */
    uint64_t *failed;
    uint64_t *restarts; /* of instances, likewise */
};

/* The key of a namespace in a map that counts by namespace: its own, or that of the others behind the limit.
 */
const char *accounting_name(const struct map *by_name, const char *ns);
/* A change of a record; NULL: there is none. */
void accounting_note_record(struct accounting *accounting, const struct record *old, const struct record *new,
                            int64_t now_ms);
/* A change of a job that existed before. */
void accounting_note_job(struct accounting *accounting, const struct job *old, const struct job *new);
void accounting_note_restart(struct accounting *accounting, const char *reason);
double account_ipu_seconds(const struct account *account, int64_t now_ms);
void accounting_release(struct accounting *accounting);
