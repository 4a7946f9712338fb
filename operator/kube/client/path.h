/* Paths of objects and collections in the Kubernetes API. */
#pragma once

#include "base/core/str.h"
#include "operator/kube/client/resource.h"

/* Appends "/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUB" with every outside part percent-encoded. Parts
 * that are NULL are left out; `name` NULL addresses the collection, `ns` NULL all namespaces or a
 * cluster-wide kind. */
void kube_path_add(struct str *out, const struct kube_resource *resource, const char *ns, const char *name,
                   const char *sub);
