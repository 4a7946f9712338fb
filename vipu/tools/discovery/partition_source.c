#include "vipu/tools/discovery/partition_source.h"

static bool is_given(const char *text)
{
    return text && *text;
}

/* Whether a controller may be asked about more than the program's own partition. */
static bool has_controller(const struct partition_source *source)
{
    return is_given(source->host) || is_given(source->partition);
}

enum partition_source_kind partition_source_kind(const struct partition_source *source)
{
    if (is_given(source->config_path))
        return SOURCE_FILE;
    return has_controller(source) ? SOURCE_CONTROLLER : SOURCE_FOLDERS;
}
