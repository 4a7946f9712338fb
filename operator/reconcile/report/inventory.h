/* The partitions on all V-IPU controllers and what the operator knows about them: the list /partitions of the
 * leader, which the subcommands for partitions without a record read as well. */
#pragma once

#include "operator/api/page.h"

struct reconciler;

void inventory_list(const void *reconciler, struct page_snapshot *ret);
/* {"controllers": [{"name": "host:port", "up": bool}], "partitions": [{"controller", "id", "ipus", "gcds",
 * "state"}]}. A partition with a record has "job" ("namespace/name"), "instance" and "releasing" too. One
 * without has "couldBeOf", jobs that could have a partition with this id, and "pod", which was started on it
 * and may be running. */
void inventory_print(struct reconciler *reconciler, const struct page_snapshot *snapshot,
                     const struct page_request *request, cJSON *out);
