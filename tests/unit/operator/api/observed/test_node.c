#include "operator/api/observed/node.h"

#include "base/core/mem.h"
#include "lib/check.h"

static struct node *parse(const char *text)
{
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK_OK(object, err);
    return node_parse(object);
}

TEST(a_node_is_what_pods_need_to_know_of_it)
{
    AUTO(node)
    struct node *node = parse(
        "{\"metadata\":{\"name\":\"poplar1\",\"resourceVersion\":\"70\",\"labels\":{\"vipu\":\"pod64\","
        "\"kubernetes.io/os\":\"linux\"}},"
        "\"status\":{\"nodeInfo\":{\"bootID\":\"b1\"},\"conditions\":[{\"type\":\"DiskPressure\",\"status\":"
        "\"False\"},{\"type\":\"Ready\",\"status\":\"True\"}]}}");

    CHECK_STR_EQ(node->name, "poplar1");
    CHECK_STR_EQ(node->boot_id, "b1");
    CHECK_INT_EQ(node->version, 70);
    CHECK_INT_EQ(node->boot_version, 70);
    CHECK(node->ready);
    CHECK(!node->out_of_service);
    CHECK(node_has_label(node, "vipu", "pod64"));
    CHECK(node_has_label(node, "kubernetes.io/os", "linux"));
    CHECK(!node_has_label(node, "vipu", "pod16"));
    CHECK(!node_has_label(node, "vip", "pod64"));
}

TEST(the_out_of_service_taint_is_seen_among_others)
{
    AUTO(node)
    struct node *node = parse(
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[{\"key\":\"other\",\"effect\":\"NoSchedule\"},"
        "{\"key\":\"node.kubernetes.io/out-of-service\",\"effect\":\"NoExecute\"}]}}");

    CHECK(node->out_of_service);
    CHECK(!node->ready);
    CHECK_STR_EQ(node->boot_id, "");
    CHECK(!node_has_label(node, "a", "b"));
}

TEST(an_unready_node_is_not_ready)
{
    AUTO(node)
    struct node *node =
        parse("{\"metadata\":{\"name\":\"n\"},\"status\":{\"conditions\":[{\"type\":\"Ready\","
              "\"status\":\"Unknown\"}]}}");

    CHECK(!node->ready);
}

TEST(an_object_without_a_name_is_no_node)
{
    CHECK(!parse("{\"metadata\":{}}"));
    CHECK(!parse("[]"));
}
