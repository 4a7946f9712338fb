/* What lists say to one user: partitions, and agents with the attributes of their IPUs. A user NULL is
 * everybody, where secure mode is off. Pure; replies are appended to `out`, whose cap they obey. */
#pragma once

#include "base/core/str.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/users.h"
#include "vipu/wire/messages/requests.h"

/* The ready state as the controller tells it, now and with these quirks. */
enum vipu_ready_state listing_state(const struct controller_partition *entry,
                                    const struct fault_quirks *quirks);
/* Those in the allocation; "" for all that the user may see. */
void listing_put_partitions(const struct controller *c, const struct user *user,
                            const struct fault_quirks *quirks, const char *allocation_id, struct str *out);
/* Those that are named; all of them when there is no name. */
void listing_put_agents(const struct controller *c, const struct user *user, const struct wire_names *names,
                        struct str *out);
