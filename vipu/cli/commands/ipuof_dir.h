/* The IPUoF files in a user's ~/.ipuof.conf.d, one per GCD, from which programs on this host learn their
 * devices. */
#pragma once

#include "base/core/err.h"
#include "vipu/model/ipuof.h"

/* `home` is the user's directory; the folder is created if it is missing. */
MUST_USE bool ipuof_dir_write(const char *home, const char *partition, const struct vipu_ipuof_config *config,
                              struct err *err);
/* Removes the files of ipuof_dir_write for this partition; missing files are no error. */
MUST_USE bool ipuof_dir_remove(const char *home, const char *partition, struct err *err);
