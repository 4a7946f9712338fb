/* One collective operation of one thread: it announces itself, waits until all participants have announced
 * theirs, compares their arguments, and moves the data. Its owner, the engine, decides when it makes
 * progress. */
#ifndef POPDIST_CALL_H
#define POPDIST_CALL_H

#include "popdist/src/core/exchange.h"
#include "popdist/src/core/match.h"
#include "popdist/src/core/control_send.h"

enum call_state { CALL_GATHERING, CALL_EXCHANGING, CALL_SENDING, CALL_DONE };

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
    enum popdist_status status;
    struct popdist_error *error; /* the caller's: for the error message */
};

/* The data fits into the announcements. */
bool call_is_small(const struct call *call);
/* What this instance announces to the others. */
struct wire_message call_announcement(const struct call *call);

/* Makes as much progress as possible. The status says whether the *backend* failed; call->status has the
 * result of the operation once call->state is CALL_DONE. */
enum popdist_status call_step(struct call *call, const struct link *link, int64_t now_ms, bool *moved,
                              struct popdist_error *error);
/* After a failure while data was moving, the memory and messages of the two sides no longer match. */
bool call_left_unmatched_data(const struct call *call);
void call_fail(struct call *call, enum popdist_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
