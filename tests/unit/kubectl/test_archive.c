#include "kubectl/core/archive.h"

#include <string.h>

#include "lib/check.h"

TEST(a_header_is_that_of_ustar)
{
    unsigned char header[ARCHIVE_BLOCK];
    unsigned sum = 0, stored = 0;

    archive_header("folder/a.txt", 1234, 0, header);
    CHECK_STR_EQ((const char *)header, "folder/a.txt");
    CHECK_STR_EQ((const char *)header + 100, "0000600");
    CHECK_STR_EQ((const char *)header + 124, "00000002322");
    CHECK_STR_EQ((const char *)header + 257, "ustar");
    for (size_t i = 148; i < 154; i++) {
        stored = stored * 8 + (unsigned)(header[i] - '0');
        header[i] = ' ';
    }
    header[154] = ' ';
    for (size_t i = 0; i < sizeof(header); i++)
        sum += header[i];
    CHECK_INT_EQ(stored, sum);
}

TEST(a_longer_name_is_cut)
{
    unsigned char header[ARCHIVE_BLOCK];
    char name[300];

    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    archive_header(name, 0, -1, header);
    CHECK_INT_EQ(strlen((const char *)header), ARCHIVE_NAME_MAX);
    CHECK_STR_EQ((const char *)header + 136, "00000000000");
}

/* The archive is unpacked elsewhere, also by programs that follow any path. */
TEST(a_name_leads_nowhere_else)
{
    static const struct {
        const char *name, *want;
    } rows[] = {
        {"support/team.a/operator/ipu-operator-0_x.log", "support/team.a/operator/ipu-operator-0_x.log"},
        {"support/../leases.json", "support/_./leases.json"},
        {"support/../../.ssh/keys", "support/_./_./_ssh/keys"},
        {"/etc/passwd", "_etc/passwd"},
        {"support//a/./b", "support/_a/_/b"},
        {"support/a\\b\n\x1b:\xc3\xa4", "support/a_b_____"},
    };

    CHECK_ROWS (row, rows) {
        unsigned char header[ARCHIVE_BLOCK];

        archive_header(row->name, 0, 0, header);
        CHECK_STR_EQ((const char *)header, row->want);
    }
}

TEST(files_are_padded_to_whole_blocks)
{
    CHECK_INT_EQ(archive_padding(0), 0);
    CHECK_INT_EQ(archive_padding(1), 511);
    CHECK_INT_EQ(archive_padding(512), 0);
    CHECK_INT_EQ(archive_padding(513), 511);
}
