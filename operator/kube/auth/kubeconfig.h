/* Reads kubeconfig files, several merged as kubectl does it (the first file that sets a thing wins), into an
 * identity. Auth-provider plugins are refused; exec plugins are run where that is allowed. Internal to the
 * operator/kube. */
#pragma once

#include "operator/kube/auth/client_config.h"

/* paths: one, or several joined by ':'. Of several, files that do not exist are left out. On failure ret may
 * be partly filled: release it. */
MUST_USE bool kubeconfig_load(const char *paths, const struct client_config_options *options,
                              struct client_config *ret, struct err *err);
