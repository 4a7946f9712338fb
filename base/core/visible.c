#include "base/core/visible.h"

#include <string.h>

static bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

/* Bytes of the well-formed UTF-8 character that begins with a byte from 0x80, or 0: neither an overlong one,
 * nor half of a surrogate pair, nor one beyond U+10FFFF (RFC 3629). */
static size_t sequence_len(const unsigned char *at, size_t left)
{
    size_t len = at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : at[0] < 0xF5 ? 4 : 0;
    bool is_overlong, is_beyond;

    if (len == 0 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (!is_tail(at[i]))
            return 0;
    }
    is_overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    is_beyond = (at[0] == 0xED && at[1] >= 0xA0) || (at[0] == 0xF4 && at[1] >= 0x90);
    return is_overlong || is_beyond ? 0 : len;
}

static bool is_c1(const unsigned char *at, size_t len)
{
    return len == 2 && at[0] == 0xC2 && at[1] < 0xA0;
}

size_t visible_len(const char *at, size_t left)
{
    const unsigned char *c = (const unsigned char *)at;
    size_t len;

    if (left == 0 || *c < ' ' || *c == 0x7F)
        return 0;
    if (*c < 0x80)
        return 1;
    len = sequence_len(c, left);
    return is_c1(c, len) ? 0 : len;
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
    if (left > 1 && is_c1(c, 2) && is_tail(c[1])) {
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
