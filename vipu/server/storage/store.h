/* vipu-server's partitions on disk: one SQLite file, open in one server at a time. Everything for which
 * store_save returned true survives a kill of the process at any moment. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "vipu/server/controller/controller.h"

struct store;

/* Creates the file if it is missing. ERR_INVALID: the file is not a store of vipu-server; ERR_BUSY: another
 * server has it open. */
struct store *store_open(const char *path, struct err *err);
void store_close(struct store *store); /* accepts NULL */

/* Restores every saved partition into the controller. */
MUST_USE bool store_load(struct store *store, struct controller *controller, int64_t now_ms, struct err *err);
/* Writes all changes of the controller in one transaction and marks them as saved. */
MUST_USE bool store_save(struct store *store, struct controller *controller, struct err *err);
