#include "launcher/process/executable.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/core/mem.h"

char *executable_path(void)
{
    /* The kernel's own interface: the address of a string, as a number. */
    const char *name = (const char *)getauxval(AT_EXECFN);

    return name ? realpath(name, NULL) : NULL;
}

char *executable_dir(void)
{
    AUTO(mem) char *file = executable_path();

    if (!file)
        return NULL;
    *strrchr(file, '/') = '\0';
    return TAKE(file);
}
