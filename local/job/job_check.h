/* What admission does to a job in a cluster: the webhooks' defaults and every mistake, and then what this
 * machine cannot do. Pure. */
#pragma once

#include "local/job/objects.h"
#include "local/node/engine.h"

/* The jobs get their defaults. Problems are lines with file and line number. Notes are for the user: what
 * differs on this machine, and warnings. */
void job_check_all(struct objects *objects, enum engine engine, bool is_strict, uint32_t ipus,
                   struct strv *notes, struct strv *warnings, struct strv *problems);
