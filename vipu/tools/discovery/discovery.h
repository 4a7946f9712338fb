/* Finds the partition that the environment names and what is known of its IPUs: reads IPUoF files or asks
 * the controller. The first view is the active one, if there is one; the others follow by name. A partition
 * whose devices cannot be used now (it is in error, or being reset) has a view without IPUs and with the
 * reason. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "vipu/model/agents.h"
#include "vipu/tools/devices/gcd_view.h"
#include "vipu/tools/discovery/partition_source.h"

#define DISCOVERY_MAX_FILES 4096u

struct discovery_options {
    const char *user_agent;
    const char *const *folders; /* of IPUoF files, strongest first; ends with NULL */
    bool all;                   /* every partition, not only the active one */
    bool attributes;            /* ask the controller about each IPU too */
};

struct discovery {
    struct gcd_view *views;
    size_t count;
    struct vipu_agents agents; /* the views borrow from these */
};

/* False with a sentence if nothing was found. With `all`, it is no failure if there are no partitions. */
MUST_USE bool discover(const struct partition_source *source, const struct discovery_options *options,
                       struct discovery *ret, struct err *err);
void discovery_add_take(struct discovery *discovery, struct gcd_view *view);
void discovery_release(struct discovery *discovery);
DEFINE_AUTO(discovery);
const struct gcd_view *discovery_active(const struct discovery *discovery); /* NULL: there is none */
