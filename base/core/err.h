/* A failure is one value: its kind (what the caller does next), a code of its origin, and one line for the
 * user. It is a plain struct: no allocation, no free, can be copied into a status condition.
 *
 * Fallible functions return bool (or a pointer) and take `struct err *err` last, never NULL. On failure they
 * fill it and leave their ret_* outputs unchanged; on success they leave it alone. The caller that handles a
 * failure logs it, once. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#define MUST_USE __attribute__((warn_unused_result))

enum err_kind {
    ERR_NONE = 0,
    ERR_INVALID,   /* invalid input: report it to the user */
    ERR_NOT_FOUND, /* it does not exist */
    ERR_EXISTS,    /* something with that name exists */
    ERR_CONFLICT,  /* the state has changed: observe again */
    ERR_GONE,      /* the position in a watch or list expired: list again */
    ERR_DENIED,    /* not allowed: credentials or rules */
    ERR_BUSY,      /* the peer is overloaded, or has no capacity: back off */
    ERR_TIMEOUT,   /* no response in time; whether it took effect is unknown */
    ERR_IO,        /* the peer or the system failed; whether it took effect is unknown */
    ERR_INTERNAL,  /* a bug on either side */
};

struct err {
    enum err_kind kind;
    int code; /* errno, HTTP status, CURLcode or gRPC status, depending on the origin; 0 if none */
    char
        msg[240]; /* one line (visible.h), no trailing period, always terminated; longer texts end in "..." */
};

/* Both return false, so that `return err_set(...)` is the idiom. */
bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool err_set_code(struct err *err, enum err_kind kind, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ERR_IO (or ERR_NOT_FOUND, ERR_DENIED, ERR_EXISTS, ERR_TIMEOUT, depending on errno) with strerror's text
 * appended. */
bool err_errno(struct err *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Prepends the subject: "partition p7: <old message>". */
bool err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *err_kind_name(enum err_kind kind);
