#include "base/doc/json_count.h"

/* Behind the quote that ends a string, or the end of the text. */
static const char *skip_string(const char *at, const char *end)
{
    while (at < end && *at != '"')
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    return at < end ? at + 1 : end;
}

/* Every value but the first one follows a comma or an opening bracket, and an empty container has none. */
size_t json_count_values(struct slice text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    size_t count = text.len > 0;
    char closes = '\0'; /* what would end a container that was opened just now, apart from white space */

    while (at < end) {
        char c = *at++;

        if ((unsigned char)c <= ' ')
            continue;
        if (c == closes)
            count--;
        closes = c == '[' ? ']' : c == '{' ? '}' : '\0';
        count += closes || c == ',';
        if (c == '"')
            at = skip_string(at, end);
    }
    return count;
}
