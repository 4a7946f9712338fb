/* What an API server reports about an object's names, labels and annotations, and about the names in pods,
 * before it asks the operator. Names become names of files and hosts here. Pure. */
#pragma once

#include "local/job/objects.h"

void metadata_check(const struct object *object, struct strv *problems);
