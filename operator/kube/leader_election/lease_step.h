/* What a candidate for a lease does next. Pure: it is told what a read or a write brought and what time it
 * is, and answers what to do. Time is the local clock only: another holder's record counts from when we last
 * saw it change. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/doc/json.h"

#define LEASE_RELEASED_DURATION_S                                                                            \
    1 /* how long a lease lasts that nobody holds; tells a clean end from a hand's */

/* The fields of a Lease that matter; strings are borrowed. */
struct lease_record {
    const char *resource_version;
    const char *holder; /* "" when nobody is named */
    int64_t duration_ms;
    int64_t transitions;
};

struct lease_state {
    const char *self; /* borrowed */
    int64_t duration_ms, renew_deadline_ms, retry_ms;

    char *resource_version; /* of the record as we know it; NULL: none, read first */
    int64_t transitions;
    char *other;           /* who held it when we last looked; NULL: nobody */
    int64_t other_seen_ms; /* when we last saw that record change */
    int64_t other_lasts_ms;
    int64_t known_ms; /* when we last saw that somebody has it, or took it; -1: never */
    bool is_held;
    bool is_releasing;  /* giving it back */
    int64_t renewed_ms; /* when the last successful renewal was sent */
    int64_t sent_ms;    /* when the write in flight was sent */
    struct err trouble; /* why reads or writes fail; ERR_NONE: they do not */
};

enum lease_action {
    LEASE_READ,
    LEASE_CREATE,
    LEASE_WRITE,   /* our name into the known version: renew or take over */
    LEASE_RELEASE, /* an empty holder into the known version */
    LEASE_WAIT,    /* look again after wait_ms */
    LEASE_END,     /* given back, or nothing to give back */
};

struct lease_output {
    enum lease_action act;
    int64_t wait_ms;
    bool has_started, was_lost; /* report these */
};

void lease_state_init(struct lease_state *state, const char *self);
void lease_state_release(struct lease_state *state);

/* Time has come (at the start, after LEASE_WAIT, or because lease_deadline_ms passed while a request is in
 * flight). */
void lease_on_time(struct lease_state *state, int64_t now_ms, struct lease_output *ret);
/* A read ended. record NULL: err says why (ERR_NOT_FOUND: there is none). */
void lease_on_read(struct lease_state *state, const struct lease_record *record, const struct err *err,
                   int64_t now_ms, struct lease_output *ret);
/* A create, write or release ended; record as for reads. sent_ms of the state must be when it was sent. */
void lease_on_written(struct lease_state *state, const struct lease_record *record, const struct err *err,
                      int64_t now_ms, struct lease_output *ret);
/* Start giving it back; while no read is in flight. The answer to a write is awaited: it may make it ours. */
void lease_begin_release(struct lease_state *state, bool is_writing, struct lease_output *ret);

/* For how long a request may wait for its answer. A holder's as long as it holds: where requests take
 * seconds, the answer to the first one comes, and that to a second one would come too late. */
int64_t lease_request_timeout_ms(const struct lease_state *state, int64_t now_ms);
bool lease_state_is_held(const struct lease_state *state, int64_t clock_ms);
/* Who leads is known: it is ours, or was somebody's within the time that a lease lasts. */
bool lease_state_is_known(const struct lease_state *state, int64_t clock_ms);
/* When holding must end unless a renewal succeeds before; INT64_MAX when not held. */
int64_t lease_deadline_ms(const struct lease_state *state);

/* False when the object is no Lease. */
bool lease_record_read(const cJSON *lease, struct lease_record *ret);
