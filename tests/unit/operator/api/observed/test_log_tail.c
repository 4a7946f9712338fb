#include "operator/api/observed/log_tail.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(the_worker_that_a_launcher_lost_is_found_among_its_last_lines)
{
    static const struct {
        const char *lines, *why;
        uint32_t number;
    } rows[] = {
        {"ipu-launch: worker train-worker-3 is lost: no data received for 15 s\n",
         "no data received for 15 s", 3},
        {"epoch 1\nipu-launch: worker a-worker-0-0123456789-worker-12 is lost: the agent has exited",
         "the agent has exited", 12},
        {"ipu-launch: worker x-worker-1 cannot be reached: its agent does not respond\n----\nORTE was unable",
         "its agent does not respond", 1},
        {"ipu-launch: worker x-worker-5 runs nothing: no shell\nipu-launch: worker x-worker-2 is lost: y\n"
         "ipu-launch: worker x-worker-3 is lost: z",
         "y", 2},
        {"ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[19311,0],0] on node node1\n"
         "  Remote daemon: [[19311,0],1] on node x-worker-7\n\nThis is usually due to",
         "mpirun does not hear from its daemon there any more", 7},
    };

    CHECK_ROWS (row, rows) {
        struct lost_worker lost;

        CHECK(log_tail_lost_worker(row->lines, &lost));
        CHECK_INT_EQ(lost.number, row->number);
        CHECK_INT_EQ(lost.why.len, strlen(row->why));
        CHECK(strncmp(lost.why.ptr, row->why, lost.why.len) == 0);
    }
}

TEST(other_lines_name_no_cause)
{
    static const char *const rows[] = {
        NULL,
        "",
        "ipu-launch: worker ",
        "ipu-launch: worker train is lost: x",
        "ipu-launch: worker train-worker- is lost: x",
        "ipu-launch: worker train-worker-99999999999 is lost: x",
        "ipu-launch: worker train-worker-1 is lost",
        "ipu-launch: worker train-worker-1\n is lost: x",
        "my worker train-worker-1 is lost: x",
        "  HNP daemon   : [[19311,0],0] on node x-worker-1",
        "  Remote daemon: [[19311,0],1] on node node1",
        "ipu-launch: cannot run /opt/train",
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct lost_worker lost;

        CHECK(!log_tail_lost_worker(rows[i], &lost));
    }
}

#define RULE "--------------------------------------------------------------------------\n"
#define LONG "0123456789012345678901234567890123456789" /* 40 */

TEST(the_last_line_is_the_last_one_with_text)
{
    static const struct {
        const char *lines, *last;
    } rows[] = {
        {NULL, ""},
        {"", ""},
        {"\n \n--\n", ""},
        {"one", "one"},
        {"one\n", "one"},
        {"Traceback:\n  File \"a\"\nValueError: no\n\n", "ValueError: no"},
        {"ORTE has ended\n------\n", "ORTE has ended"},
        {"[1,0]<stderr>:no\n" RULE "Primary job\n" RULE RULE "mpirun detected\n  Exit code:    1\n" RULE,
         "[1,0]<stderr>:no"},
        {"code: 1\n" RULE "[1,0]<stderr>:no\n" RULE "mpirun detected\n" RULE "\n", "[1,0]<stderr>:no"},
        {RULE "mpirun was unable to\nlaunch\n" RULE, "mpirun was unable to"},
        {"cut\noff\n" RULE, "cut"},
        {RULE "one\n", "one"},
        {"epoch 1\r\n\tover \r\n", "over"},
        {"one\nżółw", "żółw"},
        {LONG LONG LONG LONG LONG "6", LONG LONG LONG LONG LONG},
        {LONG LONG LONG LONG "012345678901234567890123456789012345678ż", /* cut before, not inside */
         LONG LONG LONG LONG "012345678901234567890123456789012345678"},
    };

    CHECK_ROWS (row, rows) {
        struct slice line = log_tail_last_line(row->lines);
        AUTO(mem) char *text = mem_strndup(line.ptr, line.len);

        CHECK_STR_EQ(text, row->last);
    }
}
