/* The operator's own live page, for everybody who has a token of the cluster. The API server says whose token
 * it is (TokenReview) and what that account may list (SubjectAccessReview); nobody sees more than that. Both
 * are asked again while a page is open. Each replica shows it from watches of its own, so that pages stay
 * open when another one leads. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct kube;
struct live_page;

struct live_page_options {
    uint16_t port;              /* 0: any free one */
    const struct strv *hosts;   /* by which browsers reach it; must outlive it */
    const char *certificate_in; /* folder with tls.crt and tls.key; NULL: its own; must outlive it */
};

/* `kube` may have no write gate. */
MUST_USE struct live_page *live_page_new(struct kube *kube, const struct live_page_options *options,
                                         struct err *err);
int64_t live_page_certificate_end_s(const struct live_page *page); /* Unix seconds */
void live_page_free(struct live_page *page); /* accepts NULL; not from inside a callback of the loop */
