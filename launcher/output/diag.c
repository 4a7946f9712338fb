#include "launcher/output/diag.h"

#include <stdarg.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"

void diag(const char *fmt, ...)
{
    AUTO(str) struct str line = {0};
    AUTO(mem) char *text = NULL;
    va_list args;

    va_start(args, fmt);
    text = mem_vprintf(fmt, args);
    va_end(args);
    (void)str_addf(&line, "ipu-launch: %s\n", text);
    (void)!write(STDERR_FILENO, str_text(&line), line.len);
}
