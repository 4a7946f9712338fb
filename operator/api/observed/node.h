/* What the operator knows of a node: can pods of a V-IPU controller run there, and is it certain that nothing
 * of an earlier boot runs there any more. Pure. */
#pragma once

#include <stdbool.h>

#include "base/doc/json.h"

struct node {
    char *name;
    char *boot_id;       /* changes with every boot */
    bool out_of_service; /* taint node.kubernetes.io/out-of-service: an admin vouches that it is down */
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
