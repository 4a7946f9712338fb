#include "operator/kube/auth/base64.h"

#include <string.h>

static const char digits_of[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
    const char *at = c ? strchr(digits_of, c) : NULL;

    return at ? (int)(at - digits_of) : -1;
}

static bool is_blank(char c)
{
    return c == '\n' || c == '\r' || c == ' ';
}

bool base64_decode(struct slice text, struct str *ret)
{
    uint32_t bits = 0;
    unsigned digits = 0, padding = 0;

    for (size_t i = 0; i < text.len; i++) {
        int value = value_of(text.ptr[i]);

        if (is_blank(text.ptr[i]))
            continue;
        if (text.ptr[i] == '=' && ++padding <= 2)
            continue;
        if (value < 0 || padding > 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        if (++digits % 4 == 0)
            for (int shift = 16; shift >= 0; shift -= 8)
                str_addc(ret, (char)(bits >> shift & 0xff));
    }
    if ((digits + padding) % 4 != 0)
        return false;
    if (digits % 4 >= 2)
        str_addc(ret, (char)(bits >> (digits % 4 == 2 ? 4 : 10) & 0xff));
    if (digits % 4 == 3)
        str_addc(ret, (char)(bits >> 2 & 0xff));
    return !ret->full;
}

void base64_encode(struct slice bytes, struct str *ret)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t bits = 0;

        for (size_t n = 0; n < 3; n++)
            bits = bits << 8 | (n < left ? (uint8_t)bytes.ptr[i + n] : 0);
        for (size_t n = 0; n < 4; n++)
            str_addc(ret, n <= left ? digits_of[bits >> (18 - 6 * n) & 63] : '=');
    }
}
