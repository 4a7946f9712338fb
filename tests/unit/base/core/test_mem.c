#include "base/core/mem.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "lib/check.h"

TEST(memory_is_zeroed)
{
    AUTO(mem) unsigned char *bytes = mem_alloc(100);

    for (int i = 0; i < 100; i++)
        CHECK_INT_EQ(bytes[i], 0);
}

TEST(no_memory_aborts)
{
    CHECK_ABORTS(mem_alloc(SIZE_MAX / 2));
    CHECK_ABORTS(mem_grow(NULL, SIZE_MAX / 2, 4)); /* the product overflows */
    CHECK_ABORTS(mem_grow(NULL, SIZE_MAX / 2, 1));
}

TEST(taking_leaves_null_behind)
{
    char *name = mem_strdup("x");
    AUTO(mem) char *taken = TAKE(name);

    CHECK(name == NULL);
    CHECK_STR_EQ(taken, "x");
}

TEST(copies)
{
    AUTO(mem) char *cut = mem_strndup("abcdef", 3);
    AUTO(mem) char *whole = mem_strndup("ab", 30);
    AUTO(mem) char *text = mem_printf("%d-%s", 5, "x");
    AUTO(mem) char *bytes = mem_dup("a\0b", 3);

    CHECK_STR_EQ(cut, "abc");
    CHECK_STR_EQ(whole, "ab");
    CHECK_STR_EQ(text, "5-x");
    CHECK(memcmp(bytes, "a\0b", 3) == 0);
    CHECK(mem_strdup(NULL) == NULL);
    CHECK(mem_dup(NULL, 3) == NULL);
}

TEST(a_slot_can_be_set_to_a_part_of_itself)
{
    AUTO(mem) char *slot = mem_strdup("prefix-name");

    mem_set_str(&slot, slot + 7);
    CHECK_STR_EQ(slot, "name");
    mem_set_str(&slot, NULL);
    CHECK(slot == NULL);
}

TEST(a_descriptor_closes_at_the_end_of_its_scope)
{
    int number;
    {
        AUTO(fd) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0);
        number = fd;
    }
    CHECK_INT_EQ(fcntl(number, F_GETFD), -1);
}
