#include "launcher/poprun/host/host_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/poprun/host/session_dir.h"
#include "launcher/poprun/host/remove_tree.h"
#include "lib/check.h"

static bool exists(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0;
}

static char *new_folder(void)
{
    char path[] = "/tmp/test-host-cache-XXXXXX";

    CHECK(mkdtemp(path) != NULL);
    return mem_strdup(path);
}

static void touch(const char *folder, const char *name)
{
    AUTO(mem) char *path = mem_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "we");

    CHECK(file != NULL);
    (void)fclose(file);
}

TEST(the_last_one_removes_it)
{
    AUTO(mem) char *folder = new_folder();
    AUTO(mem) char *path = mem_printf("%s/cache", folder);
    int first = -1, second = -1;
    struct err err;

    CHECK_OK(host_cache_take(path, &first, &err), err);
    touch(path, "compiled");
    CHECK_OK(host_cache_take(path, &second, &err), err);
    host_cache_leave(path, first);
    CHECK(exists(path));
    host_cache_leave(path, second);
    CHECK(!exists(path));
    CHECK(remove_tree(folder));
}

TEST(another_directory_of_that_name_is_left_alone)
{
    AUTO(mem) char *folder = new_folder();
    AUTO(mem) char *path = mem_printf("%s/cache", folder), *other = mem_printf("%s/other", folder);
    int hold = -1;
    struct err err;

    CHECK_OK(host_cache_take(path, &hold, &err), err);
    CHECK_INT_EQ(rename(path, other), 0);
    CHECK_INT_EQ(mkdir(path, 0700), 0);
    host_cache_leave(path, hold);
    CHECK(exists(path) && exists(other));
    CHECK(remove_tree(folder));
}

TEST(a_link_or_a_file_is_rejected)
{
    AUTO(mem) char *folder = new_folder();
    AUTO(mem) char *link = mem_printf("%s/link", folder), *file = mem_printf("%s/file", folder);
    AUTO(mem) char *below = mem_printf("%s/absent/cache", folder);
    int hold = -1;
    struct err err;

    touch(folder, "file");
    CHECK_INT_EQ(symlink(folder, link), 0);
    CHECK(!host_cache_take(link, &hold, &err));
    CHECK(!host_cache_take(file, &hold, &err));
    CHECK(!host_cache_take(below, &hold, &err));
    CHECK_HAS(err.msg, "cannot create");
    CHECK(remove_tree(folder));
}

TEST(links_are_removed_and_not_followed)
{
    AUTO(mem) char *kept = new_folder(), *folder = new_folder();
    AUTO(mem) char *link = mem_printf("%s/link", folder);

    touch(kept, "file");
    CHECK_INT_EQ(symlink(kept, link), 0);
    CHECK(remove_tree(folder));
    CHECK(remove_tree(folder));
    AUTO(mem) char *file = mem_printf("%s/file", kept);
    CHECK(exists(file));
    CHECK(remove_tree(kept));
}

/* Of both versions of Open MPI, on both sides. */
TEST(only_what_open_mpi_names_so_is_removed)
{
    static const struct {
        const char *around, *path, *stays;
        bool is_removed;
    } rows[] = {{"ompi.h.0", "ompi.h.0/pid.7", NULL, true},
                {"ompi.h.0", "ompi.h.0/jf.7", "ompi.h.0/jf.8", true},
                {NULL, "ompi.7", NULL, true},
                {NULL, "prted.7", NULL, true},
                {"mine", "mine/pid.7", "mine/pid.7", false},
                {NULL, "mine", "mine", false}};

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *folder = new_folder();
        AUTO(mem) char *path = mem_printf("%s/%s", folder, row->path);
        AUTO(mem) char *around = mem_printf("%s/%s", folder, row->around ? row->around : "");
        AUTO(mem) char *stays = mem_printf("%s/%s", folder, row->stays ? row->stays : "");

        (void)mkdir(around, 0700);
        CHECK_INT_EQ(mkdir(path, 0700), 0);
        (void)mkdir(stays, 0700);
        touch(path, "file");
        session_dir_remove(path);
        CHECK_INT_EQ(exists(path), !row->is_removed);
        CHECK_INT_EQ(exists(stays), true);
        CHECK_INT_EQ(exists(around), !row->around || row->stays != NULL);
        CHECK(remove_tree(folder));
    }
}
