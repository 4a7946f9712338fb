/* Which block is kept for a claim that must wait, from when, and who else may start in it. Pure. */
#pragma once

#include "operator/forecast/queue/moment_state.h"

/* Makes a reservation for the claim's next instance, if one of its controllers has one to give. `prior` is
 * the one that it had; NULL: none. False: none. */
bool reservation_make(struct moment *b, const struct group *g, uint32_t claim,
                      const struct forecast_reservation *prior);
