/* The waiting claims in a form that finds the next one that can start without asking the others: per group
 * sorted by bound, with the first in turn of each range of bounds. Serves a moment as moment_serve_line()
 * does. Pure. */
#pragma once

#include "operator/forecast/queue/moment.h"

struct picker {
    uint32_t count;
    uint32_t *claims; /* by group, then bound; a place here is the number of a claim of the picker */
    uint32_t *bounds; /* likewise, in seconds after a start; UINT32_MAX: none */
    uint32_t *places; /* per claim of the input: its place */
    struct picker_group {
        uint32_t group, first, count;
    } * groups;
    uint32_t group_count;
    uint32_t *group_numbers; /* per group of the line: its number here */
    /* Tickets order claims: class, order within, claim. A segment tree of tickets per group. */
    uint64_t *fresh; /* the trees of the first moment */
    uint64_t *trees;
    uint32_t last_turn;
    uint64_t *parked; /* tickets of those that were asked in vain at this moment */
    uint32_t parked_count;
};

size_t picker_lay_out(struct picker *p, const struct moment *b, uint32_t claims_max, void *memory);
/* The first `claims_max` in turn that wait, with as many as all. */
void picker_init(struct picker *p, const struct moment *b, uint32_t claims_max);
void picker_restart(struct picker *p); /* before the first moment is served: all of them wait */
/* Serves them in the moment, which was begun. */
void picker_serve(struct picker *p, struct moment *b);
