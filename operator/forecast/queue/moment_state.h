/* What holds IPUs and who waits at one moment. */
#pragma once

#include "operator/forecast/queue/queue_order.h"
#include "operator/forecast/place/occupancy.h"

#define SLOT_RUNNING (1u << 31) /* in slot.source */

/* What holds IPUs. */
struct slot {
    struct forecast_block block;
    uint32_t controller, size, ns;
    uint32_t source; /* number of its claim, or of its entry in `running` with SLOT_RUNNING;
                          FORECAST_NONE: the slot is free */
    uint32_t instance;
    uint32_t key;    /* see occupancy.h */
    int64_t bound_s; /* from the plan's now: what the key is a correction of; FORECAST_UNKNOWN: no bound */
    int64_t hard_s;  /* likewise, by its deadline alone */
    uint32_t end;    /* of the projection */
    uint32_t next;   /* free slot */
};

struct moment {
    const struct forecast_input *input;
    const struct queue_order *queue;
    uint32_t now; /* seconds from the plan's now */
    struct occupancy occupancy;
    struct slot *slots;
    uint32_t slot_count, slots_max, free_slot;
    uint32_t *left;    /* per claim: its instances that wait in line */
    uint32_t *started; /* per claim: its instances that got IPUs here */
    uint32_t *ns_ipus; /* per namespace: IPUs in use */
    uint32_t
        *ns_reserved; /* likewise, reserved at this moment: later claims do not use up the quota for it */
    /* Since moment_begin(): */
    uint64_t strict;    /* the controllers where nothing passes the first that waits */
    uint64_t closed;    /* those of them where one waits */
    uint64_t unsettled; /* the controllers where a claim that must wait gets a reservation, or closes it */
    uint64_t unsure;    /* the controllers where a claim waits that has no promise: it may take any block */
    bool has_yielded;   /* one would have started, had it not broken a promise made to a later claim */
    /* Of before, without those of claims that have been served; and of now. */
    struct forecast_reservation *prior, *reserved;
    uint32_t prior_count, reserved_count;
    uint32_t *log; /* slots that were filled, in order */
    uint32_t log_count;
    uint32_t *limits;      /* per controller and size: place_limit() */
    uint8_t *limits_known; /* likewise */
};

/* The key of what starts and ends at these seconds from the plan's now. */
uint32_t moment_key(int64_t bound_s, int64_t start_s);
/* Seconds from the plan's now as a time. */
int64_t moment_time(const struct moment *b, int64_t since_now);
uint32_t moment_depth(const struct moment *b); /* reservations per controller */
uint32_t moment_next_instance(const struct moment *b, uint32_t claim);
/* Whether a claim with this prior reservation, of which a promise is kept, would break one that was made to a
 * later claim, if it had this block until then. Who has no promise to wait for has precedence. */
bool moment_breaks_promise(const struct moment *b, const struct forecast_reservation *own,
                           uint32_t controller, const struct forecast_block *block, uint32_t until);
/* IPUs of this controller were taken, released or fenced. */
void moment_note_change(struct moment *b, uint32_t controller);
