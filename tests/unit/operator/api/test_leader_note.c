#include "operator/api/leader_note.h"

#include "base/core/mem.h"
#include "lib/check.h"

TEST(a_note_is_read_as_it_was_written)
{
    AUTO(mem) char *note = leader_note_print(4096, "0123abcd");

    CHECK_INT_EQ(leader_note_largest_partition(note), 4096);
    CHECK_STR_EQ(leader_note_key(note), "0123abcd");
}

TEST(a_note_of_another_version_has_what_it_has)
{
    static const struct {
        const char *note;
        uint32_t largest;
        const char *key;
    } rows[] = {{NULL, 0, NULL}, {"", 0, NULL}, {"64", 64, NULL}, {"64 ", 64, NULL}, {"many key", 0, "key"}};

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(leader_note_largest_partition(row->note), row->largest);
        CHECK_STR_EQ(leader_note_key(row->note), row->key);
    }
}
