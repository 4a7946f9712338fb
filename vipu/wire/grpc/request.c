#include "vipu/wire/grpc/request.h"

#include <string.h>

#include "vipu/wire/grpc/grpc.h"

#define FIELD_OVERHEAD 32u /* RFC 9113, 6.5.2 */

void request_init(struct request *request, size_t max_request)
{
    *request = (struct request){
        .path.max = REQUEST_PATH_MAX, .body.max = max_request + GRPC_PREFIX_BYTES, .timeout_ms = -1};
}

void request_release(struct request *request)
{
    str_release(&request->path);
    str_release(&request->body);
    credentials_release(&request->credentials);
}

void request_header(struct request *request, struct slice name, struct slice value)
{
    static const char type[] = "application/grpc";

    request->header_bytes += name.len + value.len + FIELD_OVERHEAD;
    if (request->header_bytes > REQUEST_HEADERS_MAX)
        return;
    if (slice_eq(name, ":method"))
        request->is_post = slice_eq(value, "POST");
    else if (slice_eq(name, ":path"))
        str_add(&request->path, value.ptr, value.len);
    else if (slice_eq(name, "content-type"))
        request->is_grpc = value.len >= strlen(type) && memcmp(value.ptr, type, strlen(type)) == 0;
    else if (slice_eq(name, "grpc-encoding"))
        request->is_encoded = !slice_eq(value, "identity");
    else if (slice_eq(name, "grpc-timeout"))
        request->has_bad_timeout = !grpc_timeout_parse(value, &request->timeout_ms);
    else if (!credentials_header(&request->credentials, name, value))
        request->has_bad_credentials = true;
}

int request_http_status(const struct request *request)
{
    if (request->header_bytes > REQUEST_HEADERS_MAX)
        return 200;
    if (!request->is_post)
        return 405;
    return request->is_grpc ? 200 : 415;
}

static bool reject(struct err *err, int status, const char *text)
{
    return err_set_code(err, grpc_status_kind(status), status, "%s", text);
}

bool request_check_headers(const struct request *request, struct err *err)
{
    if (request->header_bytes > REQUEST_HEADERS_MAX)
        return err_set_code(err, ERR_BUSY, GRPC_RESOURCE_EXHAUSTED,
                            "the call's metadata is too large: %zu bytes, limit %u bytes",
                            request->header_bytes, REQUEST_HEADERS_MAX);
    if (!request->is_post)
        return reject(err, GRPC_INVALID_ARGUMENT, "a gRPC call must use the HTTP method POST");
    if (!request->is_grpc)
        return reject(err, GRPC_INVALID_ARGUMENT,
                      "a gRPC call must have a content-type that begins with application/grpc");
    if (request->has_bad_credentials)
        return reject(err, GRPC_UNAUTHENTICATED,
                      "send " CREDENTIALS_USER_ID " and " CREDENTIALS_ACCESS_KEY
                      " once each, within their limits, in printable ASCII");
    if (request->has_bad_timeout)
        return reject(err, GRPC_INVALID_ARGUMENT,
                      "grpc-timeout must be one to eight digits and a unit: H, M, S, m, u or n");
    return true;
}

bool request_validate(struct request *request, struct slice frame, struct slice *ret, struct err *err)
{
    struct err why;

    if (!request_check_headers(request, err))
        return false;
    request->is_compressed = frame.len > 0 && frame.ptr[0] == 1;
    if (request->is_compressed)
        return request->is_encoded
                   ? reject(err, GRPC_UNIMPLEMENTED,
                            "compressed messages are not supported: send them with the encoding identity")
                   : reject(err, GRPC_INTERNAL,
                            "a message is marked as compressed, but grpc-encoding does not say how");
    if (!grpc_unframe(frame, ret, &why))
        return reject(err, GRPC_INVALID_ARGUMENT, why.msg);
    return true;
}
