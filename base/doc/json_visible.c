#include "base/core/visible.h"
#include "base/doc/json.h"

static void make_visible(cJSON *node, const char *kept)
{
    char *text;

    if (!cJSON_IsString(node) || visible_is(node->valuestring, kept))
        return;
    text = visible_new(node->valuestring, kept);
    mem_free(node->valuestring);
    node->valuestring = text;
}

/* cJSON reads and copies trees of a limited depth only. */
void json_make_visible(cJSON *tree, const char *kept)
{
    make_visible(tree, kept);
    for (cJSON *child = tree ? tree->child : NULL; child; child = child->next)
        json_make_visible(child, kept);
}
