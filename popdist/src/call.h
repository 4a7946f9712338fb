/* One collective operation of one thread: it announces itself, waits until all participants have come,
 * compares what they want, and moves the data. Its owner, the engine, says when to look again. */
#ifndef POPDIST_CALL_H
#define POPDIST_CALL_H

#include "popdist/src/exchange.h"
#include "popdist/src/match.h"
#include "popdist/src/control_send.h"

enum call_state { CALL_GATHERING, CALL_EXCHANGING, CALL_SENDING, CALL_DONE };

struct call {
    struct call *next; /* for its owner */
    struct match_op match_op;
    struct layout layout;
    const char *subject; /* what the user calls it */
    void *data;
    uint32_t tag;
    enum call_state state;
    struct exchange exchange;
    struct control_send *announcement;
    int64_t deadline_ms, timeout_ms;
    enum popdist_status status;
    struct popdist_error *error; /* the caller's: where a failure is told */
};

/* The data fits into the announcements. */
bool call_is_small(const struct call *call);
/* What this instance tells the others. */
struct wire_message call_announcement(const struct call *call);

/* Goes as far as it can. The status says whether the *backend* failed; what became of the operation stands in
 * call->status once call->state is CALL_DONE. */
enum popdist_status call_step(struct call *call, const struct link *link, int64_t now_ms, bool *moved,
                              struct popdist_error *error);
/* After a failure while data was moving, memory and messages of the two sides no longer agree. */
bool call_left_unmatched_data(const struct call *call);
void call_fail(struct call *call, enum popdist_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
