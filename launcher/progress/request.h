/* What `ipu-launch progress` sends, and where: Kubeflow's KEP-2779, as docs/progress.md has it. Pure. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define PROGRESS_USAGE "ipu-launch progress PERCENT [--eta SECONDS] [NAME=VALUE]..."

struct progress_url {
    char *host, *port, *path;
};

/* ERR_INVALID: it is not https://HOST[:PORT]/PATH. */
MUST_USE bool progress_url_read(const char *text, struct progress_url *ret, struct err *err);
void progress_url_release(struct progress_url *url);
DEFINE_AUTO(progress_url);
/* The body, as JSON; owned by the caller. NULL with ERR_INVALID. */
MUST_USE char *progress_request_body(char *const *words, struct err *err);
/* The whole HTTP request. */
void progress_request_print(const struct progress_url *url, const char *token, const char *body,
                            struct str *out);
/* The status of an HTTP response, from its first line; 0: it is none. */
int progress_response_status(const char *text);
