#include "vipu/wire/grpc/grpc.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"

static const struct {
    const char *name;
    enum err_kind kind;
} statuses[] = {
    [GRPC_OK] = {"OK", ERR_NONE},
    [GRPC_CANCELLED] = {"CANCELLED", ERR_IO},
    [GRPC_UNKNOWN] = {"UNKNOWN", ERR_IO},
    [GRPC_INVALID_ARGUMENT] = {"INVALID_ARGUMENT", ERR_INVALID},
    [GRPC_DEADLINE_EXCEEDED] = {"DEADLINE_EXCEEDED", ERR_TIMEOUT},
    [GRPC_NOT_FOUND] = {"NOT_FOUND", ERR_NOT_FOUND},
    [GRPC_ALREADY_EXISTS] = {"ALREADY_EXISTS", ERR_EXISTS},
    [GRPC_PERMISSION_DENIED] = {"PERMISSION_DENIED", ERR_DENIED},
    [GRPC_RESOURCE_EXHAUSTED] = {"RESOURCE_EXHAUSTED", ERR_BUSY},
    [GRPC_FAILED_PRECONDITION] = {"FAILED_PRECONDITION", ERR_CONFLICT},
    [GRPC_ABORTED] = {"ABORTED", ERR_CONFLICT},
    [GRPC_OUT_OF_RANGE] = {"OUT_OF_RANGE", ERR_INVALID},
    [GRPC_UNIMPLEMENTED] = {"UNIMPLEMENTED", ERR_INVALID},
    [GRPC_INTERNAL] = {"INTERNAL", ERR_IO},
    [GRPC_UNAVAILABLE] = {"UNAVAILABLE", ERR_IO},
    [GRPC_DATA_LOSS] = {"DATA_LOSS", ERR_IO},
    [GRPC_UNAUTHENTICATED] = {"UNAUTHENTICATED", ERR_DENIED},
};

static bool is_status(int status)
{
    return status >= 0 && (size_t)status < COUNT_OF(statuses);
}

const char *grpc_status_name(int status)
{
    return statuses[is_status(status) ? status : GRPC_UNKNOWN].name;
}

enum err_kind grpc_status_kind(int status)
{
    return statuses[is_status(status) ? status : GRPC_UNKNOWN].kind;
}

int grpc_status_of_kind(enum err_kind kind)
{
    switch (kind) {
    case ERR_NONE:
        return GRPC_OK;
    case ERR_INVALID:
        return GRPC_INVALID_ARGUMENT;
    case ERR_NOT_FOUND:
        return GRPC_NOT_FOUND;
    case ERR_EXISTS:
        return GRPC_ALREADY_EXISTS;
    case ERR_CONFLICT:
    case ERR_GONE:
        return GRPC_FAILED_PRECONDITION;
    case ERR_DENIED:
        return GRPC_PERMISSION_DENIED;
    case ERR_BUSY:
        return GRPC_RESOURCE_EXHAUSTED;
    case ERR_TIMEOUT:
        return GRPC_DEADLINE_EXCEEDED;
    case ERR_IO:
        return GRPC_UNAVAILABLE;
    case ERR_INTERNAL:
        break;
    }
    return GRPC_INTERNAL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int grpc_status_parse(struct slice text)
{
    int status = 0;

    if (text.len == 0 || text.len > 3)
        return GRPC_UNKNOWN;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return GRPC_UNKNOWN;
        status = status * 10 + (text.ptr[i] - '0');
    }
    return is_status(status) ? status : GRPC_UNKNOWN;
}

bool grpc_frame(struct str *out, struct slice message)
{
    unsigned char prefix[GRPC_PREFIX_BYTES] = {
        0,
        (unsigned char)(message.len >> 24),
        (unsigned char)(message.len >> 16),
        (unsigned char)(message.len >> 8),
        (unsigned char)message.len,
    };

    if (message.len > UINT32_MAX)
        return false;
    return str_add(out, prefix, sizeof(prefix)) && str_add(out, message.ptr, message.len);
}

static size_t message_len(const char *prefix)
{
    const unsigned char *b = (const unsigned char *)prefix;

    return (size_t)b[1] << 24 | (size_t)b[2] << 16 | (size_t)b[3] << 8 | b[4];
}

bool grpc_first_frame(struct slice bytes, struct slice *ret)
{
    if (bytes.len < GRPC_PREFIX_BYTES || message_len(bytes.ptr) > bytes.len - GRPC_PREFIX_BYTES)
        return false;
    *ret = (struct slice){bytes.ptr, GRPC_PREFIX_BYTES + message_len(bytes.ptr)};
    return true;
}

bool grpc_unframe(struct slice body, struct slice *ret, struct err *err)
{
    size_t len;

    if (body.len < GRPC_PREFIX_BYTES)
        return err_set(err, ERR_IO, "incomplete message: expected a prefix of %u bytes, got %zu",
                       GRPC_PREFIX_BYTES, body.len);
    if (body.ptr[0] != 0)
        return err_set(err, ERR_IO, "unexpected compressed message");
    len = message_len(body.ptr);
    if (len != body.len - GRPC_PREFIX_BYTES)
        return err_set(err, ERR_IO, "incomplete message: expected %zu bytes, got %zu", len,
                       body.len - GRPC_PREFIX_BYTES);
    *ret = (struct slice){body.ptr + GRPC_PREFIX_BYTES, len};
    return true;
}

void grpc_text_encode(const char *text, struct str *out)
{
    size_t len = strnlen(text, GRPC_TEXT_MAX);

    for (size_t i = 0; i < len; i++) {
        if (text[i] >= ' ' && text[i] <= '~' && text[i] != '%')
            str_addc(out, text[i]);
        else
            str_addf(out, "%%%02X", (unsigned char)text[i]);
    }
}

static int hex(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void grpc_text_decode(struct slice text, struct str *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '%' && i + 2 < text.len && hex(text.ptr[i + 1]) >= 0 && hex(text.ptr[i + 2]) >= 0) {
            c = (char)(hex(text.ptr[i + 1]) << 4 | hex(text.ptr[i + 2]));
            i += 2;
        }
        if ((unsigned char)c < ' ' || c == 0x7f)
            c = '?';
        str_addc(out, c);
    }
}

/* The header's number has at most eight digits. */
const char *grpc_timeout_format(int64_t ms, char out[16])
{
    if (ms < 0)
        ms = 0;
    if (ms <= 99999999)
        (void)snprintf(out, 16, "%dm", (int)ms);
    else
        (void)snprintf(out, 16, "%dS", (int)(ms / 1000 > 99999999 ? 99999999 : ms / 1000));
    return out;
}

bool grpc_timeout_parse(struct slice text, int64_t *ret_ms)
{
    static const struct {
        char unit;
        int64_t micros, per; /* a value of `per` is so many microseconds */
    } units[] = {{'H', 3600000000, 1}, {'M', 60000000, 1}, {'S', 1000000, 1},
                 {'m', 1000, 1},       {'u', 1, 1},        {'n', 1, 1000}};
    int64_t value = 0;

    if (text.len < 2 || text.len > 9)
        return false;
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
        value = value * 10 + (text.ptr[i] - '0');
    }
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (units[i].unit != text.ptr[text.len - 1])
            continue;
        *ret_ms = (value * units[i].micros + units[i].per * 1000 - 1) / (units[i].per * 1000);
        return true;
    }
    return false;
}
