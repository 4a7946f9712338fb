/* Loads a client configuration from a kubeconfig or from the files of a pod. Rejects what it does not support
 * (auth-provider; exec plugins, unless the caller may wait for them) with a sentence instead of connecting
 * without credentials. */
#pragma once

#include "base/core/err.h"
#include "operator/kube/auth/client_config.h"
#include "operator/kube/auth/kubeconfig.h"

/* options.kubeconfig, else in a pod the service account, else KUBECONFIG, else ~/.kube/config; for a person's
 * tool the service account comes last, as with kubectl. Errors are
 * one line: file, line, mistake. ERR_NOT_FOUND if none of these exists, ERR_INVALID if one cannot be used. */
MUST_USE bool client_config_load(const struct client_config_options *options, struct client_config *ret,
                                 struct err *err);
void client_config_release(struct client_config *config);
