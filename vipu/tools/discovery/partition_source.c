#include "vipu/tools/discovery/partition_source.h"

static bool is_given(const char *text)
{
    return text && *text;
}

enum partition_source_kind partition_source_kind(const struct partition_source *source)
{
    if (is_given(source->config_path))
        return SOURCE_FILE;
    return partition_source_has_controller(source) ? SOURCE_CONTROLLER : SOURCE_FOLDERS;
}

bool partition_source_has_controller(const struct partition_source *source)
{
    return is_given(source->host) || is_given(source->partition);
}
