/* What must never happen, by the names of docs/ARCHITECTURE.md. Checked against what is really so - processes
 * on nodes, partitions at their controllers, the lease at the API server - and not against what an operator
 * believes. */
#pragma once

#include "world.h"

/* Each as it happens. */
void invariants_write_leaves(struct world *world, const struct host *host, const char *what);
void invariants_request(struct world *world, const struct api_request *request);
void invariants_vipu_write(struct world *world, struct vipu_side *side, enum vipu_write write,
                           const char *id);
void invariants_start(struct world *world, const struct sitting *sitting);
void invariants_change(struct world *world, enum api_change_type type, const struct api_object *object);
/* The same view was decided twice. */
void invariants_decided(struct world *world, const char *job, const char *plan, const char *again);
/* When nothing has happened for a while and nothing goes wrong any more. */
void invariants_at_rest(struct world *world);
