/* Every partition of every V-IPU controller, as the last lists have them, and whose it is: for the page
 * /partitions, which the verbs for partitions without a record read as well. */
#pragma once

#include "base/doc/json.h"

struct reconciler;

/* {"controllers": [{"name": "host:port", "up": bool}], "partitions": [{"controller", "id", "ipus", "gcds",
 * "state"}]}. One with a record has "job" ("namespace/name"), "instance" and "releasing" too. One without has
 * "couldBeOf", jobs that could have a partition of this id, and "pod", which was started on it and may still
 * run. Yours. */
cJSON *inventory_print(const struct reconciler *reconciler);
