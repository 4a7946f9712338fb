/* The controller of an object. Pure. */
#pragma once

#include "base/doc/json.h"

/* The owner reference of the IPUJob that controls the object with this metadata; NULL: none does. */
const cJSON *owner_job(const cJSON *metadata);
