/* Whether this pod's own agent runs: a connection with its key, one request and one response. Run by the
 * readiness probe. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

MUST_USE bool probe_agent(const struct envv *env, struct err *err);
