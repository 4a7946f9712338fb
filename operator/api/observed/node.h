/* The operator's view of a node: whether pods of a V-IPU controller can run there, and whether it is certain
 * that nothing of an earlier boot still runs there. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

struct node {
    char *name;
    int64_t version;      /* resource version; 0: not a number */
    char *boot_id;        /* changes with every boot */
    int64_t boot_version; /* the node's resource version when this boot was first seen; 0: not a number */
    bool out_of_service;  /* taint node.kubernetes.io/out-of-service: an admin confirms that it is down */
    bool ready;
    cJSON *labels;
};

struct node *node_parse(const cJSON *object);
void node_free(struct node *node);
bool node_has_label(const struct node *node, const char *key, const char *value);

static inline void node_auto(struct node **node)
{
    node_free(*node);
}
