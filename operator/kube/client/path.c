#include "operator/kube/client/path.h"

#include "base/http/http_client.h"

static void add_part(struct str *out, const char *part)
{
    if (part == NULL)
        return;
    str_addc(out, '/');
    http_add_escaped(out, part);
}

void kube_path_add(struct str *out, const struct kube_resource *resource, const char *ns, const char *name,
                   const char *sub)
{
    str_adds(out, resource->group[0] == '\0' ? "/api/" : "/apis/");
    kube_api_version_add(out, resource);
    if (ns != NULL) {
        str_adds(out, "/namespaces");
        add_part(out, ns);
    }
    add_part(out, resource->plural);
    add_part(out, name);
    add_part(out, sub);
}
