#include "vipu/server/storage/store.h"

#include <sqlite3.h>

#include "base/core/mem.h"
#include "vipu/wire/messages/replies.h"

#define SCHEMA_VERSION 2
#define FLAG_DISABLE_AUTO_RESET 1
#define FLAG_RELOCATABLE 2
#define FLAG_FORCED 4

struct store {
    sqlite3 *db;
    sqlite3_stmt *put;
    sqlite3_stmt *drop;
};

static bool failed(struct store *store, const char *what, struct err *err)
{
    int code = sqlite3_errcode(store->db);

    return err_set_code(err,
                        code == SQLITE_BUSY || code == SQLITE_LOCKED ? ERR_BUSY
                        : code == SQLITE_NOTADB                      ? ERR_INVALID
                                                                     : ERR_IO,
                        code, "%s: %s", what, sqlite3_errmsg(store->db));
}

static bool run(struct store *store, const char *sql, struct err *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK || failed(store, "storage", err);
}

static bool prepare(struct store *store, const char *sql, sqlite3_stmt **ret, struct err *err)
{
    return sqlite3_prepare_v2(store->db, sql, -1, ret, NULL) == SQLITE_OK || failed(store, "storage", err);
}

static bool schema_version(struct store *store, int *ret, struct err *err)
{
    sqlite3_stmt *query;
    bool ok;

    if (!prepare(store, "PRAGMA user_version", &query, err))
        return false;
    ok = sqlite3_step(query) == SQLITE_ROW;
    if (ok)
        *ret = sqlite3_column_int(query, 0);
    else
        failed(store, "storage", err);
    sqlite3_finalize(query);
    return ok;
}

/* A partition and its status are stored in their protobuf encoding, so that fields of later versions need no
 * new column. Format 1 had no status. */
static const char *upgrade_from(int version)
{
    if (version == 1)
        return "BEGIN; ALTER TABLE partitions ADD COLUMN status BLOB; PRAGMA user_version = 2; COMMIT";
    return "CREATE TABLE IF NOT EXISTS partitions (id TEXT PRIMARY KEY, number INTEGER NOT NULL,"
           " operation INTEGER NOT NULL, flags INTEGER NOT NULL, partition BLOB NOT NULL, status BLOB)"
           " WITHOUT ROWID; PRAGMA user_version = 2";
}

static bool prepare_schema(struct store *store, struct err *err)
{
    int version;

    if (!run(store,
             "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
             "BEGIN EXCLUSIVE; COMMIT",
             err) ||
        !schema_version(store, &version, err))
        return false;
    if (version > SCHEMA_VERSION)
        return err_set(err, ERR_INVALID,
                       "storage: written by a newer vipu-server (format %d, supported up to %d)", version,
                       SCHEMA_VERSION);
    return run(store, upgrade_from(version), err) &&
           prepare(store, "INSERT OR REPLACE INTO partitions VALUES (?1, ?2, ?3, ?4, ?5, ?6)", &store->put,
                   err) &&
           prepare(store, "DELETE FROM partitions WHERE id = ?1", &store->drop, err);
}

struct store *store_open(const char *path, struct err *err)
{
    struct store *store = NEW(struct store);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

    if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK)
        failed(store, "open", err);
    else if (prepare_schema(store, err))
        return store;
    err_wrap(err, "%s", path);
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    sqlite3_finalize(store->put);
    sqlite3_finalize(store->drop);
    sqlite3_close(store->db);
    mem_free(store);
}

static bool read_status(sqlite3_stmt *row, struct controller_partition *entry, struct err *err)
{
    const char *blob = sqlite3_column_blob(row, 5);
    struct slice bytes = {blob, (size_t)sqlite3_column_bytes(row, 5)};
    AUTO(vipu_status) struct vipu_status status = {0};

    if (!blob)
        return true;
    if (!wire_get_status(bytes, &status, err))
        return false;
    for (size_t i = 0; i < status.error_count; i++)
        strv_push(&entry->errors, status.errors[i]);
    entry->auto_resets = status.auto_reset_retry_count;
    entry->last_auto_reset_unix_s = status.last_auto_reset_unix_s;
    return true;
}

