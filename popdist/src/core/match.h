/* Matches the participants of operations. The n-th call of this instance with a key belongs to the n-th
 * announcement of each other participant with that key; which comes first does not matter. Pure.
 *
 * A call that times out before all have announced theirs leaves a skip: the missing participants will still
 * announce theirs, and that announcement must not be matched with a later call. */
#ifndef POPDIST_MATCH_H
#define POPDIST_MATCH_H

#include <stdalign.h>

#include "popdist/src/core/group.h"
#include "popdist/src/core/wire.h"

/* Announcements of one instance that no call has matched yet; more than that many are an error, because
 * every one stands for a thread that waits there. */
#define MATCH_EARLY_MAX 65536

enum announcement_state {
    ANNOUNCED,
    ABORT_PREPARED, /* its caller timed out and collects votes: nobody may begin */
    ABORTED
};

struct match_announcement {
    struct match_announcement *next;
    uint32_t instance;
    uint32_t tag;
    struct layout layout;
    enum announcement_state state;
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
    uint32_t missing;                         /* how many are missing */
    uint32_t prepared;                        /* how many are in ABORT_PREPARED */
    const struct match_announcement *aborted; /* one of them that was aborted, or NULL */
    bool begun;                               /* it is too late to abort; set by the caller */
    struct match_entry *match_entry;
    struct match_op *next;
};

struct match; /* zeroed before first use */

enum popdist_status match_new(struct match **ret, struct popdist_error *error);
void match_free(struct match *match); /* all turnouts must be closed; accepts NULL */

enum popdist_status match_open(struct match *match, struct match_op *op, struct popdist_error *error);
/* An announcement of this instance has arrived. POPDIST_BROKEN: it is invalid. */
enum popdist_status match_take(struct match *match, const struct wire_message *message, uint32_t instance,
                               struct popdist_error *error);
/* A message about an announcement has arrived. False: the call that it belongs to has begun here, or ended.
 */
bool match_set_state(struct match *match, const struct wire_message *message, uint32_t instance,
                     enum announcement_state state);
/* An announcement that no call of this instance has matched and that was not aborted, and its key; or NULL.
 */
const struct match_announcement *match_find_early(const struct match *match, const char **ret_key,
                                                  size_t *ret_key_size);
/* Ends the call, complete or not, and frees what arrived for it. */
enum popdist_status match_close(struct match_op *op, struct popdist_error *error);

#endif
