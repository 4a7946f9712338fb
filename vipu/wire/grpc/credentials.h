/* The caller's identity as gRPC metadata: the only place with these header names, for client and server.
 * V-IPU's own names are not public, so these are this project's. An access key is never logged, never part
 * of an error, and wiped from memory when it is released. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define CREDENTIALS_USER_ID "vipu-user-id"
#define CREDENTIALS_ACCESS_KEY "vipu-access-key"
#define CREDENTIALS_USER_ID_MAX 128u
#define CREDENTIALS_ACCESS_KEY_MAX 512u

struct credentials { /* owned; NULL: none */
    char *user_id;
    char *access_key;
};

/* ERR_INVALID if one is too long or contains bytes that no header can carry (only printable ASCII can). NULL
 * and "": not sent. */
MUST_USE bool credentials_set(struct credentials *c, const char *user_id, const char *access_key,
                              struct err *err);
void credentials_release(struct credentials *c);

/* One header of an incoming call. False for one that is repeated, too long, or not printable. */
bool credentials_header(struct credentials *c, struct slice name, struct slice value);
