/* The certificate of the progress server: in a Secret that all replicas share, made once and for ten years.
 * Pods keep the CA that they were started with, so that it has to outlive them; its key is forgotten. Who
 * empties the Secret and restarts the operator asks for a new one. */
#pragma once

#include "operator/serve/certificates/certificate.h"

struct kube;
struct progress_certificate;

struct progress_certificate_options {
    const char *ns, *secret;  /* must outlive it, as must names */
    const struct strv *names; /* DNS names of the certificate */
    void (*on_certificate)(void *ctx, const struct certificate *certificate); /* once; borrowed */
    void *ctx;
};

struct progress_certificate *progress_certificate_new(struct kube *kube,
                                                      const struct progress_certificate_options *options);
void progress_certificate_free(struct progress_certificate *certificate); /* accepts NULL */
