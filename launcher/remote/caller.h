/* Somebody who has connected to an agent and is not let in yet: it shakes hands, which proves that it has the
 * key, and says what it wants, all within a deadline and in bounded memory. */
#pragma once

#include "launcher/remote/crowd.h"
#include "launcher/remote/endpoint.h"
#include "launcher/remote/link.h"

#define CALLER_DEADLINE_MS 10000
#define CALLER_LINE_MAX_BYTES (128u * 1024u - 1u) /* what the kernel lets one argument have */

struct caller {
    struct crowd_member member;
    char from[ENDPOINT_TEXT_MAX];
    int64_t deadline_ms;
    const struct identity *own; /* the agent's; borrowed */
    struct identity identity;
    enum refusal refusal;
    bool is_admitted; /* its identity is one of ours; whether it has the key is not known yet */
    bool is_linked;
    bool is_waiting; /* for the end of an older attempt */
    struct psk *tls;
    struct link link;
    struct str line; /* of the shell */
};

enum caller_state {
    CALLER_PENDING,
    CALLER_WANTS,   /* to run `line`; link is to be taken */
    CALLER_DONE,    /* it only asked whether we are here */
    CALLER_REFUSED, /* for `refusal` */
};

/* The socket moves in. */
struct caller *caller_new(struct psk_context *context, int fd, const struct identity *own, int64_t now_ms);
void caller_free(struct caller *caller);   /* hangs up */
void caller_forget(struct caller *caller); /* in the process that does not go on with it */

int caller_fd(const struct caller *caller);
short caller_events(const struct caller *caller);
enum caller_state caller_turn(struct caller *caller, int64_t now_ms);
