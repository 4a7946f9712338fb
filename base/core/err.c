#include "base/core/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/utf8.h"
#include "base/core/visible.h"

/* Marks a truncated text, without leaving half a UTF-8 character before the dots. */
static void end_with_ellipsis(char *text, size_t size)
{
    size_t at = utf8_cut(text, size - sizeof "...");

    memcpy(text + at, "...", sizeof "...");
}

/* Messages are one line, whatever a peer sent. */
static void make_line(char *text, size_t size)
{
    for (char *c = text; *c; c++) {
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
    }
    if (visible_is(text, VISIBLE_LINE))
        return;
    char *line = visible_new(text, VISIBLE_LINE);
    size_t len = strlen(line);
    memcpy(text, line, len < size ? len + 1 : size);
    if (len >= size)
        end_with_ellipsis(text, size);
    mem_free(line);
}

__attribute__((format(printf, 3, 0))) static void format(char *out, size_t size, const char *fmt,
                                                         va_list args)
{
    int len = vsnprintf(out, size, fmt, args);

    if (len < 0)
        out[0] = '\0';
    else if ((size_t)len >= size)
        end_with_ellipsis(out, size);
    make_line(out, size);
}

/* Appends ": tail" to text. */
static void append(char *text, size_t size, const char *tail)
{
    char both[2 * sizeof((struct err *)0)->msg + 3];
    size_t head_len = strlen(text);
    size_t tail_len = strnlen(tail, sizeof both - head_len - 3);

    memcpy(both, text, head_len);
    memcpy(both + head_len, ": ", 2);
    memcpy(both + head_len + 2, tail, tail_len);
    both[head_len + 2 + tail_len] = '\0';

    size_t len = strlen(both);
    memcpy(text, both, len < size ? len + 1 : size);
    if (len >= size)
        end_with_ellipsis(text, size);
    make_line(text, size);
}

__attribute__((format(printf, 4, 0))) static void fill(struct err *err, enum err_kind kind, int code,
                                                       const char *fmt, va_list args)
{
    char msg[sizeof err->msg]; /* an argument may point into err->msg */

    format(msg, sizeof msg, fmt, args);
    memcpy(err->msg, msg, sizeof msg);
    err->kind = kind;
    err->code = code;
}

bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, kind, 0, fmt, args);
    va_end(args);
    return false;
}

bool err_set_code(struct err *err, enum err_kind kind, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, kind, code, fmt, args);
    va_end(args);
    return false;
}

static enum err_kind kind_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_EXISTS;
    case EACCES:
    case EPERM:
        return ERR_DENIED;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    default:
        return ERR_IO;
    }
}

bool err_errno(struct err *err, int errnum, const char *fmt, ...)
{
    char text[128];
    va_list args;

    va_start(args, fmt);
    fill(err, kind_of_errno(errnum), errnum, fmt, args);
    va_end(args);
    append(err->msg, sizeof err->msg, strerror_r(errnum, text, sizeof text));
    return false;
}

bool err_wrap(struct err *err, const char *fmt, ...)
{
    char subject[sizeof err->msg];
    va_list args;

    va_start(args, fmt);
    format(subject, sizeof subject, fmt, args);
    va_end(args);
    append(subject, sizeof subject, err->msg);
    memcpy(err->msg, subject, sizeof subject);
    return false;
}

const char *err_kind_name(enum err_kind kind)
{
    static const char *const names[] = {
        [ERR_NONE] = "none",       [ERR_INVALID] = "invalid",   [ERR_NOT_FOUND] = "not found",
        [ERR_EXISTS] = "exists",   [ERR_CONFLICT] = "conflict", [ERR_GONE] = "gone",
        [ERR_DENIED] = "denied",   [ERR_BUSY] = "busy",         [ERR_TIMEOUT] = "timeout",
        [ERR_IO] = "input/output", [ERR_INTERNAL] = "internal",
    };

    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}
