/* hostPath volumes: what they name has to be on this machine when a run begins. */
#pragma once

#include "local/job/objects.h"

void host_paths_check(const struct objects *objects, struct strv *problems);
