/* The gRPC layer on top of HTTP/2, as pure functions: the five-byte message prefix, status codes and their
 * meaning for a caller, the percent-encoded status message, the timeout header. It knows no connection and
 * no message type. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define GRPC_PREFIX_BYTES 5u
#define GRPC_TEXT_MAX 4096u /* longest status message kept */

enum grpc_status {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16,
};

const char *grpc_status_name(int status); /* "NOT_FOUND"; "UNKNOWN" for a number that gRPC does not have */
/* What a caller should do after a failed call. Statuses that a proxy or a library may return after the
 * request took effect (CANCELLED, UNKNOWN, INTERNAL, UNAVAILABLE, DATA_LOSS) are ERR_IO: the outcome is
 * unknown. */
enum err_kind grpc_status_kind(int status);
/* The reverse, for a server that rejects a call with an error. */
int grpc_status_of_kind(enum err_kind kind);
/* The number of a grpc-status header; GRPC_UNKNOWN for an invalid one. */
int grpc_status_parse(struct slice text);

/* The first message of bytes that may have several, with its prefix; false: it is not complete yet. */
bool grpc_first_frame(struct slice bytes, struct slice *ret);
bool grpc_frame(struct str *out, struct slice message); /* appends prefix and message; false if out is full */
/* The only message of the body. ERR_IO: compressed, truncated, or more than one. Borrowed from body. */
MUST_USE bool grpc_unframe(struct slice body, struct slice *ret, struct err *err);

void grpc_text_encode(const char *text,
                      struct str *out); /* percent-encodes; at most GRPC_TEXT_MAX bytes of text */
void grpc_text_decode(struct slice text, struct str *out); /* control characters become '?' */

const char *grpc_timeout_format(int64_t ms, char out[16]); /* "1500m" */
/* The value of the timeout header, rounded up to milliseconds; false for an invalid one. */
MUST_USE bool grpc_timeout_parse(struct slice text, int64_t *ret_ms);
