/* Which of many jobs are the first ones in the queue, found one by one. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Half of the jobs that are selected are the first of all. The others are the first of each group, in equal
 * shares: the crowd of one keeps nobody of another out. */
#define CLAIM_GROUPS 16u

/* In the order of claims_decide; no two are equal. */
struct claim_key {
    int32_t priority;
    int64_t turn_s;
    uint64_t arrival;
};

struct claim_group {
    struct claim_key *keys; /* a heap, with the last one on top */
    size_t count, share;    /* of at most so many */
};

struct claim_selection {
    struct claim_group all, groups[CLAIM_GROUPS];
};

/* Of so many jobs, for so many groups that have any. Drops what it has. */
void claim_selection_begin(struct claim_selection *selection, size_t jobs, size_t groups);
void claim_selection_add(struct claim_selection *selection, uint32_t group, const struct claim_key *key);
/* Of all that were added, is it selected? Who was not added counts, too. */
bool claim_selection_has(const struct claim_selection *selection, uint32_t group,
                         const struct claim_key *key);
size_t claim_selection_groups(const struct claim_selection *selection); /* that have jobs */
void claim_selection_release(struct claim_selection *selection);
