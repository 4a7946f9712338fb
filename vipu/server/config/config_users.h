/* The section of the configuration with the users and their allocations. Pure: files with access keys are
 * named here and read by access_keys.h. */
#pragma once

#include "vipu/model/cluster.h"
#include "vipu/server/config/settings.h"
#include "vipu/server/controller/users.h"

extern const struct setting config_user_settings[];

/* The list `users` of the document; each allocation has to be one of the clusters'. After mistakes *ret may
 * be partly filled: release it. */
void config_read_users(struct settings_reader *r, const struct vipu_clusters *clusters, struct users *ret);
