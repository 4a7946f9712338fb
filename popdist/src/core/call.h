/* One collective operation of one thread: it announces itself, waits until all participants have announced
 * theirs, compares their arguments, and moves the data. Its owner, the engine, decides when it makes
 * progress. */
#ifndef POPDIST_CALL_H
#define POPDIST_CALL_H

#include "popdist/src/core/exchange.h"
#include "popdist/src/core/match.h"
#include "popdist/src/core/control_send.h"

/* A call that has gathered all announcements begins: from then on it cannot be aborted. One that times out
 * before asks all participants to vote (CALL_VOTING). If nobody has begun, it is aborted on all instances;
 * otherwise it goes on, because what it misses is on its way. */
enum call_state { CALL_GATHERING, CALL_VOTING, CALL_EXCHANGING, CALL_SENDING, CALL_DONE };

/* An answer comes from the library, whatever the program does, so its lack means that the instance is lost.
 */
#define CALL_ANSWER_MS 10000

struct call {
    struct call *next; /* for its owner */
    struct match_op match_op;
    struct layout layout;
    const char *subject; /* its name for users */
    void *data;
    uint32_t tag;
    enum call_state state;
    struct exchange exchange;
    struct control_send *announcement;
    int64_t deadline_ms, timeout_ms;
    enum wire_kind tells;   /* what its owner must send to the others now */
    uint32_t missing_votes; /* of this instance's vote to abort */
    bool objected;          /* an instance has voted no */
    bool is_lost;           /* it ended without a decision, so that the instances no longer match */
    bool is_last;           /* this instance makes no call after it */
    enum popdist_status status;
    struct popdist_error *error; /* the caller's: for the error message */
};

/* What this instance announces to the others. */
struct wire_message call_announcement(const struct call *call);

/* Makes as much progress as possible. The status says whether the *backend* failed; call->status has the
 * result of the operation once call->state is CALL_DONE. */
enum popdist_status call_step(struct call *call, const struct link *link, int64_t now_ms, bool *moved,
                              struct popdist_error *error);
void call_take_vote(struct call *call, bool yes);
/* After a failure while data was moving, the memory and messages of the two sides no longer match. */
bool call_left_unmatched_data(const struct call *call);
void call_fail(struct call *call, enum popdist_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
