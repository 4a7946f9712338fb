#include "vipu/server/storage/store.h"

#include <sqlite3.h>

#include "base/core/mem.h"
#include "vipu/server/storage/store_file.h"
#include "vipu/wire/messages/extension.h"
#include "vipu/wire/messages/replies.h"

#define FLAG_DISABLE_AUTO_RESET 1
#define FLAG_RELOCATABLE 2
#define FLAG_FORCED 4

struct store {
    struct store_file file;
    sqlite3_stmt *put;
    sqlite3_stmt *drop;
    bool is_incomplete; /* the next save has to write every partition */
};

static bool prepare(struct store *store, const char *sql, sqlite3_stmt **ret, struct err *err)
{
    return sqlite3_prepare_v2(store->file.db, sql, -1, ret, NULL) == SQLITE_OK ||
           store_file_failed(&store->file, err);
}

static bool prepare_statements(struct store *store, struct err *err)
{
    return prepare(store,
                   "INSERT OR REPLACE INTO partitions VALUES"
                   " (?1, ?2, ?3, ?4, ?5, ?6, row_checksum(?1, ?2, ?3, ?4, ?5, ?6))",
                   &store->put, err) &&
           prepare(store, "DELETE FROM partitions WHERE id = ?1", &store->drop, err);
}

static void finalize_statements(struct store *store)
{
    sqlite3_finalize(TAKE(store->put));
    sqlite3_finalize(TAKE(store->drop));
}

struct store *store_open(const char *path, struct err *err)
{
    struct store *store = NEW(struct store);

    if (store_file_open(&store->file, path, err) && prepare_statements(store, err))
        return store;
    err_wrap(err, "storage %s", path);
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    finalize_statements(store);
    store_file_close(&store->file);
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
    if (read_status(row, *ret, err) && wire_get_key_hash(bytes, &(*ret)->key_hash, err))
        return true;
    controller_partition_free(*ret);
    return false;
}

static bool load(struct store *store, struct controller *controller, int64_t now_ms, struct err *err)
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
            ok = store_file_failed(&store->file, err);
        else
            ok = read_row(query, &entry, err) && controller_restore_take(controller, entry, now_ms, err);
    }
    sqlite3_finalize(query);
    return ok;
}

bool store_load(struct store *store, struct controller *controller, int64_t now_ms, struct err *err)
{
    return load(store, controller, now_ms, err) || err_wrap(err, "storage %s", store->file.path);
}

static bool execute(struct store *store, sqlite3_stmt *statement, struct err *err)
{
    bool ok = sqlite3_step(statement) == SQLITE_DONE || store_file_failed(&store->file, err);

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
    if (entry->key_hash)
        wire_put_key_hash(entry->key_hash, &blob);
    wire_put_status(&status, &status_blob);
    sqlite3_bind_text(store->put, 1, entry->partition.id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(store->put, 2, (sqlite3_int64)entry->number);
    sqlite3_bind_int(store->put, 3, (int)entry->operation);
    sqlite3_bind_int(store->put, 4, flags);
    sqlite3_bind_blob64(store->put, 5, blob.ptr, blob.len, SQLITE_STATIC);
    sqlite3_bind_blob64(store->put, 6, status_blob.ptr, status_blob.len, SQLITE_STATIC);
    return execute(store, store->put, err);
}

static bool write_all(struct store *store, const struct controller *controller, struct err *err)
{
    if (!store_file_run(&store->file, "DELETE FROM partitions", err))
        return false;
    CONTROLLER_EACH (entry, controller)
        if (!put(store, controller, entry, err))
            return false;
    return true;
}

static bool write_changes(struct store *store, const struct controller *controller, struct err *err)
{
    /* Removals first: an id may have been reused in the same turn. */
    for (size_t i = 0; i < controller->removed.count; i++) {
        sqlite3_bind_text(store->drop, 1, controller->removed.items[i], -1, SQLITE_STATIC);
        if (!execute(store, store->drop, err))
            return false;
    }
    for (size_t i = 0; i < controller->changed_count; i++)
        if (!put(store, controller, controller->changed[i], err))
            return false;
    return true;
}

/* SQLite may have rolled back already. */
static void roll_back(struct store *store)
{
    struct err err;

    if (!sqlite3_get_autocommit(store->file.db))
        (void)!store_file_run(&store->file, "ROLLBACK", &err);
}

static bool transact(struct store *store, const struct controller *controller, struct err *err)
{
    roll_back(store);
    if (store_file_run(&store->file, "BEGIN", err) &&
        (store->is_incomplete ? write_all : write_changes)(store, controller, err) &&
        store_file_run(&store->file, "COMMIT", err))
        return true;
    roll_back(store);
    return false;
}

/* The file has been deleted or moved. What it had is in memory. */
static bool renew(struct store *store, struct err *err)
{
    finalize_statements(store);
    store->is_incomplete = true;
    return store_file_renew(&store->file, err) && prepare_statements(store, err);
}

/* A file that lost its name during the transaction does not keep what was written to it. */
static bool write_durably(struct store *store, const struct controller *controller, struct err *err)
{
    bool is_usable = store->drop && store_file_is_in_place(&store->file);

    if ((!is_usable && !renew(store, err)) || !transact(store, controller, err))
        return false;
    store->is_incomplete = !store_file_is_in_place(&store->file);
    return !store->is_incomplete || err_set(err, ERR_IO, "it was deleted or moved");
}

bool store_write(struct store *store, const struct controller *controller, struct err *err)
{
    if (write_durably(store, controller, err))
        return true;
    err->kind = ERR_IO;
    return err_wrap(err, "cannot write the storage %s", store->file.path);
}

bool store_save(struct store *store, struct controller *controller, struct err *err)
{
    if (!store_write(store, controller, err))
        return false;
    controller_saved(controller);
    return true;
}

bool store_check(const char *path, struct controller *controller, struct strv *problems)
{
    struct store store = {0};
    struct err err = {0};

    if (!store_file_inspect(&store.file, path, problems, &err))
        strv_push(problems, err.msg);
    else if (problems->count == 0 && store.file.format == STORE_FORMAT && !load(&store, controller, 0, &err))
        strv_push(problems, err.msg);
    store_file_close(&store.file);
    return problems->count == 0;
}
