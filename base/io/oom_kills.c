#include "base/io/oom_kills.h"

#include <string.h>

#include "base/core/str.h"
#include "base/io/file.h"

#define FILE_MAX_BYTES 4096u

bool oom_kills_read(const char *path, uint32_t *ret)
{
    static const char name[] = "oom_kill ";
    AUTO(str) struct str text = {0};
    AUTO(strv) struct strv lines = {0};
    struct err err;

    if (!file_read(path, FILE_MAX_BYTES, &text, &err))
        return false;
    strv_split(str_text(&text), '\n', &lines);
    for (size_t i = 0; i < lines.count; i++)
        if (str_has_prefix(lines.items[i], name))
            return parse_u32(lines.items[i] + strlen(name), 0, UINT32_MAX, ret);
    return false;
}
