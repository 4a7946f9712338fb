#include "launcher/poprun/log/run_log.h"

#include <stdarg.h>

#include "base/core/mem.h"
#include "base/core/visible.h"

static const char letters[] = {[RUN_LOG_ERROR] = 'E',
                               [RUN_LOG_WARNING] = 'W',
                               [RUN_LOG_INFO] = 'I',
                               [RUN_LOG_DEBUG] = 'D',
                               [RUN_LOG_TRACE] = 'T'};

void run_log_write(const struct run_log *log, enum run_log_level level, const char *fmt, ...)
{
    AUTO(mem) char *text = NULL;
    va_list args;

    if (level > log->most)
        return;
    va_start(args, fmt);
    text = mem_vprintf(fmt, args);
    va_end(args);
    log->put(log->ctx, level, text);
}

void run_log_line(const struct run_log_stamp *stamp, enum run_log_level level, const char *text,
                  struct str *out)
{
    (void)str_addf(out, "%02d:%02d:%02d.%03d %lld POPRUN [%c] ", stamp->hour, stamp->minute, stamp->second,
                   stamp->millisecond, (long long)stamp->pid, letters[level]);
    (void)str_add_visible(out, slice_of(text), VISIBLE_LINES);
    (void)str_addc(out, '\n');
}
