/* The last lines of a container's log, which a job prints as it likes: what is found in them is text of one
 * line. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/observed/log_tail.h"

static void check_part(struct slice part)
{
    assert(!memchr(part.ptr ? part.ptr : "", '\n', part.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(mem) char *lines = mem_strndup((const char *)bytes, len);
    struct missing_program missing;
    struct failed_rank failed;
    struct lost_worker lost;
    struct slice last;

    if (log_tail_lost_worker(lines, &lost))
        check_part(lost.why);
    if (log_tail_failed_rank(lines, &failed)) {
        check_part(failed.host);
        assert(failed.signal == 0 || failed.exit_code == 0);
    }
    if (log_tail_missing_program(lines, &missing)) {
        check_part(missing.name);
        check_part(missing.host);
    }
    last = log_tail_last_line(lines);
    check_part(last);
    assert(last.len <= LOG_TAIL_LINE_MAX);
    (void)log_tail_is_out_of_memory(lines);
    (void)log_tail_is_of_mpirun(lines);
    return 0;
}
