#include "base/doc/json_bigint.h"

#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"

#define EXACT_DIGITS 15 /* cJSON prints so many digits; a double always has as many */

static bool is_digit(char c)
{
    return isdigit((unsigned char)c);
}

/* A quick check of one byte in sixteen: a longer run of digits cannot escape it. */
static bool has_long_run(struct slice text)
{
    for (size_t i = EXACT_DIGITS; i < text.len; i += EXACT_DIGITS + 1) {
        size_t from = i, to = i;

        if (!is_digit(text.ptr[i]))
            continue;
        while (from > 0 && is_digit(text.ptr[from - 1]))
            from--;
        while (to < text.len && is_digit(text.ptr[to]))
            to++;
        if (to - from > EXACT_DIGITS)
            return true;
    }
    return false;
}

/* *at is behind the quote. */
static void skip_string(const char **at, const char *end)
{
    for (; *at < end && **at != '"'; ++*at) {
        if (**at == '\\')
            ++*at;
    }
    ++*at;
}

/* The next number of a text that is valid JSON. */
static struct slice next_number(const char **at, const char *end)
{
    while (*at < end && **at != '-' && !is_digit(**at)) {
        if (*(*at)++ == '"')
            skip_string(at, end);
    }
    const char *from = *at;
    while (*at < end && **at && strchr("+-.eE0123456789", **at))
        ++*at;
    return (struct slice){from, (size_t)(*at - from)};
}

static bool is_long_integer(struct slice number)
{
    size_t sign = number.len && number.ptr[0] == '-';

    for (size_t i = sign; i < number.len; i++) {
        if (!is_digit(number.ptr[i]))
            return false;
    }
    return number.len - sign > EXACT_DIGITS;
}

/* Numbers are in the tree in the order of the text. */
static void walk(cJSON *node, const char **at, const char *end)
{
    if (cJSON_IsNumber(node)) {
        struct slice number = next_number(at, end);

        if (is_long_integer(number)) {
            node->type = (node->type & ~0xFF) | cJSON_Raw;
            node->valuestring = mem_strndup(number.ptr, number.len);
        }
    }
    for (cJSON *child = node->child; child; child = child->next)
        walk(child, at, end); /* as deep as cJSON's limit */
}

void json_keep_bigints(cJSON *tree, struct slice text)
{
    const char *at = text.ptr;

    if (has_long_run(text))
        walk(tree, &at, text.ptr + text.len);
}
