/* The lists that one user sees: partitions, and agents with the attributes of their IPUs. A NULL user sees
 * everything (secure mode is off). Pure; replies are appended to `out`, whose limit they obey. */
#pragma once

#include "base/core/str.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/users.h"
#include "vipu/wire/messages/requests.h"

/* The ready state that the controller reports, with these quirks applied. */
enum vipu_ready_state listing_state(const struct controller_partition *entry,
                                    const struct fault_quirks *quirks);
/* Those in the allocation; "" for all that the user may see. */
void listing_put_partitions(const struct controller *c, const struct user *user,
                            const struct fault_quirks *quirks, const char *allocation_id, struct str *out);
/* Those that are named; all of them if none is named. */
void listing_put_agents(const struct controller *c, const struct user *user, const struct wire_names *names,
                        struct str *out);
