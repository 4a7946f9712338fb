#include "base/core/utf8.h"

bool utf8_is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static size_t announced_len(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xC2)
        return 0;
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
}

size_t utf8_len(const char *at, size_t left)
{
    const unsigned char *c = (const unsigned char *)at;
    size_t len = left > 0 ? announced_len(c[0]) : 0;
    bool is_overlong, is_beyond;

    if (len <= 1 || len > left)
        return len <= left ? len : 0;
    for (size_t i = 1; i < len; i++) {
        if (!utf8_is_continuation(at[i]))
            return 0;
    }
    is_overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    is_beyond = (c[0] == 0xED && c[1] >= 0xA0) || (c[0] == 0xF4 && c[1] >= 0x90);
    return is_overlong || is_beyond ? 0 : len;
}

uint32_t utf8_code(const char *at, size_t len)
{
    uint32_t code = (unsigned char)*at & (len == 1 ? 0x7Fu : 0xFFu >> (len + 1));

    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3F);
    return code;
}

size_t utf8_cut(const char *text, size_t max)
{
    while (max > 0 && utf8_is_continuation(text[max]))
        max--;
    return max;
}
