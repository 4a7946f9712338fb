/* The one rule by which a claim starts or gets a reservation. Who is asked in which order is the caller's
 * part: every claim in turn (board_serve_line), or only those that can start (picker.h), with the same
 * result. Pure. */
#pragma once

#include "operator/forecast/board_state.h"

size_t board_lay_out(struct board *b, const struct forecast_input *input, const struct line *line,
                     void *memory);
void board_init(struct board *b);
/* A copy at the same moment, in memory of its own that was laid out for it. */
void board_copy(struct board *to, const struct board *from);

/* Begins to serve the line at this moment: forgets fences and remembers what was reserved. */
void board_begin(struct board *b, uint32_t now);
/* Whether this group's claims with this end have to be asked: they can start, or would get a reservation. */
bool board_asks_everybody(const struct board *b, const struct group *g);
bool board_is_over_quota(const struct board *b, const struct group *g);
/* Who of the group ends by the result can start; 0: nobody, KEY_GONE: everybody. */
uint32_t board_limit(struct board *b, const struct group *g);
uint32_t board_end_of(const struct board *b, const struct group *g, uint32_t claim);
/* Starts its next instance, else reserves for it. True if it started. */
bool board_serve(struct board *b, uint32_t claim);
/* Asks all of the line, in turn. `again`: as many numbers as there are claims, for the time of the call. */
void board_serve_line(struct board *b, uint32_t *again);

void board_release(struct board *b, uint32_t slot);
void board_correct(struct board *b, uint32_t slot); /* its bound has passed: the next one counts */
