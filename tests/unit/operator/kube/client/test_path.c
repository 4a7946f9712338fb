#include "operator/kube/client/path.h"

#include "lib/check.h"

TEST(paths_name_objects_and_collections)
{
    static const struct {
        const struct kube_resource *resource;
        const char *ns, *name, *sub, *want;
    } rows[] = {
        {&KUBE_PODS, NULL, NULL, NULL, "/api/v1/pods"},
        {&KUBE_PODS, "n", "p", NULL, "/api/v1/namespaces/n/pods/p"},
        {&KUBE_NODES, NULL, "node-1", "status", "/api/v1/nodes/node-1/status"},
        {&KUBE_IPUJOBS, "n", "j", "status", "/apis/graphcore.ai/v1alpha1/namespaces/n/ipujobs/j/status"},
        {&KUBE_PODS, "a/b", "..?c", NULL, "/api/v1/namespaces/a%2Fb/pods/..%3Fc"},
    };

    CHECK_ROWS (row, rows) {
        struct str path = {0};

        kube_path_add(&path, row->resource, row->ns, row->name, row->sub);
        CHECK_STR_EQ(str_text(&path), row->want);
        str_release(&path);
    }
}

TEST(api_versions_leave_out_the_core_group)
{
    struct str version = {0};

    kube_api_version_add(&version, &KUBE_PODS);
    str_addc(&version, ' ');
    kube_api_version_add(&version, &KUBE_LEASES);
    CHECK_STR_EQ(str_text(&version), "v1 coordination.k8s.io/v1");
    str_release(&version);
}
