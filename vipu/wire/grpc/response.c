#include "vipu/wire/grpc/response.h"

#include <nghttp2/nghttp2.h>

#include "vipu/wire/grpc/grpc.h"

void response_init(struct response *response, size_t max_reply)
{
    *response = (struct response){.grpc_status = -1};
    response->text.max = GRPC_TEXT_MAX;
    response->body.max = max_reply + GRPC_PREFIX_BYTES;
}

void response_release(struct response *response)
{
    str_release(&response->text);
    str_release(&response->body);
}

static int http_status(struct slice value)
{
    int status = 0;

    for (size_t i = 0; i < value.len && i < 3; i++)
        status = status * 10 + (value.ptr[i] - '0'); /* nghttp2 guarantees three digits */
    return status;
}

void response_header(struct response *response, struct slice name, struct slice value)
{
    if (slice_eq(name, ":status"))
        response->http_status = http_status(value);
    else if (slice_eq(name, "grpc-status") && response->grpc_status < 0)
        response->grpc_status = grpc_status_parse(value);
    else if (slice_eq(name, "grpc-message") && response->text.len == 0)
        grpc_text_decode(value, &response->text);
}

bool response_data(struct response *response, const void *bytes, size_t len)
{
    return str_add(&response->body, bytes, len);
}

static bool rejected(const struct response *response, struct err *err)
{
    int status = response->grpc_status;

    return err_set_code(err, grpc_status_kind(status), status, "%s: %s", grpc_status_name(status),
                        response->text.len ? str_text(&response->text) : "no reason given by the controller");
}

static bool lacking(const struct response *response, uint32_t reset, struct err *err)
{
    if (reset)
        return err_set_code(err, ERR_IO, GRPC_UNAVAILABLE, "the controller reset the call (%s)",
                            nghttp2_http2_strerror(reset));
    if (response->http_status != 200 && response->http_status != 0)
        return err_set_code(err, ERR_IO, GRPC_UNAVAILABLE,
                            "HTTP status %d without a gRPC status: is this a V-IPU controller?",
                            response->http_status);
    return err_set_code(err, ERR_IO, GRPC_UNKNOWN, "the response ended without a gRPC status");
}

bool response_judge(const struct response *response, uint32_t reset, struct slice *ret, struct err *err)
{
    if (response->grpc_status < 0)
        return lacking(response, reset, err);
    if (response->grpc_status != GRPC_OK)
        return rejected(response, err);
    if (grpc_unframe(str_slice(&response->body), ret, err))
        return true;
    err->code = GRPC_INTERNAL;
    return false;
}
