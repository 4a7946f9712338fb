/* vipu-server's partitions on disk: one SQLite file, open in one server at a time. Everything for which
 * store_save returned true survives a kill of the process and a loss of power at any moment. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/server/controller/controller.h"

struct store;

/* Creates the file if it is missing. ERR_INVALID: the file is not a store of vipu-server, or damaged;
 * ERR_BUSY: another server has it open. Each message has the file, the cause and what to do. */
struct store *store_open(const char *path, struct err *err);
void store_close(struct store *store); /* accepts NULL */

/* Restores every saved partition into the controller. */
MUST_USE bool store_load(struct store *store, struct controller *controller, int64_t now_ms, struct err *err);
/* Writes all changes of the controller in one transaction and marks them as saved. ERR_IO: nothing has
 * changed, on disk or in the controller; the next call tries again, with a new file if this one was deleted.
 */
MUST_USE bool store_save(struct store *store, struct controller *controller, struct err *err);
/* The same without marking them: also from another thread, as long as nothing changes the controller. */
MUST_USE bool store_write(struct store *store, const struct controller *controller, struct err *err);

/* Reads a file that no server has open, without changing it; the controller gets what it has. False:
 * `problems` has everything that is wrong with it. */
MUST_USE bool store_check(const char *path, struct controller *controller, struct strv *problems);
