/* The order in which claims are served, and the groups of those that differ only in order and bound: same
 * size, same controllers, same quota. What a group cannot start, none of its claims can. Pure. */
#pragma once

#include "operator/forecast/forecast.h"

struct group {
    uint64_t controllers; /* bit per controller that is usable and could hold the size; 0: not in line */
    uint64_t eligible;
    uint32_t size;
    uint32_t size_number; /* of its size among all sizes in line */
    uint32_t ns;          /* whose quota counts; FORECAST_NONE: none */
    bool is_predicted;    /* run times count as bounds at each of its controllers */
    uint8_t cause;        /* why it is not in line: enum forecast_cause */
};

struct queue_order {
    const struct forecast_input *input;
    uint32_t count;
    uint32_t *order;    /* claims in turn */
    uint32_t *left;     /* per claim: its instances that wait in line */
    uint32_t *group_of; /* per claim */
    uint16_t
        *classes; /* per claim: even if guarded, else odd; two for each priority, the less is served first */
    struct group *groups;
    uint32_t group_count, size_count;
};

/* As in occupancy.h. */
size_t queue_order_lay_out(struct queue_order *queue, const struct forecast_input *input, void *memory);
void queue_order_init(struct queue_order *queue, const struct forecast_input *input);
