/* The SQLite file of a store: creates it, recognizes it, checks it, and notices when it is no longer where it
 * was. It is created completely or not at all, so an empty file is never one of a server that was killed. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <sqlite3.h>

#include "base/core/err.h"
#include "base/core/str.h"

/* Which file has a name. */
struct file_identity {
    dev_t device;
    ino_t inode; /* 0: no file */
};

struct store_file {
    sqlite3 *db; /* NULL: closed */
    char *path;  /* as it was given */
    int format;
    struct file_identity identity, log; /* of the file and its write-ahead log, when it was opened */
};

#define STORE_FORMAT 3
#define STORE_ROW_CHECKSUM "row_checksum(id, number, operation, flags, partition, status)"

/* Creates the file if it is missing, upgrades older formats, and checks it. ERR_BUSY: another process uses
 * it; ERR_INVALID: not a file of vipu-server, or a damaged one. Nothing is written to a sound file of the
 * current format, so it can be opened while the disk is full. */
MUST_USE bool store_file_open(struct store_file *file, const char *path, struct err *err);
/* The same for a file that must be there, without changing it; adds every kind of damage to `problems`.
 * False: it cannot be checked. */
MUST_USE bool store_file_inspect(struct store_file *file, const char *path, struct strv *problems,
                                 struct err *err);
/* For a file that is to be read as far as possible, and stays as it is. */
MUST_USE bool store_file_open_damaged(struct store_file *file, const char *path, struct err *err);
/* The file and its log still have their names: what is written to them is found again. */
bool store_file_is_in_place(const struct store_file *file);
/* For a file that is not in place: closes it, and opens or creates it again. Rows may be missing. Rejects if
 * another file has its name. */
MUST_USE bool store_file_renew(struct store_file *file, struct err *err);
void store_file_close(struct store_file *file);

MUST_USE bool store_file_run(const struct store_file *file, const char *sql, struct err *err);
/* Describes the last failure of SQLite, with what to do; returns false. */
bool store_file_failed(const struct store_file *file, struct err *err);
