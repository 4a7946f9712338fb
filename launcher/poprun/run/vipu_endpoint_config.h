/* Address and credentials of the V-IPU controller: options first, then the environment of a job
 * (IPUOF_VIPU_API_*), then those of `vipu`: its variables and its configuration file. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "launcher/poprun/options/options.h"
#include "vipu/client/endpoint.h"

struct access {
    struct vipu_endpoint endpoint; /* borrows from the other fields */
    char *host, *user_id, *access_key, *ca_file, *cert_file, *key_file;
    bool is_given; /* given by options */
};

MUST_USE bool vipu_endpoint_find(const struct poprun_options *options, const char *(*env)(const char *),
                                 struct access *ret, struct err *err);
void vipu_endpoint_config_release(struct access *access);
