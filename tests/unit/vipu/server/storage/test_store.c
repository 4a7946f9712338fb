/* The storage file: what is rejected, what is noticed, and what is never lost or taken for something else. */
#include "lib/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/server/config/config.h"
#include "vipu/server/storage/store.h"
#include "vipu/server/storage/store_repair.h"

#define FILE_MAX_BYTES ((size_t)4 << 20)

struct bench {
    char *folder;
    char *path;
    struct server_config config;
    struct controller c;
    struct store *store;
    struct err err;
};

static void begin_controller(struct bench *b, struct controller *c)
{
    controller_init(c, &b->config.clusters, b->config.times, 3);
}

static void bench_init(struct bench *b)
{
    static unsigned number;
    AUTO(strv) struct strv problems = {0};

    *b = (struct bench){.folder = mem_printf("%s/%u", check_tmpdir(), number++)};
    CHECK_INT_EQ(mkdir(b->folder, 0700), 0);
    b->path = mem_printf("%s/state.db", b->folder);
    CHECK(server_config_parse(SLICE_LIT("{create-ms: 0, clusters: [{id: a, ipulink-domains: 4}]}"), "test",
                              &b->config, &problems));
    begin_controller(b, &b->c);
}

static void bench_release(struct bench *b)
{
    store_close(b->store);
    controller_release(&b->c);
    server_config_release(&b->config);
    mem_free(b->folder);
    mem_free(b->path);
}

static void create(struct bench *b, const char *id, uint32_t size)
{
    AUTO(strv) struct strv problems = {0};

    CHECK_OK(
        controller_create(&b->c, &(struct vipu_requirements){.id = id, .size = size}, 0, &problems, &b->err),
        b->err);
}

static void open_store(struct bench *b)
{
    b->store = store_open(b->path, &b->err);
    CHECK_OK(b->store != NULL, b->err);
}

static void close_store(struct bench *b)
{
    store_close(TAKE(b->store));
}

/* A closed file with this many partitions, p0 and so on, all active. */
static void make_file(struct bench *b, unsigned count)
{
    open_store(b);
    for (unsigned i = 0; i < count; i++) {
        AUTO(mem) char *id = mem_printf("p%u", i);
        create(b, id, 1u << i % 3);
    }
    (void)controller_step(&b->c, 0);
    CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    close_store(b);
}

static char *describe(const struct controller *c)
{
    struct str out = {0};

    CONTROLLER_EACH (entry, c) {
        const struct vipu_partition *p = &entry->partition;

        str_addf(&out, "%s %llu %d %d %u %s", p->id, (unsigned long long)entry->number, (int)p->ready_state,
                 (int)entry->operation, p->size, p->allocation_id);
        for (uint32_t i = 0; i < p->size; i++)
            str_addf(&out, " %u/%u", p->ipus[i].domain_topology_id, p->ipus[i].topology_id);
        str_addc(&out, '\n');
    }
    return str_take(&out);
}

/* What the file has for a new server; NULL if it is rejected. */
static char *loaded(struct bench *b)
{
    struct controller c;
    struct store *store = store_open(b->path, &b->err);
    char *text = NULL;

    begin_controller(b, &c);
    if (store && store_load(store, &c, 0, &b->err))
        text = describe(&c);
    store_close(store);
    controller_release(&c);
    return text;
}

static void check_loaded(struct bench *b)
{
    AUTO(mem) char *want = describe(&b->c);
    AUTO(mem) char *got = loaded(b);

    CHECK_STR_EQ(got, want);
}

static void write_bytes(const char *path, struct slice bytes)
{
    struct err err;

    CHECK_OK(file_write(path, 0644, bytes, &err), err);
}

static void check_rejected(struct bench *b, const char *why, const char *remedy)
{
    struct store *store = store_open(b->path, &b->err);

    CHECK(store == NULL);
    CHECK_HAS(b->err.msg, b->path);
    CHECK_HAS(b->err.msg, why);
    CHECK_HAS(b->err.msg, remedy);
}

