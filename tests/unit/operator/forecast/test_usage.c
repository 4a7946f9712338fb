/* What namespaces have used, and the text that outlives the process. */
#include "operator/forecast/usage.h"

#include "operator/forecast/share_list.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define DAY ((int64_t)86400)

TEST(a_half_is_left_after_each_half_life)
{
    struct usage usage = {.half_life_s = 7 * DAY};

    usage_note(&usage, "a", 64, 1000, 1000);
    CHECK_INT_EQ(usage_of(&usage, "a", 1000), 64000);
    CHECK_INT_EQ(usage_of(&usage, "a", 1000 + 7 * DAY), 32000);
    CHECK_INT_EQ(usage_of(&usage, "a", 1000 + 21 * DAY), 8000);
    CHECK_INT_EQ(usage_of(&usage, "a", 1000 + 3 * DAY + DAY / 2), 45254); /* 64000 / sqrt(2) */
    CHECK_INT_EQ(usage_of(&usage, "a", INT64_MAX), 0);
    CHECK_INT_EQ(usage_of(&usage, "a", 0), 64000); /* a clock that jumps back */
    CHECK_INT_EQ(usage_of(&usage, "b", 1000), 0);
}

TEST(the_total_is_the_sum_of_all_namespaces)
{
    struct usage usage = {.half_life_s = 7 * DAY};

    CHECK_INT_EQ(usage_total(&usage, 0), 0);
    usage_note(&usage, "a", 64, 1000, 1000);
    usage_note(&usage, "b", 1, 1001, 1000);
    for (int64_t now_s = 1000; now_s < 1000 + 21 * DAY; now_s += DAY / 3)
        CHECK_INT_EQ(usage_total(&usage, now_s), usage_of(&usage, "a", now_s) + usage_of(&usage, "b", now_s));
}

TEST(shares_are_in_percent_of_all_and_sorted_by_use)
{
    struct share items[] = {{"b", 100, 1}, {"a", 100, 1}, {"c", 300, 1}};
    struct share_list list = {.items = items, .count = 3, .others_ipu_s = 500};

    share_list_sort(&list);
    CHECK_STR_EQ(items[0].ns, "c");
    CHECK_STR_EQ(items[1].ns, "a");
    CHECK_STR_EQ(items[2].ns, "b");
    CHECK_INT_EQ(share_percent(&list, &items[0]), 30);
    CHECK_INT_EQ(share_percent(&list, &items[1]), 10);
    items[0].used_ipu_s = items[1].used_ipu_s = items[2].used_ipu_s = list.others_ipu_s = 0;
    CHECK_INT_EQ(share_percent(&list, &items[0]), 0);
}

TEST(many_small_steps_are_as_much_as_one)
{
    struct usage usage = {.half_life_s = 7 * DAY};

    usage_note(&usage, "a", 64, 100000, 0);
    for (int64_t now_s = 0; now_s < 7 * DAY; now_s += 60)
        usage_note(&usage, "b", 1, 1, now_s);
    CHECK_INT_EQ(usage_of(&usage, "a", 7 * DAY), 3200000);
}

TEST(times_that_cannot_be_true_are_not_noted)
{
    struct usage usage = {.half_life_s = 1}, off = {0};

    usage_note(&usage, "a", 1, -1, 0);
    usage_note(&usage, "a", 1, INT64_MAX, 0);
    usage_note(&off, "a", 1, 1, 0);
    CHECK_INT_EQ(usage.count, 0);
    CHECK_INT_EQ(off.count, 0);
}

TEST(who_has_used_least_is_forgotten_first)
{
    AUTO(mem) struct usage *usage = NEW(struct usage);

    usage->half_life_s = DAY;
    for (unsigned i = 0; i < USAGE_NAMESPACES_MAX; i++) {
        AUTO(mem) char *ns = mem_printf("ns-%u", i);

        usage_note(usage, ns, 10 + i, 10, 0);
    }
    usage_note(usage, "little", 1, 1, 0);
    CHECK_INT_EQ(usage_of(usage, "little", 0), 0);
    usage_note(usage, "much", 100, 100, 0);
    CHECK_INT_EQ(usage_of(usage, "much", 0), 10000);
    CHECK_INT_EQ(usage_of(usage, "ns-0", 0), 0);
    CHECK_INT_EQ(usage_of(usage, "ns-1", 0), 110);
    CHECK_INT_EQ(usage->count, USAGE_NAMESPACES_MAX);
}

TEST(what_is_written_is_read)
{
    struct usage usage = {.half_life_s = DAY}, other = {.half_life_s = DAY};
    AUTO(str) struct str text = {0};

    usage_note(&usage, "a", 64, 1000, DAY);
    usage_note(&usage, "b", 1, 1000, DAY);
    usage_write(&usage, &text);
    usage_note(&other, "a", 1, 10, 2 * DAY);
    usage_note(&other, "b", 1, 5000, 2 * DAY);
    CHECK_INT_EQ(usage_read(&other, str_text(&text), DAY), 0);
    CHECK_INT_EQ(usage_of(&other, "a", 2 * DAY), 32000); /* what both have is not added up */
    CHECK_INT_EQ(usage_of(&other, "b", 2 * DAY), 5000);
}

TEST(what_no_operator_has_written_is_left_out)
{
    static const char *const lines[] = {
        "x 1\n",  "1 -1\n", "1 1", "1\n", "1 1 1\n", "1 x\n", " 1 1\n", "\n", "1 1000000000000001\n",
        "-1 1\n", "0x1 1\n"};
    struct usage usage = {.half_life_s = DAY};

    CHECK_ROWS (line, lines) {
        CHECK_INT_EQ(usage_read(&usage, *line, 0), 1);
        CHECK_INT_EQ(usage.count, 0);
    }
}
