#include "base/core/visible.h"

#include <string.h>

#include "base/core/utf8.h"

/* Characters of more than one byte in the categories Cc, Cf, Zl and Zp of the Unicode standard, version 15.
 */
static bool is_format(uint32_t code)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        {0x80, 0x9F},       {0xAD, 0xAD},       {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},
        {0x70F, 0x70F},     {0x890, 0x891},     {0x8E2, 0x8E2},     {0x180E, 0x180E},   {0x200B, 0x200F},
        {0x2028, 0x202E},   {0x2060, 0x2064},   {0x2066, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
        {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
        {0xE0001, 0xE0001}, {0xE0020, 0xE007F},
    };

    for (size_t i = 0; i < COUNT_OF(ranges) && code >= ranges[i].from; i++) {
        if (code <= ranges[i].to)
            return true;
    }
    return false;
}

size_t visible_len(const char *at, size_t left)
{
    size_t len = utf8_len(at, left);
    bool is_control = len == 1 && ((unsigned char)*at < ' ' || *at == 0x7F);

    return is_control || (len > 1 && is_format(utf8_code(at, len))) ? 0 : len;
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
    size_t len = utf8_len(at, left);
    const char *short_name = *at ? strchr("\nn\rr\tt", *at) : NULL;

    if (short_name) {
        (void)str_addf(out, "\\%c", short_name[1]);
        return 1;
    }
    if (len > 1) {
        uint32_t code = utf8_code(at, len);

        (void)str_addf(out, code > UINT16_MAX ? "\\U%08x" : "\\u%04x", code);
        return len;
    }
    (void)str_addf(out, "\\x%02x", (unsigned char)*at);
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
