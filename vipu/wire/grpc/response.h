/* The response to one unary gRPC call as it arrives, and its meaning when it has ended. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct response {
    int http_status; /* 0 until it arrives */
    int grpc_status; /* -1 until it arrives */
    struct str text; /* grpc-message, decoded */
    struct str body; /* prefix and message; its limit is the largest accepted response */
};

void response_init(struct response *response, size_t max_reply);
void response_release(struct response *response);
void response_header(struct response *response, struct slice name, struct slice value);
bool response_data(struct response *response, const void *bytes, size_t len); /* false: larger than allowed */

/* The message of the completed response (borrowed), or why there is none; err.code is the gRPC status. reset
 * is the HTTP/2 error code that ended the stream, 0 for a regular end. A response without a status is a
 * failure, whatever else it contained. */
MUST_USE bool response_judge(const struct response *response, uint32_t reset, struct slice *ret,
                             struct err *err);