/* Of 150 flipped bits, 75 were once served as truth. */
TEST_F(bench, b, a_flipped_bit_is_never_served)
{
    AUTO(str) struct str bytes = {.max = FILE_MAX_BYTES};
    AUTO(mem) char *want = NULL;
    unsigned rejected = 0, tried = 0;

    make_file(b, 20);
    want = describe(&b->c);
    CHECK_OK(file_read(b->path, FILE_MAX_BYTES, &bytes, &b->err), b->err);
    for (size_t bit = 0; bit < bytes.len * 8; bit += 397, tried++) {
        char flip = (char)(1u << bit % 8);
        AUTO(mem) char *got = NULL;

        bytes.ptr[bit / 8] ^= flip;
        write_bytes(b->path, str_slice(&bytes));
        bytes.ptr[bit / 8] ^= flip;
        got = loaded(b);
        if (got && strcmp(got, want) != 0)
            CHECK_FAIL("bit %zu is served: %s", bit, got);
        rejected += !got;
        if (!got)
            CHECK_HAS(b->err.msg, b->path);
    }
    CHECK(rejected > tried / 8); /* most of the file is free space */
}

/* Its last checkpoint does not happen. */
static void close_store_as_killed(struct bench *b, const char *log_path, struct str *file, struct str *log)
{
    CHECK_OK(file_read(log_path, FILE_MAX_BYTES, log, &b->err), b->err);
    CHECK_OK(file_read(b->path, FILE_MAX_BYTES, file, &b->err), b->err);
    close_store(b);
}

/* The files as a killed server leaves them, with everything in the log. */
static void copy_of_running(struct bench *b, struct str *file, struct str *log)
{
    AUTO(mem) char *path = mem_printf("%s-wal", b->path);

    open_store(b);
    for (unsigned i = 0; i < 6; i++) {
        AUTO(mem) char *id = mem_printf("p%u", i);
        create(b, id, 2);
        CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    }
    file->max = log->max = FILE_MAX_BYTES;
    close_store_as_killed(b, path, file, log);
}

/* A crash may lose the last transaction while it is written, and no other. */
TEST_F(bench, b, a_flipped_bit_in_the_log_is_never_served)
{
    AUTO(str) struct str file = {0}, log = {0};
    AUTO(mem) char *path = mem_printf("%s-wal", b->path);
    AUTO(mem) char *want = NULL;
    unsigned rejected = 0, last_only = 0;

    copy_of_running(b, &file, &log);
    want = describe(&b->c);
    for (size_t bit = 0; bit < log.len * 8; bit += 1511) {
        char flip = (char)(1u << bit % 8);
        AUTO(mem) char *got = NULL;

        log.ptr[bit / 8] ^= flip;
        write_bytes(b->path, str_slice(&file));
        write_bytes(path, str_slice(&log));
        log.ptr[bit / 8] ^= flip;
        got = loaded(b);
        rejected += !got;
        if (!got || strcmp(got, want) == 0)
            continue;
        last_only++;
        CHECK(strstr(got, "p4 ") != NULL);
    }
    CHECK(rejected > last_only);
}

TEST_F(bench, b, what_is_no_storage_is_left_alone)
{
    AUTO(mem) char *log = mem_printf("%s-wal", b->path);
    AUTO(str) struct str before = {0}, after = {0};

    write_bytes(b->path, SLICE_LIT(""));
    check_rejected(b, "empty", "delete it to start without partitions");
    write_bytes(b->path, SLICE_LIT("some notes of somebody, certainly not a database"));
    check_rejected(b, "not a database", "restore it");
    CHECK_OK(file_read(b->path, FILE_MAX_BYTES, &before, &b->err), b->err);
    CHECK_HAS(str_text(&before), "some notes");
    CHECK_INT_EQ(unlink(b->path), 0);
    write_bytes(log, SLICE_LIT("what is left of a storage"));
    check_rejected(b, "missing", "delete the log to start without partitions");
    CHECK_OK(file_read(log, FILE_MAX_BYTES, &after, &b->err), b->err);
    CHECK_STR_EQ(str_text(&after), "what is left of a storage");
}

TEST_F(bench, b, a_missing_folder_is_named)
{
    AUTO(mem) char *path = mem_printf("%s/none/state.db", b->folder);

    CHECK(store_open(path, &b->err) == NULL);
    CHECK_HAS(b->err.msg, path);
    CHECK_HAS(b->err.msg, "No such file or directory");
}

TEST_F(bench, b, one_file_serves_one_server)
{
    open_store(b);
    check_rejected(b, "locked by another process", "stop it");
}

