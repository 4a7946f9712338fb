/* Next step of a candidate for a lease. Pure: its input is the result of a read or a write and the time, its
 * output the next action. Time is the local clock only: another holder's record counts from when it was last
 * seen to change. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/doc/json.h"

#define LEASE_RELEASED_DURATION_S                                                                            \
    1 /* duration of a released lease; distinguishes a release from an edit by an admin */

/* What the holder tells the other processes. */
#define LEASE_NOTE "graphcore.ai/leader-note"

/* The fields of a Lease that matter; strings are borrowed. */
struct lease_record {
    const char *resource_version;
    const char *holder; /* "" if none */
    int64_t duration_ms;
    int64_t transitions;
    const char *note; /* the annotation LEASE_NOTE; "" if none */
};

struct lease_state {
    const char *self; /* borrowed */
    int64_t duration_ms, renew_deadline_ms, retry_ms;

    char *resource_version; /* of the last observed record; NULL: none, read first */
    int64_t transitions;
    char *other;           /* last observed holder; NULL if none */
    char *other_note;      /* its note; NULL likewise */
    int64_t other_seen_ms; /* when that record was last seen to change */
    int64_t other_lasts_ms;
    int64_t known_ms; /* when a holder was last known; -1: never */
    bool is_held;
    bool is_releasing;  /* a release has begun */
    int64_t renewed_ms; /* when the last successful renewal was sent */
    int64_t sent_ms;    /* when the write in flight was sent */
    struct err trouble; /* why reads or writes fail; ERR_NONE: they do not */
};

enum lease_action {
    LEASE_READ,
    LEASE_CREATE,
    LEASE_WRITE,   /* this process as holder, on the known version: renew or acquire */
    LEASE_RELEASE, /* an empty holder into the known version */
    LEASE_WAIT,    /* call lease_on_time after wait_ms */
    LEASE_END,     /* released, or nothing to release */
};

struct lease_output {
    enum lease_action act;
    int64_t wait_ms;
    bool has_started, was_lost; /* report these */
};

void lease_state_init(struct lease_state *state, const char *self);
void lease_state_release(struct lease_state *state);

/* A timer has fired (at the start, after LEASE_WAIT, or because lease_deadline_ms passed while a request is
 * in flight). */
void lease_on_time(struct lease_state *state, int64_t now_ms, struct lease_output *ret);
/* A read ended. record NULL: err says why (ERR_NOT_FOUND: there is none). */
void lease_on_read(struct lease_state *state, const struct lease_record *record, const struct err *err,
                   int64_t now_ms, struct lease_output *ret);
/* A create, write or release ended; record as for reads. sent_ms of the state must be when it was sent. */
void lease_on_written(struct lease_state *state, const struct lease_record *record, const struct err *err,
                      int64_t now_ms, struct lease_output *ret);
/* Begins the release; while no read is in flight. A write in flight is awaited: it may acquire the lease. */
void lease_begin_release(struct lease_state *state, bool is_writing, struct lease_output *ret);

/* For how long a request may wait for its answer. A holder's as long as it holds: where requests take
 * seconds, the answer to the first one comes, and that to a second one would come too late. */
int64_t lease_request_timeout_ms(const struct lease_state *state, int64_t now_ms);
bool lease_state_is_held(const struct lease_state *state, int64_t clock_ms);
/* The leader is known: this process, or another holder seen within the duration of a lease. */
bool lease_state_is_known(const struct lease_state *state, int64_t clock_ms);
/* When holding must end unless a renewal succeeds before; INT64_MAX when not held. */
int64_t lease_deadline_ms(const struct lease_state *state);

/* False if the object is not a Lease. */
bool lease_record_read(const cJSON *lease, struct lease_record *ret);
