/* What an object of the API may tell to support: nothing that a user has written into it as a
 * value for a program. Pure. */
#pragma once

#include "base/doc/json.h"

#define REDACTED "(left out)"

/* Leaves out the words of commands, the values of variables, annotations that are not the operator's, and
 * managedFields, wherever they stand in the object. */
void redact_object(cJSON *object);
