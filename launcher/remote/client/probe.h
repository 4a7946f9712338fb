/* Whether this pod's own agent is there: a connection with its key, one question and one answer. It is what a
 * readiness probe runs. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

MUST_USE bool probe_agent(const struct envv *env, struct err *err);
