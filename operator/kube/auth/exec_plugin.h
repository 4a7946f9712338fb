/* A credential plugin: the program that a kubeconfig names under users[].user.exec, as clouds provide. It
 * blocks the caller: only command-line tools use it, never the operator, whose lease must be renewed. */
#pragma once

#include "base/core/err.h"
#include "base/doc/json.h"
#include "operator/kube/auth/exec_credential.h"

struct exec_plugin;

/* exec: as in the kubeconfig, whose folder relative commands are resolved against. cluster: the cluster's
 * description if it asks for it (provideClusterInfo), borrowed for the call. may_ask: there may be a person
 * at standard input. NULL with ERR_INVALID: it cannot be used. */
MUST_USE struct exec_plugin *exec_plugin_new(const cJSON *exec, const char *folder, const cJSON *cluster,
                                             bool may_ask, struct err *err);
void exec_plugin_free(struct exec_plugin *plugin);
/* Errors name the command, and what the kubeconfig says about its installation when it is not there. */
MUST_USE bool exec_plugin_run(const struct exec_plugin *plugin, struct exec_credential *ret, struct err *err);
