/* The first byte is the size of the pieces. However a text is cut, the same lines come out, none over the
 * cap. */
#include "base/text/lines.h"

#include <stdint.h>
#include <stdlib.h>

enum { CAP = 64 };

/* Joins the lines with \n; false when the text was rejected. */
static bool cut(const uint8_t *bytes, size_t len, size_t piece, struct str *out)
{
    struct lines lines;
    struct slice line;
    struct err err;
    bool good = true;

    lines_init(&lines, CAP);
    for (size_t at = 0; good && at < len; at += piece) {
        good = lines_push(&lines, bytes + at, piece < len - at ? piece : len - at, &err);
        while (good && lines_next(&lines, &line)) {
            if (line.len == 0 || line.len > CAP)
                abort();
            (void)str_add(out, line.ptr, line.len);
            (void)str_addc(out, '\n');
        }
    }
    lines_release(&lines);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct str whole = {0};
    struct str pieces = {0};

    if (len == 0)
        return 0;
    bool a = cut(bytes + 1, len - 1, len, &whole);
    bool b = cut(bytes + 1, len - 1, (size_t)bytes[0] % 16 + 1, &pieces);
    if (a != b || (a && !str_eq(str_text(&whole), str_text(&pieces))))
        abort();
    str_release(&whole);
    str_release(&pieces);
    return 0;
}
