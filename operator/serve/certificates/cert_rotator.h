/* Keeps the webhooks' certificate: in a Secret that all replicas share, and its CA in the two webhook
 * configurations of the same name, so that the API server trusts who answers. Renews it in time, or at once
 * when the Secret holds none that can be used (who empties the Secret asks for a new one).
 *
 * A new certificate is shown only when both configurations name its CA and API servers have had time to
 * notice; until then the old one is. Replicas do not agree about who renews: the Secret's resourceVersion
 * arbitrates. Changes nothing of webhook configurations but caBundle, and no other Secret.
 *
 * A Secret that another program such as cert-manager keeps is only read: what it holds is shown in the same
 * way, and the CA before it stays trusted until the certificate before it is shown no more. */
#pragma once

#include "base/core/str.h"
#include "operator/serve/certificates/certificate.h"

struct kube;
struct cert_rotator;

struct cert_rotator_options {
    const char *ns;           /* of the Secret */
    const char *name;         /* of both webhook configurations, and of the Secret unless it is given */
    const char *given;        /* the Secret that another program keeps, or NULL */
    const struct strv *names; /* DNS names of the certificate; must outlive it */
    /* Serve with this from now on. Borrowed for the call. */
    void (*on_certificate)(void *ctx, const struct certificate *certificate);
    void *ctx;
};

struct cert_rotator *cert_rotator_new(struct kube *kube, const struct cert_rotator_options *options);
void cert_rotator_free(struct cert_rotator *rotator);
/* When the certificate that is shown ends; 0 before there is one. */
int64_t cert_rotator_expiry_s(const struct cert_rotator *rotator);
