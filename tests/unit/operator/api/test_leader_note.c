#include "operator/api/leader_note.h"

#include "base/core/mem.h"
#include "lib/check.h"

TEST(a_note_is_read_as_it_was_written)
{
    AUTO(mem) char *note = leader_note_print(4096, "9000;a=8000;team-a=1000;team-a:64", "0123abcd");
    uint32_t here, total, kib;

    CHECK_INT_EQ(leader_note_largest_partition(note), 4096);
    CHECK_STR_EQ(leader_note_key(note), "0123abcd");
    leader_note_read_counts(note, "team-a", &here, &total, &kib);
    CHECK_INT_EQ(total, 9000);
    CHECK_INT_EQ(here, 1000);
    CHECK_INT_EQ(kib, 64);
    leader_note_read_counts(note, "team", &here, &total, &kib);
    CHECK_INT_EQ(here + kib, 0);
}

TEST(a_note_of_another_version_has_what_it_has)
{
    static const struct {
        const char *note;
        uint32_t largest, total;
        const char *key;
    } rows[] = {{NULL, 0, 0, NULL},         {"", 0, 0, NULL},
                {"64", 64, 0, NULL},        {"64 ", 64, 0, NULL},
                {"many key", 0, 0, "key"},  {"64 key", 64, 0, "key"},
                {"64;x key", 64, 0, "key"}, {"64;5;a;=3 key", 64, 5, "key"}};

    CHECK_ROWS (row, rows) {
        uint32_t here, total, kib;

        CHECK_INT_EQ(leader_note_largest_partition(row->note), row->largest);
        CHECK_STR_EQ(leader_note_key(row->note), row->key);
        leader_note_read_counts(row->note, "a", &here, &total, &kib);
        CHECK_INT_EQ(total, row->total);
        CHECK_INT_EQ(here + kib, 0);
    }
}
