/* A control message on its way to several instances. It lives until all of them have it, also when the call
 * that sent it is over. */
#ifndef POPDIST_POST_H
#define POPDIST_POST_H

#include "popdist/src/group.h"
#include "popdist/src/stream.h"
#include "popdist/src/wire.h"

struct control_send {
    struct control_send *next;
    bool held;     /* somebody waits for it and will let go of it */
    uint32_t left; /* participants who do not have it */
    uint32_t count;
    struct popdist_request *requests;
    uint8_t *bytes;
};

/* Sends to all participants but this instance. On failure *ret may hold what has begun. */
enum popdist_status control_send_start(const struct wire_message *message, const struct group *group,
                                       const struct link *link, struct control_send **ret,
                                       struct popdist_error *error);
enum popdist_status control_send_step(struct control_send *control_send, const struct link *link, bool *moved,
                                      struct popdist_error *error);
void control_send_free(struct control_send *control_send);

#endif
