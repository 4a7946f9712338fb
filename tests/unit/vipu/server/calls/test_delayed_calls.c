/* What the server does later. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/server/calls/delayed_calls.h"

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
    struct delayed_calls *calls = delayed_calls_new(loop);
    AUTO(str) struct str order = {0};
    struct note notes[] = {{loop, &order, 'd', false},
                           {loop, &order, 'a', false},
                           {loop, &order, 'b', false},
                           {loop, &order, 'c', true}};

    CHECK(delayed_calls_add(calls, 600000, 0, on_happen, &notes[0]));
    CHECK(delayed_calls_add(calls, 0, 0, on_happen, &notes[1]));
    CHECK(delayed_calls_add(calls, 0, 0, on_happen, &notes[2]));
    CHECK(delayed_calls_add(calls, 20, 0, on_happen, &notes[3]));
    CHECK_STR_EQ(str_text(&order), ""); /* never before delayed_calls_add returns */
    loop_run(loop);
    CHECK_STR_EQ(str_text(&order), "abc");
    delayed_calls_free(calls);
    CHECK_STR_EQ(str_text(&order), "abcd");
    loop_free(loop);
}

TEST(too_much_is_rejected)
{
    struct loop *loop = loop_new();
    struct delayed_calls *calls = delayed_calls_new(loop);
    AUTO(str) struct str order = {0};
    struct note note = {loop, &order, 'x', true};

    CHECK(!delayed_calls_add(calls, 0, DELAYED_CALLS_MAX_BYTES, on_happen,
                             &note)); /* the entry itself counts, too */
    CHECK(delayed_calls_add(calls, 0, DELAYED_CALLS_MAX_BYTES / 2, on_happen, &note));
    CHECK(!delayed_calls_add(calls, 0, DELAYED_CALLS_MAX_BYTES / 2, on_happen, &note));
    loop_run(loop);
    CHECK(delayed_calls_add(calls, 600000, DELAYED_CALLS_MAX_BYTES / 2, on_happen,
                            &note)); /* what is done makes room */
    delayed_calls_free(calls);
    CHECK_STR_EQ(str_text(&order), "xx");
    loop_free(loop);
}
