/* Whether an operator runs, while a verb shows changes. One that has ended changes nothing: it is looked for
 * by time. */
#pragma once

#include "kubectl/shell/session.h"

struct watch;

struct silence {
    struct session *session;
    const struct watch *controllers; /* NULL: they may not be listed, and nothing is known */
    void (*on_look)(void *ctx); /* draw again: it has ended or is back, or on a terminal ages have changed */
    void *ctx;
    struct loop_timer timer;
    bool is_soon;
    char *last_sign; /* of an operator that has ended; else NULL */
};

/* To be called when a controller changes, and once when all are known. */
void silence_look_soon(struct silence *silence);
void silence_release(struct silence *silence);
void silence_put(const struct silence *silence, cJSON *report);
/* For a terminal, whose standard error is drawn over. */
void silence_add(const struct silence *silence, struct str *out);
