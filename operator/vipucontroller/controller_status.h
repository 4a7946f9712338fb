/* The status of a VIPUController, made of what the operator knows of the V-IPU controller. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"
#include "operator/forecast/forecast.h"
#include "operator/forecast/share_list.h"
#include "operator/pool/cordon.h"
#include "operator/vipucontroller/controller_start.h"

#define CONTROLLER_PARTITIONS_MAX 2000u
#define CONTROLLER_HOLDERS_MAX 100u
#define CONTROLLER_SHARES_MAX 20u
#define CONTROLLER_VERSION_MAX 64u /* bytes; a longer one is not shown */
/* The time of the last answer moves on this often while nothing else changes. */
#define CONTROLLER_ANSWER_S 60

/* Which names of IPUJobs everybody sees who may read a VIPUController. */
enum controller_visibility { CONTROLLER_NAMES, CONTROLLER_NAMESPACES, CONTROLLER_SIZES };
extern const char *const CONTROLLER_VISIBILITIES[]; /* their words, then NULL */

struct controller_partition {
    const struct vipu_partition *listed;
    bool is_ours;
    const char *job_ns, *job_key; /* NULL: no job has it, or has it any more */
    int64_t until_s; /* must have released its IPUs by then; FORECAST_UNKNOWN: nothing ends it for sure */
};

/* Borrowed. All zero: the configuration has no such controller. */
struct controller_facts {
    const char *address; /* "host:port" */
    bool is_known;       /* its partitions and IPUs are known, and recent enough */
    const char *trouble; /* why not, or NULL */
    bool is_rejected;    /* it answers, but not this client */
    bool chooses;        /* it does not honour places, as far as it has shown */
    int64_t listed_unix_s;
    const char *version; /* NULL: it has not told */
    const struct cordon *cordon;
    const struct vipu_pool_view *pool; /* with the cordon applied */
    uint32_t waiting;                  /* instances that may get IPUs here */
    struct controller_partition *partitions;
    size_t partition_count;
    const struct controller_start *starts; /* of new jobs, by size */
    size_t start_count;                    /* 0: not known yet */
    const struct share_list *shares;       /* of the queue, which all controllers share; NULL: none */
};

struct controller_publication {
    enum controller_visibility visibility;
    bool hides_address;
};

/* `before` is the present status or NULL. Owned by the caller. */
cJSON *controller_status(const struct controller_facts *facts, const struct controller_publication *how,
                         const cJSON *before, int64_t now_unix_s);
