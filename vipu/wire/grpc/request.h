/* One unary gRPC call as it arrives at a server, and its meaning when it is complete: the counterpart of
 * response.h. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/wire/grpc/credentials.h"

#define REQUEST_HEADERS_MAX (16u << 10) /* of all headers together, as HTTP/2 counts them */
#define REQUEST_PATH_MAX 256u

struct request {
    struct str path; /* "" if it is longer than allowed */
    struct str body; /* prefix and message; its limit is the largest accepted request */
    struct credentials credentials;
    size_t header_bytes;
    int64_t timeout_ms; /* -1: none */
    bool is_post, is_grpc;
    bool is_encoded;    /* its messages may be compressed */
    bool is_compressed; /* a message was, and is rejected */
    bool has_bad_credentials, has_bad_timeout;
};

void request_init(struct request *request, size_t max_request);
void request_release(struct request *request);
void request_header(struct request *request, struct slice name, struct slice value);

/* What the headers alone decide, if anything: why the call is rejected, whatever follows. err.code is the
 * gRPC status. */
MUST_USE bool request_check_headers(const struct request *request, struct err *err);
/* The HTTP status of the response: 200, or an error for what is no gRPC call. */
int request_http_status(const struct request *request);
/* The message in this frame (borrowed), or why the call is rejected; err.code is the gRPC status. The frame
 * of a call with one message is its whole body. */
MUST_USE bool request_validate(struct request *request, struct slice frame, struct slice *ret,
                               struct err *err);
