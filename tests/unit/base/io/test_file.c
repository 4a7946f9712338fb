#include "base/io/file.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "lib/check.h"

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

TEST(a_file_is_read_and_replaced_whole)
{
    AUTO(mem) char *path = mem_printf("%s/whole", check_tmpdir());
    AUTO(str) struct str bytes = {0};
    struct stat st;
    struct err err;

    CHECK_OK(file_write(path, 0644, SLICE_LIT("first text, a long one"), &err), err);
    CHECK_OK(file_write(path, 0600, SLICE_LIT("second\0text"), &err), err);
    CHECK(str_adds(&bytes, ">"));
    CHECK_OK(file_read(path, 100, &bytes, &err), err);
    CHECK_INT_EQ(bytes.len, 12);
    CHECK(memcmp(bytes.ptr, ">second\0text", 12) == 0);
    CHECK(stat(path, &st) == 0);
    CHECK_INT_EQ(st.st_mode & 0777, 0600);
    CHECK_INT_EQ(count_entries(check_tmpdir()), 1);
}

TEST(a_large_file_is_rejected_and_nothing_is_added)
{
    AUTO(mem) char *path = mem_printf("%s/large", check_tmpdir());
    AUTO(mem) char *text = mem_alloc(50000);
    AUTO(str) struct str bytes = {0};
    struct err err;

    memset(text, 'x', 50000);
    CHECK_OK(file_write(path, 0600, (struct slice){text, 50000}, &err), err);
    CHECK_OK(file_read(path, 50000, &bytes, &err), err);
    CHECK_INT_EQ(bytes.len, 50000);
    CHECK_ERR(file_read(path, 49999, &bytes, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "/large: larger than the limit of 49999 bytes");
    CHECK_INT_EQ(bytes.len, 50000);
    CHECK_ERR(file_read("/dev/zero", 1000, &bytes, &err), err, ERR_INVALID);
}

TEST(an_empty_file)
{
    AUTO(str) struct str bytes = {0};
    struct err err;

    CHECK_OK(file_read("/dev/null", 10, &bytes, &err), err);
    CHECK_STR_EQ(str_text(&bytes), "");
}

TEST(failures_name_the_path)
{
    AUTO(str) struct str bytes = {0};
    struct err err;

    CHECK_ERR(file_read("/nonexistent/file", 10, &bytes, &err), err, ERR_NOT_FOUND);
    CHECK_STR_EQ(err.msg, "/nonexistent/file: No such file or directory");
    CHECK_ERR(file_read("/", 10, &bytes, &err), err, ERR_IO);
    CHECK_HAS(err.msg, "/: Is a directory");
    CHECK_ERR(file_write("/nonexistent/file", 0600, SLICE_LIT("x"), &err), err, ERR_NOT_FOUND);
}

TEST(a_failed_write_leaves_nothing_behind)
{
    AUTO(mem) char *path = mem_printf("%s/folder", check_tmpdir());
    int before = count_entries(check_tmpdir());
    struct err err;

    CHECK(mkdir(path, 0700) == 0);
    CHECK_ERR(file_write(path, 0600, SLICE_LIT("x"), &err), err, ERR_IO); /* a file cannot replace a folder */
    CHECK_INT_EQ(count_entries(check_tmpdir()), before + 1);
}

TEST(a_name_without_a_folder)
{
    char here[4096];
    struct err err;

    CHECK(getcwd(here, sizeof here) != NULL);
    CHECK(chdir(check_tmpdir()) == 0);
    bool good = file_write("plain", 0600, SLICE_LIT("x"), &err);
    CHECK(chdir(here) == 0);
    CHECK_OK(good, err);
}

TEST(paths_that_stay_below_their_folder)
{
    static const struct {
        const char *path;
        bool is_inside;
    } rows[] = {{"a", true},     {"a/b.c", true},   {"a..b", true},  {"..a/b..", true},
                {"a/...", true}, {"", false},       {"/a", false},   {"..", false},
                {"../a", false}, {"a/../b", false}, {"a/..", false}, {"a//..", false}};

    CHECK_ROWS (row, rows)
        CHECK(file_path_is_inside(row->path) == row->is_inside);
}
