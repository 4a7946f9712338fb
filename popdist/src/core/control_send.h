/* A control message that is being sent to several instances. It lives until all of them have it, even if the
 * call that sent it has ended. */
#ifndef POPDIST_POST_H
#define POPDIST_POST_H

#include "popdist/src/core/group.h"
#include "popdist/src/core/stream.h"
#include "popdist/src/core/wire.h"

struct control_send {
    struct control_send *next;
    bool held;     /* a call waits for it and will release it */
    uint32_t left; /* participants that do not have it yet */
    uint32_t count;
    struct popdist_request *requests;
    uint8_t *bytes;
};

/* Sends to all participants but this instance. On failure *ret may hold the sends that were started. */
enum popdist_status control_send_start(const struct wire_message *message, const struct group *group,
                                       const struct link *link, struct control_send **ret,
                                       struct popdist_error *error);
/* Sends to this instance only, and is not held. */
enum popdist_status control_send_to(const struct wire_message *message, uint32_t instance,
                                    const struct link *link, struct control_send **ret,
                                    struct popdist_error *error);
enum popdist_status control_send_step(struct control_send *send, const struct link *link, bool *moved,
                                      struct popdist_error *error);
void control_send_free(struct control_send *send);

#endif
