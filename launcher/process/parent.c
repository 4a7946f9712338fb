#include "launcher/process/parent.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/core/mem.h"

#define MAX_BYTES (2u * 1024u * 1024u)

void parent_words(struct str *ret)
{
    AUTO(mem) char *path = mem_printf("/proc/%d/cmdline", (int)getppid());
    AUTO(fd) int from = open(path, O_RDONLY | O_CLOEXEC);
    char bytes[4096];
    ssize_t got;

    ret->max = MAX_BYTES;
    while (from >= 0 && (got = read(from, bytes, sizeof bytes)) > 0)
        if (!str_add(ret, bytes, (size_t)got))
            break;
}
