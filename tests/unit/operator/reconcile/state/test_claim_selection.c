/* The first of many jobs, whatever order they are found in. */
#include "operator/reconcile/state/claim_selection.h"

#include "lib/check.h"

#define JOBS 1000u
#define SHARE 100u

/* Position 0 is the first; positions are found in an order that is none. */
static struct claim_key key_at(unsigned position)
{
    return (struct claim_key){
        .priority = (int32_t)(10 - position / 500), .turn_s = position / 50, .arrival = position};
}

TEST(the_first_of_a_group_are_selected)
{
    struct claim_selection selection = {0};

    claim_selection_begin(&selection, 2 * SHARE, 1);
    for (unsigned i = 0; i < JOBS; i++) {
        struct claim_key key = key_at(i * 387 % JOBS);

        claim_selection_add(&selection, 3, &key);
    }
    for (unsigned i = 0; i < JOBS; i++) {
        struct claim_key key = key_at(i);

        CHECK_INT_EQ(claim_selection_has(&selection, 3, &key), i < SHARE);
    }
    CHECK_INT_EQ(claim_selection_groups(&selection), 1);
    claim_selection_release(&selection);
}

TEST(a_crowd_keeps_no_other_group_out)
{
    struct claim_selection selection = {0};
    struct claim_key last = key_at(JOBS);

    claim_selection_begin(&selection, 2 * SHARE, 1);
    for (unsigned i = 0; i < JOBS; i++) {
        struct claim_key key = key_at(i);

        claim_selection_add(&selection, 0, &key);
    }
    CHECK(!claim_selection_has(&selection, 0, &last));
    CHECK(claim_selection_has(&selection, 1, &last)); /* it was not added */
    claim_selection_add(&selection, 1, &last);
    CHECK(claim_selection_has(&selection, 1, &last));
    CHECK_INT_EQ(claim_selection_groups(&selection), 2);
    claim_selection_begin(&selection, 2 * SHARE, 1);
    CHECK_INT_EQ(claim_selection_groups(&selection), 0);
    claim_selection_release(&selection);
}
