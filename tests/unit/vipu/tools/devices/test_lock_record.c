#include "lib/check.h"

#include <string.h>

#include "vipu/tools/devices/lock_record.h"

static struct lock_record somebody(void)
{
    struct lock_record holder = {.first = 4,
                                 .count = 4,
                                 .pid = 4711,
                                 .pid_space = 4026531836u,
                                 .since_unix_s = 1700000000,
                                 .monitored = true};

    lock_record_set_text(holder.user, "alice");
    lock_record_set_text(holder.host, "host-1");
    lock_record_set_text(holder.command, "python3 train");
    return holder;
}

TEST(a_record_comes_back_as_it_was)
{
    char record[LOCK_RECORD_BYTES];
    const struct lock_record holder = somebody();
    struct lock_record back = {0};

    lock_record_format(&holder, record);
    CHECK(lock_record_parse(record, &back));
    CHECK_INT_EQ(back.first, 4);
    CHECK_INT_EQ(back.count, 4);
    CHECK_INT_EQ(back.pid, 4711);
    CHECK_INT_EQ(back.pid_space, 4026531836u);
    CHECK_INT_EQ(back.since_unix_s, 1700000000);
    CHECK(back.monitored);
    CHECK_STR_EQ(back.user, "alice");
    CHECK_STR_EQ(back.host, "host-1");
    CHECK_STR_EQ(back.command, "python3 train");
}

TEST(names_cannot_break_the_record)
{
    char record[LOCK_RECORD_BYTES], long_name[500];
    struct lock_record holder = somebody(), back = {0};

    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    lock_record_set_text(holder.user, "a\tb\nc");
    lock_record_set_text(holder.command, long_name);
    lock_record_format(&holder, record);
    CHECK(lock_record_parse(record, &back));
    CHECK_STR_EQ(back.user, "a?b?c");
    CHECK_INT_EQ(strlen(back.command), LOCK_RECORD_TEXT_BYTES - 1);
}

TEST(what_is_no_record_is_none)
{
    static const char *const texts[] = {
        "",
        "\n",
        "ipuof-holder-1\t0\t1\t5\t1\t1\t0\tu\th\tc", /* no end */
        "ipuof-holder-2\t0\t1\t5\t1\t1\t0\tu\th\tc\n",
        "ipuof-holder-1\t0\t0\t5\t1\t1\t0\tu\th\tc\n", /* no IPU */
        "ipuof-holder-1\t0\t1\t0\t1\t1\t0\tu\th\tc\n", /* no process */
        "ipuof-holder-1\t-1\t1\t5\t1\t1\t0\tu\th\tc\n",
        "ipuof-holder-1\t0\t1\t5\t1\t1\t2\tu\th\tc\n",
        "ipuof-holder-1\t0\t1\t5\t1\t1\t0\tu\th\n",
        "ipuof-holder-1\t0\t1\t5\t1\t1\t0\tu\th\tc\td\n",
    };

    CHECK_ROWS (text, texts) {
        char record[LOCK_RECORD_BYTES] = "";
        struct lock_record holder;

        memcpy(record, *text, strlen(*text));
        CHECK(!lock_record_parse(record, &holder));
    }
}
