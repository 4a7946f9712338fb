#include "lib/check.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/tools/discovery/discovery.h"
#include "vipu/tools/discovery/name_list.h"

static char *fresh_folder(void)
{
    static unsigned number;
    char *path = mem_printf("%s/conf%u", check_tmpdir(), number++);

    CHECK(mkdir(path, 0700) == 0);
    return path;
}

static void write_conf(const char *folder, const char *name, const char *partition, unsigned gcd)
{
    AUTO(mem) char *path = mem_printf("%s/%s", folder, name);
    AUTO(mem)
    char *text = mem_printf("{\"attributes\":{\"GCD Id\":\"%u\",\"Partition Id\":\"%s\"},"
                            "\"devices\":[{\"ip\":\"10.1.5.10\",\"chip_id\":\"%s-%u\"}]}",
                            gcd, partition, partition, gcd);
    struct err err = {0};

    CHECK_OK(file_write(path, 0600, slice_of(text), &err), err);
}

static const struct partition_source nothing_named = {.port = 1, .timeout_s = 1};

/* It is found in ~/.ipuof.conf.d, /etc/ipuof.conf.d or where IPUOF_CONFIG_PATH says: the folders in the order
 * that the programs give. */
TEST(the_first_folder_that_has_files_counts)
{
    AUTO(mem) char *own = fresh_folder();
    AUTO(mem) char *system = fresh_folder();
    const char *const folders[] = {"/nowhere/at/all", own, system, NULL};
    const struct discovery_options options = {.folders = folders};
    AUTO(discovery) struct discovery first = {0};
    AUTO(discovery) struct discovery second = {0};
    struct err err;

    write_conf(system, "s_ipuof.conf", "s", 0);
    write_conf(own, "readme.txt", "no", 0);
    write_conf(own, ".hidden.conf", "no", 0);
    CHECK_OK(discover(&nothing_named, &options, &first, &err), err);
    CHECK_INT_EQ(first.count, 1);
    CHECK_STR_EQ(first.views[0].partition, "s");
    write_conf(own, "o_ipuof.conf", "o", 0);
    CHECK_OK(discover(&nothing_named, &options, &second, &err), err);
    CHECK_INT_EQ(second.count, 1);
    CHECK_STR_EQ(discovery_active(&second)->partition, "o");
}

/* reference, 5: "<partition>_gcd<N>_ipuof.conf for multi-GCD"; "exactly one file per GCD id". */
TEST(the_gcd_chooses_among_the_files_of_a_partition)
{
    AUTO(mem) char *own = fresh_folder();
    const char *const folders[] = {own, NULL};
    const struct discovery_options options = {.folders = folders}, all = {.folders = folders, .all = true};
    struct partition_source source = nothing_named;
    AUTO(discovery) struct discovery one = {0};
    AUTO(discovery) struct discovery every = {0};
    struct discovery none = {0};
    struct err err = {0};

    for (unsigned gcd = 0; gcd < 12; gcd++) {
        AUTO(mem) char *name = mem_printf("p1_gcd%u_ipuof.conf", gcd);

        write_conf(own, name, "p1", gcd);
    }
    source.gcd = 10;
    CHECK_OK(discover(&source, &options, &one, &err), err);
    CHECK_INT_EQ(one.count, 1);
    CHECK_STR_EQ(one.views[0].ipus[0].device.chip_id, "p1-10");
    CHECK_OK(discover(&source, &all, &every, &err), err);
    CHECK_INT_EQ(every.count, 12);
    CHECK(every.views[0].active && every.views[0].gcd == 10);
    CHECK(!every.views[1].active && every.views[1].gcd == 0);
    CHECK_INT_EQ(every.views[11].gcd, 11);
    source.gcd = 12;
    CHECK_ERR(discover(&source, &options, &none, &err), err, ERR_NOT_FOUND);
    CHECK_HAS(err.msg, "GCD 12 of partition p1");
}

TEST(one_bad_file_is_named)
{
    AUTO(mem) char *own = fresh_folder();
    AUTO(mem) char *path = mem_printf("%s/b_ipuof.conf", own);
    const char *const folders[] = {own, NULL};
    const struct discovery_options options = {.folders = folders};
    struct discovery found = {0};
    struct err err = {0};

    write_conf(own, "a_ipuof.conf", "a", 0);
    CHECK_OK(file_write(path, 0600, SLICE_LIT("{}"), &err), err);
    CHECK_ERR(discover(&nothing_named, &options, &found, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, path);
    CHECK_INT_EQ(found.count, 0);
}

TEST(a_folder_that_may_not_be_read_is_named)
{
    AUTO(mem) char *own = fresh_folder();
    AUTO(mem) char *file = mem_printf("%s/plain", own);
    AUTO(mem) char *loop = mem_printf("%s/loop", own);
    const char *const folders[] = {file, loop, NULL};
    const struct discovery_options options = {.folders = folders};
    struct discovery found = {0};
    struct err err = {0};

    CHECK_OK(file_write(file, 0600, SLICE_LIT("x"), &err), err);
    CHECK(symlink("loop", loop) == 0);
    CHECK_ERR(discover(&nothing_named, &options, &found, &err), err, ERR_IO);
    CHECK_HAS(err.msg, loop);
}

TEST(a_file_beats_a_controller_and_a_controller_beats_folders)
{
    struct partition_source source = nothing_named;

    CHECK_INT_EQ(partition_source_kind(&source), SOURCE_FOLDERS);
    source.host = (char *)"h";
    CHECK_INT_EQ(partition_source_kind(&source), SOURCE_CONTROLLER);
    source.host = (char *)"";
    source.partition = (char *)"p1";
    CHECK_INT_EQ(partition_source_kind(&source), SOURCE_CONTROLLER);
    source.config_path = (char *)"/f";
    CHECK_INT_EQ(partition_source_kind(&source), SOURCE_FILE);
}

TEST(a_long_list_of_names_is_cut)
{
    AUTO(strv) struct strv names = {0};
    AUTO(str) struct str few = {0};
    AUTO(str) struct str many = {0};

    strv_push(&names, "p1");
    strv_push(&names, "p1");
    strv_push(&names, "p2");
    name_list_join(&names, &few);
    CHECK_STR_EQ(str_text(&few), "p1, p2");
    for (unsigned i = 3; i <= 100; i++)
        strv_pushf(&names, "p%u", i);
    name_list_join(&names, &many);
    CHECK_STR_EQ(str_text(&many), "p1, p2, p3, p4, p5 and 95 more");
}
