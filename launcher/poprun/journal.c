#include "launcher/poprun/journal.h"

#include <stdarg.h>

#include "base/core/mem.h"

static const char letters[] = {[JOURNAL_ERROR] = 'E',
                               [JOURNAL_WARNING] = 'W',
                               [JOURNAL_INFO] = 'I',
                               [JOURNAL_DEBUG] = 'D',
                               [JOURNAL_TRACE] = 'T'};

void journal_add(const struct journal *journal, enum journal_level level, const char *fmt, ...)
{
    AUTO(mem) char *text = NULL;
    va_list args;

    if (level > journal->most)
        return;
    va_start(args, fmt);
    text = mem_vprintf(fmt, args);
    va_end(args);
    journal->put(journal->ctx, level, text);
}

void journal_line(const struct journal_stamp *stamp, enum journal_level level, const char *text,
                  struct str *out)
{
    (void)str_addf(out, "%02d:%02d:%02d.%03d %lld POPRUN [%c] %s\n", stamp->hour, stamp->minute,
                   stamp->second, stamp->millisecond, (long long)stamp->pid, letters[level], text);
}
