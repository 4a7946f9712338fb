/* The Secret that keeps the webhooks' certificate: what there is to know of it, and its body to be written.
 * What is no base64 counts as empty, which the certificate's own judgement then names. Pure. */
#pragma once

#include <stdbool.h>

#include "base/doc/json.h"
#include "operator/serve/certificate.h"

struct keeping {
    char *resource_version;
    struct certificate certificate;
};

/* For a watch; ctx is not used. */
bool keeping_view(void *ctx, const cJSON *item, void **ret);
void keeping_free(void *view);

/* Of this name, with this certificate, in place of `old`; NULL: there is none yet. */
cJSON *keeping_body(const char *name, const struct keeping *old, const struct certificate *certificate);
