/* Whether an operator runs, as far as everybody may see it: it writes into the VIPUControllers. Pure. */
#pragma once

#include "base/doc/json.h"

/* If no operator seems to run, leaves the time of its last sign in the report's operatorLastSign. Controllers
 * are items of a list, or NULL. One that does not answer tells nothing: its time stands still. */
void operator_sign_put(cJSON *report, const cJSON *controllers, int64_t now_s);
/* Appends "No operator is running: its last sign is 14m old; ask an admin" for such a report, else nothing.
 */
void operator_sign_add(struct str *out, const cJSON *report, int64_t now_s);
