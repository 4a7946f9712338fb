/* Matches the participants of operations. The n-th call of this instance with a key belongs to the n-th
 * announcement of each other participant with that key; which comes first does not matter. Pure.
 *
 * A call that times out before all have announced theirs leaves a debt: the missing participants will still
 * announce theirs, and that announcement must not be matched with a later call. */
#ifndef POPDIST_MATCH_H
#define POPDIST_MATCH_H

#include <stdalign.h>

#include "popdist/src/core/group.h"
#include "popdist/src/core/wire.h"

/* Announcements of one instance that no call has matched yet; more than that many are an error, because
 * every one stands for a thread that waits there. */
#define MATCH_EARLY_MAX 65536

struct match_announcement {
    struct match_announcement *next;
    uint32_t instance;
    uint32_t tag;
    struct layout layout;
    bool withdrawn;
    size_t size;
    alignas(16) uint8_t payload[];
};

/* One call of this instance; embedded in the call. */
struct match_op {
    const char *key;
    size_t key_size;
    const struct group *group;
    struct match_announcement *
        *from; /* by rank; those that have arrived. The caller provides group->count pointers, all NULL */
    uint32_t missing;                           /* how many are missing */
    const struct match_announcement *withdrawn; /* one that arrived and was withdrawn, or NULL */
    struct match_entry *match_entry;
    struct match_op *next;
};

struct match; /* zeroed before first use */

enum popdist_status match_new(struct match **ret, struct popdist_error *error);
void match_free(struct match *match); /* all turnouts must be closed; accepts NULL */

enum popdist_status match_open(struct match *match, struct match_op *op, struct popdist_error *error);
/* A message of this instance has arrived. POPDIST_BROKEN: it is invalid. */
enum popdist_status match_take(struct match *match, const struct wire_message *message, uint32_t instance,
                               struct popdist_error *error);
/* Ends the call, complete or not, and frees what arrived for it. */
enum popdist_status match_close(struct match_op *op, struct popdist_error *error);

#endif
