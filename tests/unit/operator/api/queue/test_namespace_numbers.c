#include "operator/api/queue/namespace_numbers.h"

#include "lib/check.h"

DEFINE_AUTO(namespace_numbers);

TEST(a_namespace_has_its_own_number_or_that_of_all_others)
{
    AUTO(namespace_numbers) struct namespace_numbers numbers = {0}, none = {0};
    AUTO(strv) struct strv problems = {0};

    namespace_numbers_read("team-a=32,*=16,free=0", "--x", &numbers, &problems);
    CHECK_INT_EQ(problems.count, 0);
    CHECK_INT_EQ(namespace_numbers_get(&numbers, "team-a"), 32);
    CHECK_INT_EQ(namespace_numbers_get(&numbers, "team-b"), 16);
    CHECK_INT_EQ(namespace_numbers_get(&numbers, "free"), 0);
    CHECK_INT_EQ(namespace_numbers_get(&none, "team-a"), 0);
}

TEST(each_mistake_is_named)
{
    static const char *const rows[] = {"a",
                                       "=1",
                                       "a=",
                                       "a=-1",
                                       "a=2147483648",
                                       "a=1.5",
                                       "A=1",
                                       "a=1=2",
                                       "a/b=1",
                                       "a=1,a=2",
                                       "a2345678901234567890123456789012345678901234567890123456789012345=1"};

    CHECK_ROWS (row, rows) {
        AUTO(namespace_numbers) struct namespace_numbers numbers = {0};
        AUTO(strv) struct strv problems = {0};

        namespace_numbers_read(*row, "--x", &numbers, &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], "--x: must list each namespace once, as NAMESPACE=NUMBER with * for all "
                                     "others, got ");
    }
}
