#include "base/core/fnv.h"

#include <string.h>

#include "base/core/str.h"
#include "lib/check.h"

/* Test vectors of draft-eastlake-fnv. */
TEST(hashes_are_those_of_the_draft)
{
    static const struct {
        const char *text;
        uint32_t fnv32;
        uint64_t fnv64;
    } rows[] = {
        {"", 0x811c9dc5, UINT64_C(0xcbf29ce484222325)},
        {"a", 0xe40c292c, UINT64_C(0xaf63dc4c8601ec8c)},
        {"foobar", 0xbf9cf968, UINT64_C(0x85944171f73967e8)},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(fnv32_add_bytes(FNV32_BASIS, row->text, strlen(row->text)), row->fnv32);
        CHECK(fnv64_add_bytes(FNV64_BASIS, row->text, strlen(row->text)) == row->fnv64);
        CHECK(str_hash(row->text) == row->fnv64);
    }
}
