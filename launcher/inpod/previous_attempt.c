#include "launcher/inpod/previous_attempt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/core/visible.h"

#define ENV_REPORT "IPU_JOB_PREVIOUS_ATTEMPT"
#define REPORT_MAX 4096u
#define PREFIX "ipu-launch: "

static void add_line(struct str *out, struct slice line)
{
    (void)str_adds(out, PREFIX);
    (void)str_add_visible(out, line, VISIBLE_LINES);
    (void)str_addc(out, '\n');
}

/* The last line says where the program's own log begins: the operator reads what follows it
 * (operator/api/observed/log_tail.c). */
void previous_attempt_print(void)
{
    const char *report = getenv(ENV_REPORT);
    AUTO(str) struct str text = {0};

    if (!report || !*report)
        return;
    for (const char *at = report, *end = report + strnlen(report, REPORT_MAX); at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);

        add_line(&text, (struct slice){at, len});
        at += len + 1;
    }
    add_line(&text, SLICE_LIT("The output of this attempt follows."));
    (void)!write(STDERR_FILENO, str_text(&text), text.len);
    (void)unsetenv(ENV_REPORT);
}
