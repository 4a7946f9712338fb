#include "operator/kube/base64.h"

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
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
