#include "operator/api/observed/node.h"

#include "base/core/mem.h"

static bool has_taint(const cJSON *object, const char *key)
{
    JSON_EACH (taint, json_at(object, "spec/taints")) {
        if (str_eq(json_str(taint, "key", ""), key))
            return true;
    }
    return false;
}

static bool is_ready(const cJSON *object)
{
    JSON_EACH (condition, json_at(object, "status/conditions")) {
        if (str_eq(json_str(condition, "type", ""), "Ready"))
            return str_eq(json_str(condition, "status", ""), "True");
    }
    return false;
}

struct node *node_parse(const cJSON *object)
{
    const char *name = json_str(object, "metadata/name", NULL);
    const cJSON *labels = json_at(object, "metadata/labels");

    if (!name)
        return NULL;

    struct node *node = NEW(struct node);

    node->name = mem_strdup(name);
    node->boot_id = mem_strdup(json_str(object, "status/nodeInfo/bootID", ""));
    parse_i64(json_str(object, "metadata/resourceVersion", ""), 0, INT64_MAX, &node->version);
    node->boot_version = node->version;
    node->out_of_service = has_taint(object, "node.kubernetes.io/out-of-service");
    node->ready = is_ready(object);
    node->labels = labels ? json_dup(labels) : json_object();
    return node;
}

void node_free(struct node *node)
{
    if (!node)
        return;
    mem_free(node->name);
    mem_free(node->boot_id);
    cJSON_Delete(node->labels);
    mem_free(node);
}

bool node_has_label(const struct node *node, const char *key, const char *value)
{
    JSON_EACH (label, node->labels) {
        if (str_eq(json_key(label), key))
            return cJSON_IsString(label) && str_eq(label->valuestring, value);
    }
    return false;
}
