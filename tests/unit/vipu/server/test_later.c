/* What the server does later. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/server/later.h"

struct note {
    struct loop *loop;
    struct str *order;
    char name;
    bool ends;
};

static void on_happen(void *ctx)
{
    struct note *note = ctx;

    str_addc(note->order, note->name);
    if (note->ends)
        loop_stop(note->loop);
}

TEST(things_happen_when_they_are_due_and_the_rest_at_the_end)
{
    struct loop *loop = loop_new();
    struct later *later = later_new(loop);
    AUTO(str) struct str order = {0};
    struct note notes[] = {{loop, &order, 'c', true},
                           {loop, &order, 'a', false},
                           {loop, &order, 'd', false},
                           {loop, &order, 'b', false}};

    CHECK(later_do(later, 20, 0, on_happen, &notes[0]));
    CHECK(later_do(later, 0, 0, on_happen, &notes[1]));
    CHECK(later_do(later, 600000, 0, on_happen, &notes[2]));
    CHECK(later_do(later, 0, 0, on_happen, &notes[3]));
    CHECK_STR_EQ(str_text(&order), ""); /* never before later_do returns */
    loop_run(loop);
    CHECK_STR_EQ(str_text(&order), "abc");
    later_free(later);
    CHECK_STR_EQ(str_text(&order), "abcd");
    loop_free(loop);
}

TEST(too_much_is_refused)
{
    struct loop *loop = loop_new();
    struct later *later = later_new(loop);
    AUTO(str) struct str order = {0};
    struct note note = {loop, &order, 'x', true};

    CHECK(!later_do(later, 0, LATER_MAX_BYTES, on_happen, &note)); /* the entry itself counts, too */
    CHECK(later_do(later, 0, LATER_MAX_BYTES / 2, on_happen, &note));
    CHECK(!later_do(later, 0, LATER_MAX_BYTES / 2, on_happen, &note));
    loop_run(loop);
    CHECK(later_do(later, 600000, LATER_MAX_BYTES / 2, on_happen, &note)); /* what is done makes room */
    later_free(later);
    CHECK_STR_EQ(str_text(&order), "xx");
    loop_free(loop);
}
