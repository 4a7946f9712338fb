/* Turns the options of create and get into requests. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"
#include "vipu/cli/args/options.h"
#include "vipu/model/partition.h"

/* The part of a create request that the options define; borrows from them. `ret_ipus` gets the IPUs that
 * --ipus lists and is owned by the caller. Problems are sentences. */
bool requirements_of(const struct options *options, const char *id, struct vipu_requirements *ret,
                     struct vipu_ipu **ret_ipus, struct strv *problems);
/* --gcd as a number; -1 if not given. */
bool requirements_gcd(const struct options *options, int64_t *ret, struct strv *problems);
/* --index as a number; -1 if not given. */
bool requirements_index(const struct options *options, int64_t *ret, struct strv *problems);
