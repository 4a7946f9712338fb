/* The running vipu-server: it connects configuration, storage, controller, user API, admin endpoint and
 * signals, and serves until SIGTERM or SIGINT. SIGHUP reads the configuration again: reloadable settings
 * change, others are named in the log, and a file with a mistake changes nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vipu/server/config/setup.h"

struct loop;
struct server;

/* Begins to serve the configuration of `setup`, which is moved in, on a loop of the caller's. The source is
 * borrowed. */
MUST_USE struct server *server_start(struct loop *loop, const struct setup_source *source,
                                     struct setup *setup_take, struct err *err);
uint16_t server_port(const struct server *server); /* of the user API */
void server_stop(struct server *server);           /* accepts NULL */
/* Serves the configuration of `setup`, which is moved in. The source is borrowed. False if it could not
 * start, or had to end; the reason has been logged. */
bool server_run(const struct setup_source *source, struct setup *setup_take);
/* Creates the storage file and returns. False: the reason has been logged. */
bool server_init_storage(const struct setup *setup);
/* Checks the storage file, which no server may have open, without changing it. */
bool server_check_storage(const struct setup *setup, size_t *ret_partitions, struct strv *problems);
