/* The running vipu-server: it wires configuration, storage, controller, user API, admin endpoint and signals
 * together, and serves until SIGTERM or SIGINT. SIGHUP reads the
 * configuration again: what can change does, what cannot is named in the log, and a file with a mistake
 * changes nothing. */
#pragma once

#include <stdbool.h>

#include "vipu/server/config/setup.h"

/* Serves what `setup` says, which is moved in. The source is borrowed. False when it could not start, or
 * ended because it could not go on; the reason has been logged. */
bool server_run(const struct setup_source *source, struct setup *setup_take);
/* Makes the storage file and ends. False: the reason has been logged. */
bool server_init_storage(const struct setup *setup);