static bool read_row(sqlite3_stmt *row, struct controller_partition **ret, struct err *err)
{
    const char *blob = sqlite3_column_blob(row, 4);
    struct slice bytes = {blob, (size_t)sqlite3_column_bytes(row, 4)};
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    int flags = sqlite3_column_int(row, 3);

    if (!wire_get_partitions(bytes, WIRE_REPLY_BUDGET, &list, err))
        return false;
    if (list.count != 1)
        return err_set(err, ERR_INVALID, "a row contains %zu partitions instead of one", list.count);
    *ret = NEW(struct controller_partition);
    (*ret)->partition = list.items[0];
    list.items[0] = (struct vipu_partition){0};
    (*ret)->number = (uint64_t)sqlite3_column_int64(row, 1);
    (*ret)->operation = (enum vipu_operation_state)sqlite3_column_int(row, 2);
    (*ret)->disable_auto_reset = flags & FLAG_DISABLE_AUTO_RESET;
    (*ret)->relocatable = flags & FLAG_RELOCATABLE;
    (*ret)->is_forced = flags & FLAG_FORCED;
    if (read_status(row, *ret, err))
        return true;
    controller_partition_free(*ret);
    return false;
}

bool store_load(struct store *store, struct controller *controller, int64_t now_ms, struct err *err)
{
    sqlite3_stmt *query;
    bool ok = true;
    int step;

    if (!prepare(store,
                 "SELECT id, number, operation, flags, partition, status FROM partitions ORDER BY number",
                 &query, err))
        return false;
    while (ok && (step = sqlite3_step(query)) != SQLITE_DONE) {
        struct controller_partition *entry = NULL;

        if (step != SQLITE_ROW)
            ok = failed(store, "storage", err);
        else
            ok = read_row(query, &entry, err) && controller_restore_take(controller, entry, now_ms, err);
    }
    sqlite3_finalize(query);
    return ok;
}

static bool execute(struct store *store, sqlite3_stmt *statement, struct err *err)
{
    bool ok = sqlite3_step(statement) == SQLITE_DONE || failed(store, "storage", err);

    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return ok;
}

static bool put(struct store *store, const struct controller *controller,
                const struct controller_partition *entry, struct err *err)
{
    struct vipu_status status = controller_status(controller, entry);
    AUTO(str) struct str blob = {0};
    AUTO(str) struct str status_blob = {0};
    int flags = (entry->disable_auto_reset ? FLAG_DISABLE_AUTO_RESET : 0) |
                (entry->relocatable ? FLAG_RELOCATABLE : 0) | (entry->is_forced ? FLAG_FORCED : 0);

    wire_put_partition(&entry->partition, &blob);
    wire_put_status(&status, &status_blob);
    sqlite3_bind_text(store->put, 1, entry->partition.id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(store->put, 2, (sqlite3_int64)entry->number);
    sqlite3_bind_int(store->put, 3, (int)entry->operation);
    sqlite3_bind_int(store->put, 4, flags);
    sqlite3_bind_blob64(store->put, 5, blob.ptr, blob.len, SQLITE_STATIC);
    sqlite3_bind_blob64(store->put, 6, status_blob.ptr, status_blob.len, SQLITE_STATIC);
    return execute(store, store->put, err);
}

static bool write_changes(struct store *store, const struct controller *controller, struct err *err)
{
    /* Removals first: an id may have been reused in the same turn. */
    for (size_t i = 0; i < controller->removed.count; i++) {
        sqlite3_bind_text(store->drop, 1, controller->removed.items[i], -1, SQLITE_STATIC);
        if (!execute(store, store->drop, err))
            return false;
    }
    for (size_t i = 0; i < controller->count; i++)
        if (controller->list[i]->is_changed && !put(store, controller, controller->list[i], err))
            return false;
    return true;
}

bool store_save(struct store *store, struct controller *controller, struct err *err)
{
    struct err second;

    if (!run(store, "BEGIN", err))
        return false;
    if (write_changes(store, controller, err) && run(store, "COMMIT", err)) {
        controller_saved(controller);
        return true;
    }
    if (!run(store, "ROLLBACK", &second))
        err_wrap(err, "rollback failed too");
    return false;
}
