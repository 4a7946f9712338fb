/* Who calls, as gRPC metadata: the one place that names it for client and server. V-IPU's own names are not
 * on public record, so these are ours. An access key is never logged, never part of an error, and wiped
 * from memory when it is released. */
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

/* ERR_INVALID when one is too long or holds bytes that no header can carry (only printable ASCII can). NULL
 * and "" mean that none is sent. */
MUST_USE bool credentials_set(struct credentials *c, const char *user_id, const char *access_key,
                              struct err *err);
void credentials_release(struct credentials *c);

/* One header of a call that came in. False for one that is sent twice, too long, or not printable. */
bool credentials_header(struct credentials *c, struct slice name, struct slice value);
