#include "operator/api/job/exit_codes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A list of all codes, one by one, has 913 characters. */
#define LENGTH_MAX 1024

/* Digits at *at without leading zeros, at most 255; advances past them. */
static bool take_code(const char **at, long *ret)
{
    char *end;

    if (!isdigit((unsigned char)**at) || (**at == '0' && isdigit((unsigned char)(*at)[1])))
        return false;
    *ret = strtol(*at, &end, 10);
    *at = end;
    return *ret <= 255;
}

/* *ret_hit: the list contains the code. */
static bool walk(const char *text, int code, bool *ret_hit)
{
    *ret_hit = false;
    if (strnlen(text, LENGTH_MAX + 1) > LENGTH_MAX)
        return false;
    for (;;) {
        long low, high;

        if (!take_code(&text, &low))
            return false;
        high = low;
        if (*text == '-') {
            text++;
            if (!take_code(&text, &high))
                return false;
        }
        if (low > high)
            return false;
        *ret_hit = *ret_hit || (code >= low && code <= high);
        if (!*text)
            return true;
        if (*text++ != ',')
            return false;
    }
}

bool exit_codes_are_valid(const char *text)
{
    bool hit;

    return walk(text, -1, &hit);
}

bool exit_codes_match(const char *text, int code)
{
    bool hit = false;

    return text && walk(text, code, &hit) && hit;
}
