/* Who is attached to a run of IPUs: the record that an attached program writes beside its lock, one line of
 * text that any other program of the host may read. Its content is not trusted: a malformed record is
 * ignored, and control characters are never passed on. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOCK_RECORD_BYTES 512u
#define LOCK_RECORD_TEXT_BYTES 64u

struct lock_record {
    uint32_t first; /* single IPUs [first, first + count) of the domain */
    uint32_t count;
    int64_t pid;        /* in its own namespace */
    uint64_t pid_space; /* which namespace: the inode of /proc/PID/ns/pid */
    int64_t since_unix_s;
    bool monitored; /* it reads the sensors (GCDA_MONITOR) */
    char user[LOCK_RECORD_TEXT_BYTES];
    char host[LOCK_RECORD_TEXT_BYTES];
    char command[LOCK_RECORD_TEXT_BYTES];
};

/* Truncates what is too long and replaces what would break the line. */
void lock_record_set_text(char *slot, const char *text);
/* Always terminated by a newline and then NULs. */
void lock_record_format(const struct lock_record *holder, char record[LOCK_RECORD_BYTES]);
/* False if the bytes are not a record. */
bool lock_record_parse(const char record[LOCK_RECORD_BYTES], struct lock_record *ret);
