/* Moves the messages of all operations of this instance. It knows no threads and no clock: its owner, the
 * engine, calls it from one thread at a time and passes the time. Pure but for the backend's calls.
 *
 * If data stops moving in the middle of an operation, or the backend fails, it is broken: nothing is sent or
 * received any more (so nothing is written into memory of operations that have ended), and every further
 * call says why. */
#ifndef POPDIST_PUMP_H
#define POPDIST_PUMP_H

#include "popdist/src/core/call.h"

struct progress_engine {
    struct link link;
    struct match *match;
    struct call *calls; /* not done */
    struct control_send *posts;
    uint32_t next_tag;
    int64_t now_ms;              /* of the last poll that found no message: what has arrived counts first */
    struct popdist_error broken; /* status POPDIST_OK: it is not */
    void (*ended)(void *owner, struct call *call);
    void *owner;
    uint8_t taken[POPDIST_CONTROL_MAX];
};

/* ended is called when a call is done; it must not call the progress engine. */
enum popdist_status progress_engine_init(struct progress_engine *progress, const struct link *link,
                                         void (*ended)(void *, struct call *), void *owner,
                                         struct popdist_error *error);
/* There must be no open call. A broken one keeps what the backend may still read. */
void progress_engine_release(struct progress_engine *progress);

/* Announces the call, whose turnout, layout, subject, data and error are set. It is registered until it is
 * done; on failure it is not registered. */
enum popdist_status progress_engine_begin(struct progress_engine *progress, struct call *call, int64_t now_ms,
                                          int64_t timeout_ms, struct popdist_error *error);
/* From now on it is broken, for this reason. */
void progress_engine_stop(struct progress_engine *progress, const char *reason);
/* Checks everything once. False: nothing has happened. */
bool progress_engine_poll(struct progress_engine *progress, int64_t now_ms);

#endif
