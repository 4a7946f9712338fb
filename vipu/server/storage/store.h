/* Where vipu-server keeps its partitions: one SQLite file that only one server opens at a time. What
 * store_save returned true for survives the process being killed at any moment. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "vipu/server/controller/controller.h"

struct store;

/* Creates the file when there is none. ERR_INVALID: the file is no store of ours; ERR_BUSY: another server
 * has it. */
struct store *store_open(const char *path, struct err *err);
void store_close(struct store *store); /* NULL is fine */

/* Puts every saved partition into the controller. */
MUST_USE bool store_load(struct store *store, struct controller *controller, int64_t now_ms, struct err *err);
/* Writes all changes of the controller in one transaction and marks them as saved. */
MUST_USE bool store_save(struct store *store, struct controller *controller, struct err *err);
