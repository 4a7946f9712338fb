/* The admin's request to start nothing new on a V-IPU controller, or on some of its IPU-Link domains: the
 * annotation graphcore.ai/cordon of a VIPUController. Pure. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"
#include "vipu/placement/pool.h"

struct cordon {
    bool is_whole;       /* the whole controller */
    struct strv domains; /* else these; none: there is no cordon */
};

/* "true", or names of domains that commas or spaces separate; NULL, "" and "false" are no cordon. */
void cordon_parse(const char *text, struct cordon *ret);
struct cordon cordon_copy(const struct cordon *from);
void cordon_release(struct cordon *cordon);
DEFINE_AUTO(cordon);
bool cordon_is_set(const struct cordon *cordon);

/* "ild0", or "CLUSTER/ild0" if the controller has several clusters. Owned by the caller. */
char *cordon_domain_name(const struct vipu_pool_view *view, const struct vipu_pool_domain *domain);
/* Whether new partitions can be kept off single domains: their places and their cluster must be known. Else a
 * cordon of some domains is one of the whole controller. */
bool cordon_can_steer(const struct vipu_pool_view *view);
/* Removes what is cordoned from the view's free IPUs. */
void cordon_apply(const struct cordon *cordon, struct vipu_pool_view *view);
/* Adds the names that are no domain's. */
void cordon_find_unknown(const struct cordon *cordon, const struct vipu_pool_view *view, struct strv *ret);
