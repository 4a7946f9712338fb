/* The agents of a controller as ListIPUAttributes returns them: their names, how many IPUs each has, and the
 * attributes of each IPU. Sorted by agent name in natural order (ag2 before ag10); owned contents, freed by
 * vipu_agents_release. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"

struct vipu_attribute {
    char *key;
    char *value;
};

struct vipu_agent_ipu {
    uint32_t id; /* hardware IPU id */
    struct vipu_attribute *attributes;
    size_t attribute_count;
};

struct vipu_agent {
    char *name;
    struct vipu_agent_ipu *ipus; /* sorted by id */
    size_t ipu_count;
};

struct vipu_agents {
    struct vipu_agent *items;
    size_t count;
    uint32_t total_ipus;
};

void vipu_agent_release(struct vipu_agent *agent);
DEFINE_AUTO(vipu_agent);
void vipu_agents_release(struct vipu_agents *agents);
DEFINE_AUTO(vipu_agents);
void vipu_agents_sort(struct vipu_agents *agents); /* also sums total_ipus */
/* Compares names with runs of digits read as numbers; usable with qsort through a wrapper. */
int vipu_name_compare(const char *a, const char *b);
