/* What a credential plugin prints: it has a token, or a certificate with its key, or one sentence says why
 * not. */
#include <assert.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "operator/kube/auth/exec_credential.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const versions[] = {"client.authentication.k8s.io/v1",
                                           "client.authentication.k8s.io/v1beta1"};

    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        AUTO(exec_credential) struct exec_credential credential = {0};
        struct err err;

        if (exec_credential_parse((struct slice){(const char *)bytes, len}, versions[i], &credential, &err)) {
            assert(credential.token || credential.cert_pem);
            assert(!credential.cert_pem == !credential.key_pem);
        } else {
            assert(err.msg[0]);
        }
    }
    return 0;
}
