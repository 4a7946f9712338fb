#include "vipu/tools/source.h"

static bool is_given(const char *text)
{
    return text && *text;
}

enum source_kind source_kind(const struct source *source)
{
    if (is_given(source->config_path))
        return SOURCE_FILE;
    return source_has_controller(source) ? SOURCE_CONTROLLER : SOURCE_FOLDERS;
}

bool source_has_controller(const struct source *source)
{
    return is_given(source->host) || is_given(source->partition);
}
