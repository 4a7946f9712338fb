/* Reads and writes the Secret with the webhooks' certificate. A value that is not base64 counts as empty, and
 * the validation of the certificate reports it. Pure. */
#pragma once

#include <stdbool.h>

#include "base/doc/json.h"
#include "operator/serve/certificates/certificate.h"

struct certificate_secret {
    char *resource_version;
    struct certificate certificate;
};

/* For a watch; ctx is not used. */
bool certificate_secret_view(void *ctx, const cJSON *item, void **ret);
void certificate_secret_free(void *view);

/* Of this name, with this certificate, in place of `old`; NULL: there is none yet. */
cJSON *certificate_secret_body(const char *name, const struct certificate_secret *old,
                               const struct certificate *certificate);
