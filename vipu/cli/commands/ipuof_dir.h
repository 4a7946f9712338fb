/* The IPUoF files in a user's ~/.ipuof.conf.d, one per GCD, from which programs on this host learn their
 * devices. */
#pragma once

#include "base/core/err.h"
#include "vipu/model/ipuof.h"

/* `home` is the user's directory; the folder is made when it is missing. */
MUST_USE bool ipuof_dir_write(const char *home, const char *partition, const struct vipu_ipuof_config *config,
                              struct err *err);
/* Takes away what ipuof_dir_write made for this partition; files that are not there are fine. */
MUST_USE bool ipuof_dir_remove(const char *home, const char *partition, struct err *err);
