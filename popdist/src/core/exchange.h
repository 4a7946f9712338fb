/* The data of one operation, once all participants are known to take part and to agree. Broadcast is a chain
 * from the root; all-gather sends each part directly to everyone; all-reduce cuts the elements into one
 * segment per participant, which sums it chunk by chunk while chunks arrive and sends the sums back. Each
 * number is summed in one place, so all instances get the same bits. Only the others' summands are copied.
 * Pure but for the backend's calls. */
#ifndef POPDIST_EXCHANGE_H
#define POPDIST_EXCHANGE_H

#include "popdist/src/core/group.h"
#include "popdist/src/core/stream.h"
#include "popdist/src/core/wire.h"

/* Tags that one operation may use, from its own one up. */
#define EXCHANGE_TAGS 2

struct exchange {
    struct layout layout;
    const struct group *group;
    uint8_t *data;  /* all-gather: the parts of all */
    size_t reduced; /* chunks of this instance's segment */
    uint8_t *summands;
    const void **sources;
    struct stream *streams; /* by kind and rank, see exchange.c; size 0: not used */
    size_t stream_count;
};

/* tags: by rank, the tag that each participant expects its data with. data and group must outlive the
 * exchange. */
enum popdist_status exchange_start(struct exchange *exchange, const struct layout *layout,
                                   const struct group *group, const uint32_t *tags, void *data,
                                   struct popdist_error *error);
void exchange_release(struct exchange *exchange);

enum popdist_status exchange_step(struct exchange *exchange, const struct link *link, bool *moved,
                                  struct popdist_error *error);
bool exchange_is_done(const struct exchange *exchange);

#endif
