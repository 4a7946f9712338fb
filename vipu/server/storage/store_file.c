#include "vipu/server/storage/store_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/server/storage/row_checksum.h"
#include "vipu/server/storage/store_log.h"

#define APPLICATION_ID 0x56495055 /* "VIPU"; formats 1 and 2 had none */
#define AS_TEXT(number) #number
#define PRAGMA(name, number) "PRAGMA " #name " = " AS_TEXT(number) ";"
#define MARK_FORMAT PRAGMA(application_id, APPLICATION_ID) PRAGMA(user_version, STORE_FORMAT)
#define FILE_MODE 0644u
#define DAMAGE_MAX "100"
#define HOW_TO_MEND "restore it, or run vipu-server --repair-storage"

/* A partition and its status are stored in their protobuf encoding, so that fields of later versions need no
 * new column. */
static const char schema[] =
    "CREATE TABLE partitions (id TEXT PRIMARY KEY, number INTEGER NOT NULL, operation INTEGER NOT NULL,"
    " flags INTEGER NOT NULL, partition BLOB NOT NULL, status BLOB, checksum INTEGER) WITHOUT "
    "ROWID;" MARK_FORMAT;

/* SQLite reports it for some calls only; its files remember it. */
static int system_error(sqlite3 *db)
{
    int error = sqlite3_system_errno(db);
    sqlite3_file *log = NULL;

    if (error == 0 && sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK &&
        log && log->pMethods)
        (void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
    if (error == 0)
        (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
    return error;
}

bool store_file_failed(const struct store_file *file, struct err *err)
{
    int code = sqlite3_extended_errcode(file->db), system;
    const char *text = sqlite3_errmsg(file->db);

    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set_code(err, ERR_BUSY, code, "locked by another process; stop it, or use another file");
    case SQLITE_FULL:
        return err_set_code(err, ERR_IO, code, "%s; free space there", strerror(ENOSPC));
    case SQLITE_NOTADB:
        return err_set_code(err, ERR_INVALID, code,
                            "not a database; restore it, or use another file as the storage");
    case SQLITE_CORRUPT:
    case SQLITE_ERROR: /* a statement does not fit the tables */
        return err_set_code(err, ERR_INVALID, code, "damaged: %s; " HOW_TO_MEND, text);
    case SQLITE_READONLY:
        return err_set_code(err, ERR_IO, code, "read-only; let vipu-server write the file and its folder");
    default:
        system = system_error(file->db);
        if (system == ENOSPC || system == EDQUOT)
            return err_set_code(err, ERR_IO, code, "%s; free space there", strerror(system));
        return err_set_code(err, ERR_IO, code, "%s (%s); check the disk and the rights to the folder", text,
                            strerror(system));
    }
}

bool store_file_run(const struct store_file *file, const char *sql, struct err *err)
{
    return sqlite3_exec(file->db, sql, NULL, NULL, NULL) == SQLITE_OK || store_file_failed(file, err);
}

static bool number_of(const struct store_file *file, const char *sql, int *ret, struct err *err)
{
    sqlite3_stmt *query = NULL;
    bool ok =
        sqlite3_prepare_v2(file->db, sql, -1, &query, NULL) == SQLITE_OK && sqlite3_step(query) == SQLITE_ROW;

    if (ok)
        *ret = sqlite3_column_int(query, 0);
    else
        store_file_failed(file, err);
    sqlite3_finalize(query);
    return ok;
}

static struct file_identity identity_of(const char *path)
{
    struct stat found;

    if (stat(path, &found) != 0)
        return (struct file_identity){0};
    return (struct file_identity){found.st_dev, found.st_ino};
}

static bool is_same(struct file_identity a, struct file_identity b)
{
    return a.device == b.device && a.inode == b.inode;
}

static const char *log_path(const struct store_file *file)
{
    return sqlite3_filename_wal(sqlite3_db_filename(file->db, "main"));
}

/* The bytes of a store without partitions; the caller frees them with sqlite3_free. */
static unsigned char *empty_store(sqlite3_int64 *ret_len, struct err *err)
{
    struct store_file memory = {0};
    unsigned char *bytes = NULL;

    if (sqlite3_open(":memory:", &memory.db) != SQLITE_OK)
        store_file_failed(&memory, err);
    else if (store_file_run(&memory, schema, err))
        bytes = sqlite3_serialize(memory.db, "main", ret_len, 0);
    sqlite3_close(memory.db);
    return bytes;
}

/* A log without its file is what is left of a store: SQLite would read it into the new one. */
static bool create(const char *path, struct err *err)
{
    AUTO(mem) char *log = mem_printf("%s-wal", path);
    sqlite3_int64 len = 0;
    unsigned char *bytes;
    bool ok;

    if (identity_of(log).inode)
        return err_set(err, ERR_INVALID,
                       "missing, but its log %s exists; restore the file, or delete the log to start without "
                       "partitions",
                       log);
    bytes = empty_store(&len, err);
    if (!bytes)
        return false;
    ok = file_write(path, FILE_MODE, (struct slice){(const char *)bytes, (size_t)len}, err);
    sqlite3_free(bytes);
    if (!ok)
        err_set_code(err, err->kind, err->code, "cannot be created: %s; check its folder",
                     strerror(err->code));
    return ok;
}

static bool ensure_file(const char *path, struct err *err)
{
    struct stat found;

    if (stat(path, &found) != 0)
        return errno == ENOENT ? create(path, err) : err_errno(err, errno, "cannot be read");
    if (S_ISREG(found.st_mode) && found.st_size == 0)
        return err_set(err, ERR_INVALID,
                       "empty, not a storage; restore it, or delete it to start without partitions");
    return true;
}

static bool check_format(struct store_file *file, struct err *err)
{
    int application = 0;

    if (!number_of(file, "PRAGMA application_id", &application, err) ||
        !number_of(file, "PRAGMA user_version", &file->format, err))
        return false;
    if (application != (file->format < STORE_FORMAT ? 0 : APPLICATION_ID) || file->format < 1)
        return err_set(err, ERR_INVALID,
                       "not a storage of vipu-server, or damaged; restore it, or use another file");
    if (file->format > STORE_FORMAT)
        return err_set(err, ERR_INVALID,
                       "written by a newer vipu-server (format %d, supported up to %d); run that version",
                       file->format, STORE_FORMAT);
    return true;
}

/* The lock is taken with the first read, and kept. */
static bool open_database(struct store_file *file, struct err *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;

    if (sqlite3_open_v2(file->path, &file->db, flags, NULL) != SQLITE_OK ||
        row_checksum_register(file->db) != SQLITE_OK)
        return store_file_failed(file, err);
    return store_file_run(file, "PRAGMA locking_mode=EXCLUSIVE", err) && check_format(file, err);
}

/* Adds the first column of each row, on one line. */
static int add_problem(void *ctx, int count, char **columns, char **names)
{
    char *text;

    (void)names;
    if (count < 1 || !columns[0] || str_eq(columns[0], "ok"))
        return 0;
    text = mem_strdup(columns[0]);
    for (char *c = text; *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    strv_push_take(ctx, text);
    return 0;
}

static bool look_for_damage(const struct store_file *file, struct strv *problems, struct err *err)
{
    static const char pages[] = "PRAGMA quick_check(" DAMAGE_MAX ")";
    static const char rows[] = "SELECT printf('partition %Q has a wrong checksum', id) FROM partitions"
                               " WHERE checksum IS NOT " STORE_ROW_CHECKSUM " LIMIT " DAMAGE_MAX;

    if (!store_log_check(log_path(file), err))
        strv_push(problems, err->msg);
    if (sqlite3_exec(file->db, pages, add_problem, problems, NULL) != SQLITE_OK)
        return store_file_failed(file, err);
    return file->format < STORE_FORMAT || problems->count > 0 ||
           sqlite3_exec(file->db, rows, add_problem, problems, NULL) == SQLITE_OK ||
           store_file_failed(file, err);
}

static bool check(const struct store_file *file, struct err *err)
{
    AUTO(strv) struct strv problems = {0};

    if (!look_for_damage(file, &problems, err))
        return false;
    return problems.count == 0 ||
           err_set(err, ERR_INVALID, "damaged: %.80s; " HOW_TO_MEND, problems.items[0]);
}

/* An acknowledged change survives a loss of power: with FULL, the log is synced at each commit
 * (https://www.sqlite.org/pragma.html#pragma_synchronous). */
static bool prepare_log(struct store_file *file, struct err *err)
{
    return store_file_run(file, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; BEGIN EXCLUSIVE; COMMIT",
                          err);
}

static bool upgrade(struct store_file *file, struct err *err)
{
    static const char finish[] =
        "ALTER TABLE partitions ADD COLUMN checksum INTEGER;"
        "UPDATE partitions SET checksum = " STORE_ROW_CHECKSUM ";" MARK_FORMAT "COMMIT";

    if (file->format == STORE_FORMAT)
        return true;
    return store_file_run(file, "BEGIN", err) &&
           (file->format > 1 || store_file_run(file, "ALTER TABLE partitions ADD COLUMN status BLOB", err)) &&
           store_file_run(file, finish, err);
}

static bool open_file(struct store_file *file, struct err *err)
{
    if (!ensure_file(file->path, err))
        return false;
    file->identity = identity_of(file->path);
    if (!open_database(file, err) || !check(file, err) || !prepare_log(file, err) || !upgrade(file, err))
        return false;
    file->format = STORE_FORMAT;
    file->log = identity_of(log_path(file));
    return true;
}

static void close_database(struct store_file *file)
{
    sqlite3_close(file->db);
    file->db = NULL;
}

bool store_file_open(struct store_file *file, const char *path, struct err *err)
{
    *file = (struct store_file){.path = mem_strdup(path)};
    if (open_file(file, err))
        return true;
    store_file_close(file);
    return false;
}

bool store_file_open_damaged(struct store_file *file, const char *path, struct err *err)
{
    *file = (struct store_file){.path = mem_strdup(path)};
    if (!identity_of(path).inode)
        err_errno(err, errno, "cannot be read");
    else if (ensure_file(path, err) && open_database(file, err) &&
             sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK)
        return true;
    store_file_close(file);
    return false;
}

bool store_file_inspect(struct store_file *file, const char *path, struct strv *problems, struct err *err)
{
    if (!store_file_open_damaged(file, path, err))
        return false;
    if (look_for_damage(file, problems, err))
        return true;
    store_file_close(file);
    return false;
}

bool store_file_is_in_place(const struct store_file *file)
{
    return file->db && is_same(file->identity, identity_of(file->path)) &&
           is_same(file->log, identity_of(log_path(file)));
}

bool store_file_renew(struct store_file *file, struct err *err)
{
    struct file_identity found = identity_of(file->path);
    AUTO(mem) char *log = mem_printf("%s-wal", file->path);

    if (found.inode && !is_same(found, file->identity))
        return err_set(err, ERR_IO, "another file has its name; put the file back, or restart vipu-server");
    close_database(file);
    /* The log of a file that is gone: what it has is in memory, too. */
    if (!found.inode && is_same(identity_of(log), file->log))
        (void)unlink(log);
    if (open_file(file, err))
        return true;
    close_database(file);
    return false;
}

void store_file_close(struct store_file *file)
{
    close_database(file);
    mem_free(file->path);
    *file = (struct store_file){0};
}
