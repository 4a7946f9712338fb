/* Every partition of every V-IPU controller, from the last lists, and its owner: for the page /partitions,
 * which the subcommands for partitions without a record read as well. */
#pragma once

#include "operator/api/page.h"

struct reconciler;

/* {"controllers": [{"name": "host:port", "up": bool}], "partitions": [{"controller", "id", "ipus", "gcds",
 * "state"}]}. A partition with a record has "job" ("namespace/name"), "instance" and "releasing" too. One
 * without has "couldBeOf", jobs that could have a partition with this id, and "pod", which was started on it
 * and may be running. "continue": there are more partitions. Caller frees. NULL: the page's token is invalid.
 */
cJSON *inventory_print(const struct reconciler *reconciler, const struct page_request *page, struct err *err);
