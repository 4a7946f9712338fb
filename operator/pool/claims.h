/* Who gets IPUs next. Pure. Per controller first come, first served: nothing passes a claim that could use
 * that controller, so a large job is never starved by small ones behind it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "vipu/model/pool.h"

/* What is known of one V-IPU controller now. Borrowed. */
struct claims_controller {
    const char *name;                  /* "host:port" */
    bool is_known;                     /* it has told its partitions and IPUs, and not too long ago */
    const char *trouble;               /* why not, or NULL */
    const char *trouble_since;         /* "since 10:02:11Z", or NULL */
    bool has_nodes;                    /* some node carries its label, or it needs none */
    const char *node_label;            /* "key=value", for the message; NULL when it needs none */
    const struct vipu_pool_view *pool; /* with what is reserved already taken; total_ipus 0: size unknown */
    const char *holders; /* who holds its IPUs: "default/a (32), default/b (16)"; NULL: nobody */
};

struct claim {
    const char *job; /* "namespace/name" */
    const char *uid;
    uint32_t instance;
    int64_t created_s;
    uint64_t arrival; /* which was heard of first, within the second that creation times are told in */
    uint32_t size;
    bool is_ready; /* false: its template is still being judged; its place and its room are kept, no more */
    const bool *eligible; /* per controller; NULL: all */
};

struct claim_verdict {
    int controller;     /* index of the one that has room for it; -1: wait */
    const char *reason; /* CamelCase constant; NULL when granted, or when there is nothing to tell yet */
    char *text;         /* a sentence without period, owned; NULL likewise */
};

/* Sorts the claims in place, the oldest first, and fills verdicts[i] for claims[i]. */
void claims_decide(struct claim *claims, size_t count, const struct claims_controller *controllers,
                   size_t controller_count, struct claim_verdict *verdicts);
