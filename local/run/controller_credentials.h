/* The Secret of the run's V-IPU controller: a folder in the run's `credentials`, as the operator reads it.
 * Only its user can, and it goes with the run. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct run_dir;
struct vipu_controller_config;

#define CONTROLLER_SECRET "vipu-server" /* its name */

MUST_USE bool controller_credentials_put(const struct run_dir *dir, const char *key, struct slice value,
                                         struct err *err);
/* Of a controller that exists: what vipu's own variables say, for the run and for its pods. Without them it
 * has no Secret. */
MUST_USE bool controller_credentials_copy(const struct run_dir *dir, const char *(*environment)(const char *),
                                          struct vipu_controller_config *config, struct err *err);
