/* A failure is one value: what kind it is (what the caller does next), a code from where it arose, and one
 * line for people. It is a plain struct: no allocation, no free, copyable into a status condition.
 *
 * Fallible functions return bool (or a pointer) and take `struct err *err` last, never NULL. On failure they
 * fill it and leave their ret_* outputs untouched; on success they leave it alone. Whoever handles a failure
 * logs it, once. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#define MUST_USE __attribute__((warn_unused_result))

enum err_kind {
    ERR_NONE = 0,
    ERR_INVALID,   /* the input is wrong: tell the user */
    ERR_NOT_FOUND, /* the thing is not there */
    ERR_EXISTS,    /* a thing of that name is there already */
    ERR_CONFLICT,  /* the world moved on: observe again */
    ERR_GONE,      /* the position in a watch or list expired: list again */
    ERR_DENIED,    /* not allowed: credentials or rules */
    ERR_BUSY,      /* the peer asks for patience, or has no room: back off */
    ERR_TIMEOUT,   /* no answer in time; whether it took effect is unknown */
    ERR_IO,        /* the peer or the system failed; whether it took effect is unknown */
    ERR_INTERNAL,  /* a bug on either side */
};

struct err {
    enum err_kind kind;
    int code;      /* errno, HTTP status, CURLcode or gRPC status: as the kind's origin has it; 0 when none */
    char msg[240]; /* one line, no trailing period, always terminated; longer texts end in "..." */
};

/* Both return false, so that `return err_set(...)` is the idiom. */
bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool err_set_code(struct err *err, enum err_kind kind, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ERR_IO (or ERR_NOT_FOUND, ERR_DENIED, ERR_EXISTS, ERR_TIMEOUT where errno says so) with strerror's text
 * appended. */
bool err_errno(struct err *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts the subject in front: "partition p7: <old message>". */
bool err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *err_kind_name(enum err_kind kind);
