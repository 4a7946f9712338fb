#include "launcher/env/preload.h"

#include <string.h>

#include "base/core/mem.h"

#define VARIABLE "LD_PRELOAD"

void preload_add(struct envv *env, const char *dir)
{
    const char *own;

    preload_remove(env);
    own = envv_get(env, VARIABLE);
    AUTO(mem)
    char *value = mem_printf("%s/" PRELOAD_FILE "%s%s", dir, own && *own ? ":" : "", own ? own : "");
    envv_set(env, VARIABLE, value);
}

void preload_remove(struct envv *env)
{
    const char *value = envv_get(env, VARIABLE);
    size_t first = value ? strcspn(value, ":") : 0, name = sizeof "/" PRELOAD_FILE - 1;

    if (first < name || strncmp(value + first - name, "/" PRELOAD_FILE, name) != 0)
        return;
    if (value[first])
        envv_set(env, VARIABLE, value + first + 1);
    else
        envv_unset(env, VARIABLE);
}
