/* The one rule by which a claim starts or gets a reservation. Who is asked in which order is the caller's
 * part: every claim in turn (moment_serve_line), or only those that can start (picker.h), with the same
 * result. Pure. */
#pragma once

#include "operator/forecast/queue/moment_state.h"

size_t moment_lay_out(struct moment *b, const struct forecast_input *input, const struct queue_order *queue,
                      void *memory);
void moment_init(struct moment *b);
/* A copy at the same moment, in memory of its own that was laid out for it. */
void moment_copy(struct moment *to, const struct moment *from);

/* Begins to serve the line at this moment: forgets fences and remembers what was reserved. */
void moment_begin(struct moment *b, uint32_t now);
/* Whether this group's claims with this end have to be asked: they can start, or would get a reservation. */
bool moment_asks_everybody(const struct moment *b, const struct group *g);
bool moment_is_over_quota(const struct moment *b, const struct group *g);
/* Who of the group ends by the result can start; 0: nobody, KEY_GONE: everybody. */
uint32_t moment_limit(struct moment *b, const struct group *g);
uint32_t moment_end_of(const struct moment *b, const struct group *g, uint32_t claim);
/* Starts its next instance, else reserves for it. True if it started. */
bool moment_serve(struct moment *b, uint32_t claim);
/* Asks all of the line, in turn. `again`: as many numbers as there are claims, for the time of the call. */
void moment_serve_line(struct moment *b, uint32_t *again);

void moment_release(struct moment *b, uint32_t slot);
void moment_correct(struct moment *b, uint32_t slot); /* its bound has passed: the next one counts */
