/* The next step of a list-watch. Pure: it receives what arrived (an event of the stream, the end of a page,
 * the end of a request) and returns what to do to the store and when to send the next request; time and
 * jitter are arguments.
 *
 * A position is the resource version after which nothing was missed. It is lost only if the server says that
 * it expired; until then every failure is followed by a new request from there, without a list. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/json.h"

/* Objects of a page. After large ones, or a page that failed, fewer are asked for: an API server ends a
 * request after a minute, and other clients of this process wait while a page is read. */
#define WATCH_PAGE_LIMIT 500u
#define WATCH_PAGE_LEAST 5u
#define WATCH_PAGE_BYTES ((size_t)8 << 20)

enum watch_phase {
    WATCH_STREAM_LIST, /* a watch that first sends what is there */
    WATCH_PAGES,       /* plain lists, page by page */
    WATCH_FOLLOW,      /* a watch from a position */
};

struct watch_state {
    const char *kind; /* borrowed: events of other kinds are skipped */
    enum watch_phase phase;
    char *position;       /* NULL: none */
    char *list_position;  /* of the list whose pages we read */
    char *continue_token; /* NULL: the first page is next */
    bool is_listed;       /* one complete list was read */
    bool is_stream_rejected;
    unsigned page_limit;
    bool needs_full_list;    /* pages expired under us: the next list comes in one piece */
    bool is_renewed;         /* the credentials were read again for this 401 */
    bool was_silent;         /* a proxy may answer without the server */
    bool is_long;            /* this request may last minutes */
    bool supports_bookmarks; /* this request does, or the last one did to its end */
    unsigned stream_failures;
    unsigned failures; /* in a row */
    uint64_t expirations;
    int64_t sent_ms;
    uint64_t events; /* of this request */
    struct err trouble;
};

enum watch_input_kind {
    WATCH_INPUT_SEND,    /* the time to ask has come: fills nothing but the state */
    WATCH_INPUT_SETTLED, /* a successful response started some seconds ago and continues, with or without an
                            event */
    WATCH_INPUT_EVENT,   /* object: one event of the stream */
    WATCH_INPUT_PAGE,    /* object: the envelope of a complete page */
    WATCH_INPUT_CLOSED,  /* the request is over; err: ERR_NONE after a complete 200 */
    WATCH_INPUT_IDLE,    /* no byte for too long; the request was ended by us */
};

struct watch_input {
    enum watch_input_kind what;
    const cJSON *object;
    size_t items, bytes;    /* of WATCH_INPUT_PAGE: its objects */
    const struct err *err;  /* of WATCH_INPUT_CLOSED; code is the HTTP status */
    int64_t retry_after_ms; /* -1: none */
    int64_t now_ms;
    uint32_t random;
};

enum watch_effect {
    WATCH_EFFECT_NONE,
    WATCH_EFFECT_LIST_BEGIN,
    WATCH_EFFECT_PUT,
    WATCH_EFFECT_DELETE,
    WATCH_EFFECT_LIST_END,
    WATCH_EFFECT_SKIP, /* an event of unknown type or wrong kind */
};

struct watch_output {
    enum watch_effect effect;
    const cJSON *item; /* of PUT and DELETE: borrowed from the input */
    bool finish;       /* end the current request now; no WATCH_INPUT_CLOSED for it */
    bool renew;        /* read the credentials again before asking */
    int64_t wait_ms;   /* >= 0: ask again after so long; -1: go on as it is */
};

void watch_state_init(struct watch_state *state, const char *kind);
void watch_state_release(struct watch_state *state);
void watch_step(struct watch_state *state, const struct watch_input *input, struct watch_output *ret);

/* The query of the next request: key, value, key, value. Selectors may be NULL. dice spreads the
 * reconnections. */
void watch_query(const struct watch_state *state, const char *label_selector, const char *field_selector,
                 uint32_t random, struct strv *ret);
/* Longer than the server may hold the request that watch_query describes. */
int64_t watch_timeout_ms(const struct watch_state *state);
