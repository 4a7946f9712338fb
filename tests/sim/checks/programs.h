/* What programs hold: the processes on nodes and the IPUs that they reach, whatever an operator believes of
 * either (invariants 2 and 10). A program reaches the partition that its id names at its controller. The
 * removal of that partition cuts it off; if it lives on, it finds the next one of that id. */
#pragma once

#include "world/world.h"

/* One that lives on a partition; NULL: none does. */
const struct node_process *programs_on(const struct world *world, const char *id);
/* One has begun to run. */
void programs_began(struct world *world, const struct node_process *process);
/* Its partition is created or reset: the next user finds it clean. */
void programs_cleaned(struct world *world, const char *id);
/* After each step of the world. */
void programs_step(struct world *world);
void programs_release(struct world *world);
