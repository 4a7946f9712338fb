#include "base/text/lines.h"

#include <stdint.h>
#include <string.h>

void lines_init(struct lines *l, size_t max_line)
{
    *l = (struct lines){.buf.max = SIZE_MAX / 2, .max_line = max_line};
}

void lines_release(struct lines *l)
{
    str_release(&l->buf);
    lines_init(l, l->max_line);
}

static bool too_long(const struct lines *l, struct err *err)
{
    return err_set(err, ERR_INVALID, "a line is longer than the limit of %zu bytes", l->max_line);
}

bool lines_push(struct lines *l, const void *bytes, size_t len, struct err *err)
{
    str_drop(&l->buf, l->taken);
    l->whole -= l->taken;
    l->taken = 0;

    size_t at = l->buf.len;
    if (!str_add(&l->buf, bytes, len))
        return too_long(l, err);
    while (at < l->buf.len) {
        const char *end = memchr(l->buf.ptr + at, '\n', l->buf.len - at);
        if (!end)
            break;
        at = (size_t)(end - l->buf.ptr);
        if (at - l->whole > l->max_line)
            return too_long(l, err);
        l->whole = ++at;
    }
    return l->buf.len - l->whole <= l->max_line || too_long(l, err);
}

bool lines_next(struct lines *l, struct slice *ret)
{
    while (l->taken < l->whole) {
        const char *start = l->buf.ptr + l->taken;
        size_t len = (size_t)((const char *)memchr(start, '\n', l->whole - l->taken) - start);

        l->taken += len + 1;
        if (len > 0 && start[len - 1] == '\r')
            len--;
        if (len > 0) {
            *ret = (struct slice){start, len};
            return true;
        }
    }
    return false;
}
