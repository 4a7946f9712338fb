/* The running vipu-server: it wires configuration, storage, controller, user API, admin end-point and signals
 * together, and serves until SIGTERM or SIGINT. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/server/config.h"

/* Serves what is configured; moved in. False when it could not start, or ended because it could not go on;
 * the reason has been logged. */
bool server_run(struct server_config *config_take);
