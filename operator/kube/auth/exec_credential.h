/* Input and output of a credential plugin: ExecCredential of client.authentication.k8s.io, as
 * kubectl and its plugins speak it. Pure. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/doc/json.h"

#define CREDENTIAL_NEVER_EXPIRES INT64_MAX

struct exec_credential { /* owned; a token, or a certificate with its key, or both */
    char *token, *cert_pem, *key_pem;
    int64_t expires_s; /* Unix seconds; 0: it says so, but not when */
};

bool exec_credential_knows_version(const char *api_version);
/* The text of KUBERNETES_EXEC_INFO, owned by the caller. cluster: description for the plugin, or NULL.
 * is_interactive: the plugin may ask the user. */
char *exec_credential_request(const char *api_version, const cJSON *cluster, bool is_interactive);
MUST_USE bool exec_credential_parse(struct slice text, const char *api_version, struct exec_credential *ret,
                                    struct err *err);
void exec_credential_release(struct exec_credential *exec_credential);
DEFINE_AUTO(exec_credential);
