/* The network between the operators and the servers: messages take time, and according to the seed's
 * fault_rates they are lost, late, repeated or never answered. http.c (base/http/http_client.h) and vipu.c
 * (vipu/client/client.h) send through it; both replace the real ones at link time, so that everything above
 * them runs unchanged.
 *
 * One world at a time: `net` is its network. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "local/api/api.h"
#include "fakes/clock.h"
#include "fakes/sim_vipu.h"

/* Chances in a thousand messages. */
struct fault_rates {
    unsigned lost;    /* never arrives */
    unsigned mute;    /* arrives and takes effect; the answer does not come */
    unsigned late;    /* takes its time, up to and beyond the sender's patience */
    unsigned twice;   /* takes effect twice */
    unsigned busy;    /* the server asks for patience (429), or fails (500) */
    unsigned broken;  /* of a watch's lines: the connection ends in the middle of one */
    unsigned stalled; /* of a watch's lines: nothing comes any more, not even the end */
    unsigned gone;    /* of a watch's lines: the position has expired */
    unsigned stopped; /* of plans: the process is stopped between deciding and acting */
    unsigned behind;  /* of watches: the server has to catch up first, and sends nothing for a while */
};

/* What becomes of one message. */
struct delivery {
    bool arrives, answers, twice;
    int64_t out_ms, back_ms, twice_ms;
    int64_t breaks_ms; /* no answer: the connection is seen to break then; -1: never */
};

struct http_message;
struct rpc_message;

struct net {
    struct api *api;
    struct fault_rates fault_rates;
    int64_t api_down_until_ms;
    int64_t trial_ms; /* a dry run is answered up to so much later: webhooks take their time */
    struct http_message *http_messages;
    struct sim_vipu *sides;
    size_t side_count;
    struct rpc_message *rpc_messages;
    /* Counts what an operator has learned that it has not caused itself, and failures, so that plans between
     * which there was none can be compared. */
    uint64_t news;
    bool lists_are_news; /* partitions may change by themselves */
    bool is_answering;   /* what changes at the API server now is an operator's own doing */
    /* A message leaves a process; false: the process has died before. */
    bool (*leaves)(void *ctx, struct host *host, const char *what, bool is_write);
    /* A request is about to be answered, or a V-IPU write to be carried out. */
    void (*on_request)(void *ctx, const struct api_request *request);
    void (*on_vipu_write)(void *ctx, struct sim_vipu *side, const struct vipu_order *order);
    /* The uid of a partition's record as it is now, borrowed; NULL: it has none. */
    const char *(*record_of)(void *ctx, const char *id);
    void *ctx;
};

extern struct net *net;

struct delivery net_delivery(bool is_vipu);
void net_drop_messages(struct net *net); /* http.c: what is on the way is lost */
/* A request for a pod that contains that text is on its way to the API server. Those of the job with that
 * uid do not count. */
bool net_awaits_pod(const struct net *net, const char *text, const char *job_uid);
void net_drop_rpc_messages(struct net *net); /* vipu.c: likewise */
