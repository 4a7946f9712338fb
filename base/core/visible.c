#include "base/core/visible.h"

#include <string.h>

#include "base/core/utf8.h"

static bool is_c1(const unsigned char *at, size_t len)
{
    return len == 2 && at[0] == 0xC2 && at[1] < 0xA0;
}

size_t visible_len(const char *at, size_t left)
{
    size_t len = utf8_len(at, left);
    bool is_control = len == 1 && ((unsigned char)*at < ' ' || *at == 0x7F);

    return is_control || is_c1((const unsigned char *)at, len) ? 0 : len;
}

static bool is_kept(char c, const char *kept)
{
    return c && strchr(kept, c);
}

bool visible_is(const char *text, const char *kept)
{
    size_t left = strlen(text), len;

    for (; left; text += len, left -= len) {
        len = is_kept(*text, kept) ? 1 : visible_len(text, left);
        if (len == 0)
            return false;
    }
    return true;
}

/* Returns the bytes that are read. */
static size_t add_escape(struct str *out, const char *at, size_t left)
{
    const unsigned char *c = (const unsigned char *)at;
    const char *short_name = *at ? strchr("\nn\rr\tt", *at) : NULL;

    if (short_name) {
        (void)str_addf(out, "\\%c", short_name[1]);
        return 1;
    }
    if (is_c1(c, utf8_len(at, left))) {
        (void)str_addf(out, "\\u%04x", c[1]);
        return 2;
    }
    (void)str_addf(out, "\\x%02x", *c);
    return 1;
}

bool str_add_visible(struct str *out, struct slice text, const char *kept)
{
    while (text.len) {
        size_t len = is_kept(*text.ptr, kept) ? 1 : visible_len(text.ptr, text.len);

        if (len)
            (void)str_add(out, text.ptr, len);
        else
            len = add_escape(out, text.ptr, text.len);
        text.ptr += len;
        text.len -= len;
    }
    return !out->full;
}

char *visible_new(const char *text, const char *kept)
{
    struct str out = {0};

    (void)str_add_visible(&out, slice_of(text), kept);
    return str_take(&out);
}
