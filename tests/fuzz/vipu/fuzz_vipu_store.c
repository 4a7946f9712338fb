/* vipu-server's storage. 'F', the length of a database in two bytes, its bytes, and those of its log: files
 * as somebody may leave them. 'R', an operation, flags, and an id, a partition and a status, each behind its
 * length in two bytes: a row whose checksum is right, and so on. What is read without an error is sound, and
 * is read again; everything else is rejected with a message, and can be repaired. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "fuzz/vipu/controller_invariants.h"
#include "vipu/server/config/config.h"
#include "vipu/server/storage/store.h"
#include "vipu/server/storage/store_file.h"
#include "vipu/server/storage/store_repair.h"

/* In memory: every input syncs its files, which takes a disk milliseconds. It stays after a crash. */
static char folder[] = "/dev/shm/fuzz-XXXXXX";
static char *path, *log_path;

struct input {
    const uint8_t *at;
    size_t left;
};

static struct slice take(struct input *input, size_t len)
{
    struct slice taken = {(const char *)input->at, len < input->left ? len : input->left};

    input->at += taken.len;
    input->left -= taken.len;
    return taken;
}

static uint8_t take_byte(struct input *input)
{
    struct slice byte = take(input, 1);

    return byte.len ? (uint8_t)*byte.ptr : 0;
}

static struct slice take_text(struct input *input)
{
    size_t high = take_byte(input);

    return take(input, high << 8 | take_byte(input));
}

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", ".damaged", ".damaged-wal", ".repaired", ".repaired-wal"};

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        AUTO(mem) char *file = mem_printf("%s%s", path, ends[i]);

        (void)unlink(file);
    }
}

static void remove_folder(void)
{
    remove_files();
    (void)rmdir(folder);
}

static void prepare(void)
{
    if (path)
        return;
    if (!mkdtemp(folder))
        abort();
    path = mem_printf("%s/state.db", folder);
    log_path = mem_printf("%s-wal", path);
    (void)atexit(remove_folder);
}

static void write_file(const char *to, struct slice bytes)
{
    FILE *file = fopen(to, "we");

    assert(file && fwrite(bytes.ptr, 1, bytes.len, file) == bytes.len);
    (void)fclose(file);
}

static void bind_row(sqlite3_stmt *row, struct input *input)
{
    struct slice id, partition, status;

    sqlite3_bind_int(row, 2, take_byte(input));
    sqlite3_bind_int(row, 3, take_byte(input));
    id = take_text(input);
    partition = take_text(input);
    status = take_text(input);
    sqlite3_bind_text(row, 1, id.ptr, (int)id.len, SQLITE_STATIC);
    sqlite3_bind_blob64(row, 4, partition.ptr, partition.len, SQLITE_STATIC);
    sqlite3_bind_blob64(row, 5, status.ptr, status.len, SQLITE_STATIC);
}

static void write_rows(struct input *input)
{
    static const char sql[] = "INSERT OR REPLACE INTO partitions VALUES"
                              " (?1, 7, ?2, ?3, ?4, ?5, row_checksum(?1, 7, ?2, ?3, ?4, ?5))";
    struct store_file file;
    sqlite3_stmt *row = NULL;
    struct err err;

    if (!store_file_open(&file, path, &err) || sqlite3_prepare_v2(file.db, sql, -1, &row, NULL) != SQLITE_OK)
        abort();
    while (input->left) {
        bind_row(row, input);
        assert(sqlite3_step(row) == SQLITE_DONE);
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    store_file_close(&file);
}

/* Whether it can be read; the number of its partitions. */
static bool read_all(const struct vipu_clusters *clusters, size_t *ret_count)
{
    struct controller controller;
    struct err err = {0};
    struct store *store = store_open(path, &err);
    bool ok;

    controller_init(&controller, clusters, (struct controller_times){.create_ms = 1}, 1);
    ok = store && store_load(store, &controller, 0, &err);
    assert(ok || err.msg[0]);
    if (ok)
        controller_check(&controller);
    *ret_count = controller.count;
    store_close(store);
    controller_release(&controller);
    return ok;
}

static bool is_checked(const struct vipu_clusters *clusters)
{
    AUTO(strv) struct strv problems = {0};
    struct controller controller;
    bool ok;

    controller_init(&controller, clusters, (struct controller_times){.create_ms = 1}, 1);
    ok = store_check(path, &controller, &problems);
    assert(ok == (problems.count == 0));
    controller_release(&controller);
    return ok;
}

static void check_repair(void)
{
    struct err err = {0};
    struct store *store;
    size_t count;

    if (!store_repair(path, &count, &err)) {
        assert(err.msg[0]);
        return;
    }
    store = store_open(path, &err);
    assert(store);
    store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct input input = {bytes, len};
    struct server_config config;
    struct strv problems = {0};
    size_t count, again;

    prepare();
    remove_files();
    if (!server_config_parse(SLICE_LIT(CONTROLLER_CONFIG), "", &config, &problems))
        abort();
    if (take_byte(&input) == 'R') {
        write_rows(&input);
    } else {
        write_file(path, take_text(&input));
        write_file(log_path, take(&input, input.left));
    }
    bool sound = is_checked(&config.clusters);
    if (read_all(&config.clusters, &count))
        assert(sound && read_all(&config.clusters, &again) && again == count);
    else
        check_repair();
    server_config_release(&config);
    return 0;
}
