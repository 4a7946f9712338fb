#include "popdist/popdist.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "lib/check.h"

struct report {
    const char *options;
    bool made, enable_all;
};

/* The first two and the last but one are the guide's. */
static const struct report reports[] = {
    {NULL, true, true},
    {"{\"allowOutOfMemory\":\"true\"}", true, true},
    {"{\"note\":\"autoReport.all\"}", true, true},
    {"{\"autoReport.outputGraphProfile\":\"true\"}", true, false},
    {"{\"autoReport.all\" : true}", true, false},
    {"{\"autoReport.all\":\"false\"}", false, false},
    {"{\"autoReport.all\": false, \"x\":1}", false, false},
};

/* On record: autoReport.all is added unless the engine options hold anything about profiling. */
TEST(every_instance_reports_into_its_own_directory)
{
    CHECK_ROWS (row, reports) {
        AUTO(mem) char *parent = mem_printf("%s/%zu/reports", check_tmpdir(), (size_t)(row - reports));
        AUTO(mem) char *want = mem_printf("%s/3", parent);
        struct popdist_error error = {0};
        char directory[4096] = "";
        bool enable_all = !row->enable_all;
        struct stat seen;

        CHECK_INT_EQ(setenv("POPDIST_AUTOREPORT_DIRECTORY", parent, 1), 0);
        CHECK_INT_EQ(setenv("POPDIST_NUM_TOTAL_REPLICAS", "4", 1), 0);
        CHECK_INT_EQ(setenv("POPDIST_REPLICA_INDEX_OFFSET", "3", 1), 0);
        CHECK_INT_EQ(row->options ? setenv("POPLAR_ENGINE_OPTIONS", row->options, 1)
                                  : unsetenv("POPLAR_ENGINE_OPTIONS"),
                     0);
        for (int twice = 0; twice < 2; twice++)
            if (popdist_autoreport(directory, sizeof directory, &enable_all, &error))
                CHECK_FAIL("%s", error.text);
        CHECK_STR_EQ(directory, want);
        CHECK_INT_EQ(enable_all, row->enable_all);
        CHECK_INT_EQ(stat(row->made ? want : parent, &seen) == 0, row->made);
    }
}

TEST(without_a_report_directory_nothing_is_set)
{
    char directory[8] = "old";
    bool enable_all = true;

    CHECK_INT_EQ(unsetenv("POPDIST_AUTOREPORT_DIRECTORY"), 0);
    CHECK_INT_EQ(popdist_autoreport(directory, sizeof directory, &enable_all, NULL), POPDIST_OK);
    CHECK_STR_EQ(directory, "");
    CHECK(!enable_all);
}

TEST(a_report_directory_that_cannot_be_made_is_named)
{
    struct popdist_error error = {0};
    char directory[4096];
    bool enable_all = false;

    CHECK_INT_EQ(unsetenv("POPLAR_ENGINE_OPTIONS"), 0);
    CHECK_INT_EQ(setenv("POPDIST_AUTOREPORT_DIRECTORY", "/dev/null/reports", 1), 0);
    CHECK_INT_EQ(popdist_autoreport(directory, sizeof directory, &enable_all, &error), POPDIST_INVALID);
    CHECK_HAS(error.text, "/dev/null/reports");
    CHECK_INT_EQ(popdist_autoreport(directory, 4, &enable_all, &error), POPDIST_INVALID);
    CHECK_HAS(error.text, "longer than 4 bytes");
}
