#include "base/text/terminal.h"

#include <string.h>

#include "base/core/utf8.h"
#include "base/core/visible.h"

/* The bytes of an escape sequence (ECMA-48) or of a control character; *ret_keep: it is a color. */
static size_t control_len(const char *at, size_t left, bool *ret_keep)
{
    size_t len = 2;

    *ret_keep = false;
    if (at[0] != '\x1b' || left < 2)
        return 1;
    if (at[1] == '[') {
        while (len < left && ((at[len] >= '0' && at[len] <= '?') || (at[len] >= ' ' && at[len] <= '/')))
            len++;
        *ret_keep = len < left && at[len] == 'm';
        return len < left ? len + 1 : len;
    }
    if (!at[1] ||
        !strchr("]P^_X", at[1])) /* else a string that BEL or ST ends: a title, a link, the clipboard */
        return len;
    while (len < left && at[len] != '\a' && at[len] != '\x1b')
        len++;
    if (len < left && at[len] == '\x1b')
        len += len + 1 < left && at[len + 1] == '\\';
    return len < left ? len + 1 : len;
}

/* What a progress bar shows at last. */
static struct slice after_returns(struct slice text)
{
    const char *last;

    while (text.len > 0 && text.ptr[text.len - 1] == '\r')
        text.len--;
    last = text.len ? memrchr(text.ptr, '\r', text.len) : NULL;
    if (last) {
        text.len -= (size_t)(last + 1 - text.ptr);
        text.ptr = last + 1;
    }
    return text;
}

void terminal_add(struct str *out, struct slice line)
{
    struct slice text = after_returns(line);
    bool has_color = false;

    for (size_t at = 0; at < text.len;) {
        size_t len = visible_len(text.ptr + at, text.len - at);
        bool keep = true;

        if (len == 0 && text.ptr[at] == '\t') {
            len = 1;
        } else if (len == 0) {
            len = utf8_len(text.ptr + at, text.len - at);
            len = len > 1 ? len : control_len(text.ptr + at, text.len - at, &keep);
            keep = keep && text.ptr[at] == '\x1b';
            has_color |= keep;
        }
        if (keep)
            str_add(out, text.ptr + at, len);
        at += len;
    }
    if (has_color)
        str_adds(out, "\x1b[0m"); /* the next line is another program's */
}
