/* Every partition of every V-IPU controller, from the last lists, and its owner: for the page /partitions,
 * which the subcommands for partitions without a record read as well. */
#pragma once

#include "base/doc/json.h"

struct reconciler;

/* {"controllers": [{"name": "host:port", "up": bool}], "partitions": [{"controller", "id", "ipus", "gcds",
 * "state"}]}. A partition with a record has "job" ("namespace/name"), "instance" and "releasing" too. One
 * without has "couldBeOf", jobs that could have a partition with this id, and "pod", which was started on it
 * and may be running. Caller frees. */
cJSON *inventory_print(const struct reconciler *reconciler);
