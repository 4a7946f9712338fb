#include "vipu/server/storage/store_repair.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "vipu/server/storage/store_file.h"

#define COLUMNS 7

static bool copy_row(const struct store_file *to, sqlite3_stmt *row, sqlite3_stmt *insert, struct err *err)
{
    bool ok;

    for (int i = 0; i < COLUMNS; i++)
        sqlite3_bind_value(insert, i + 1, sqlite3_column_value(row, i));
    ok = sqlite3_step(insert) == SQLITE_DONE || store_file_failed(to, err);
    sqlite3_reset(insert);
    return ok;
}

/* Up to the first page that cannot be read. */
static bool copy_rows(const struct store_file *from, const struct store_file *to, const char *sql,
                      sqlite3_stmt *insert, struct err *err)
{
    sqlite3_stmt *rows = NULL;
    bool ok = true;

    if (sqlite3_prepare_v2(from->db, sql, -1, &rows, NULL) != SQLITE_OK)
        return store_file_failed(from, err);
    while (ok && sqlite3_step(rows) == SQLITE_ROW)
        ok = copy_row(to, rows, insert, err);
    sqlite3_finalize(rows);
    return ok;
}

/* From both ends, so that one bad page costs its own rows only. */
static bool copy(const struct store_file *from, const struct store_file *to, sqlite3_stmt *insert,
                 struct err *err)
{
    static const char up[] = "SELECT * FROM partitions WHERE checksum IS " STORE_ROW_CHECKSUM " ORDER BY id";
    static const char down[] =
        "SELECT * FROM partitions WHERE checksum IS " STORE_ROW_CHECKSUM " ORDER BY id DESC";

    return store_file_run(to, "BEGIN", err) && copy_rows(from, to, up, insert, err) &&
           copy_rows(from, to, down, insert, err) && store_file_run(to, "COMMIT", err);
}

static bool salvage(const char *path, const char *repaired, size_t *ret_partitions, struct err *err)
{
    struct store_file from = {0}, to = {0};
    sqlite3_stmt *insert = NULL;
    bool ok = store_file_open_damaged(&from, path, err) && store_file_open(&to, repaired, err);

    if (ok && sqlite3_prepare_v2(to.db, "INSERT OR IGNORE INTO partitions VALUES (?, ?, ?, ?, ?, ?, ?)", -1,
                                 &insert, NULL) != SQLITE_OK)
        ok = store_file_failed(&to, err);
    ok = ok && copy(&from, &to, insert, err);
    if (ok)
        *ret_partitions = (size_t)sqlite3_total_changes64(to.db);
    sqlite3_finalize(insert);
    store_file_close(&to);
    store_file_close(&from);
    return ok;
}

static bool move(const char *from, const char *to, struct err *err)
{
    return rename(from, to) == 0 || err_errno(err, errno, "%s cannot be renamed", from);
}

bool store_repair(const char *path, size_t *ret_partitions, struct err *err)
{
    AUTO(mem) char *damaged = mem_printf("%s.damaged", path);
    AUTO(mem) char *repaired = mem_printf("%s.repaired", path);
    AUTO(mem) char *log = mem_printf("%s-wal", path);
    AUTO(mem) char *damaged_log = mem_printf("%s.damaged-wal", path);

    if (access(damaged, F_OK) == 0)
        return err_set(err, ERR_EXISTS, "%s exists already; move it away", damaged);
    (void)unlink(repaired); /* of an interrupted repair */
    if (!salvage(path, repaired, ret_partitions, err) || !move(path, damaged, err))
        return false;
    return (access(log, F_OK) != 0 || move(log, damaged_log, err)) && move(repaired, path, err);
}