/* Everything is in memory: a file that was deleted is written again with the next change. */
TEST_F(bench, b, a_deleted_file_is_written_again)
{
    open_store(b);
    create(b, "p", 4);
    CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    CHECK_INT_EQ(unlink(b->path), 0);
    create(b, "q", 4);
    CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    close_store(b);
    check_loaded(b);
}

TEST_F(bench, b, a_deleted_log_loses_nothing)
{
    AUTO(mem) char *log = mem_printf("%s-wal", b->path);

    open_store(b);
    create(b, "p", 4);
    CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    CHECK_INT_EQ(unlink(log), 0);
    create(b, "q", 4);
    CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    close_store(b);
    check_loaded(b);
}

TEST_F(bench, b, a_file_in_its_place_is_not_overwritten)
{
    AUTO(mem) char *kept = mem_printf("%s/kept", b->folder);
    AUTO(str) struct str bytes = {0};

    open_store(b);
    create(b, "p", 4);
    CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    CHECK_INT_EQ(rename(b->path, kept), 0);
    write_bytes(b->path, SLICE_LIT("another file"));
    create(b, "q", 4);
    CHECK_ERR(store_save(b->store, &b->c, &b->err), b->err, ERR_IO);
    CHECK_HAS(b->err.msg, "another file has its name");
    CHECK_OK(file_read(b->path, FILE_MAX_BYTES, &bytes, &b->err), b->err);
    CHECK_STR_EQ(str_text(&bytes), "another file");
    CHECK_INT_EQ(rename(kept, b->path), 0); /* put back */
    CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    close_store(b);
    check_loaded(b);
}

/* Overwrites the name of a partition wherever it is in the file. */
static void damage(struct bench *b, const char *id, const char *with)
{
    AUTO(str) struct str bytes = {.max = FILE_MAX_BYTES};
    size_t len = strlen(id);

    CHECK_OK(file_read(b->path, FILE_MAX_BYTES, &bytes, &b->err), b->err);
    for (size_t i = 0; i + len <= bytes.len; i++)
        if (memcmp(bytes.ptr + i, id, len) == 0)
            memcpy(bytes.ptr + i, with, len);
    write_bytes(b->path, str_slice(&bytes));
}

TEST_F(bench, b, a_damaged_file_is_checked_and_repaired)
{
    AUTO(mem) char *left = NULL;
    AUTO(strv) struct strv problems = {0};
    struct controller c;
    size_t partitions = 0;

    make_file(b, 0);
    open_store(b);
    create(b, "sound", 1);
    create(b, "wrong", 2);
    CHECK_OK(store_save(b->store, &b->c, &b->err), b->err);
    close_store(b);
    damage(b, "wrong", "wrung");
    check_rejected(b, "partition 'wrung' has a wrong checksum", "vipu-server --repair-storage");
    begin_controller(b, &c);
    CHECK(!store_check(b->path, &c, &problems));
    controller_release(&c);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "partition 'wrung' has a wrong checksum");
    CHECK_OK(store_repair(b->path, &partitions, &b->err), b->err);
    CHECK_INT_EQ(partitions, 1);
    left = loaded(b);
    CHECK_HAS(left, "sound 1 ");
    CHECK(strstr(left, "wr") == NULL);
    CHECK_ERR(store_repair(b->path, &partitions, &b->err), b->err, ERR_EXISTS); /* keeps the damaged one */
}

TEST_F(bench, b, a_sound_file_is_checked_without_a_change)
{
    AUTO(str) struct str before = {.max = FILE_MAX_BYTES}, after = {.max = FILE_MAX_BYTES};
    AUTO(strv) struct strv problems = {0};
    struct controller c;

    make_file(b, 5);
    CHECK_OK(file_read(b->path, FILE_MAX_BYTES, &before, &b->err), b->err);
    begin_controller(b, &c);
    CHECK(store_check(b->path, &c, &problems));
    CHECK_INT_EQ(c.count, 5);
    controller_release(&c);
    CHECK_OK(file_read(b->path, FILE_MAX_BYTES, &after, &b->err), b->err);
    CHECK(before.len == after.len && memcmp(before.ptr, after.ptr, after.len) == 0);
    check_loaded(b);
}
