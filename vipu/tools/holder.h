/* Who is attached to a run of IPUs: the record that an attached program leaves beside its lock, as one line
 * of text that any other program of the host may read. Nothing in it is trusted: a record that does not fit
 * is no record, and control characters never get through. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOLDER_RECORD_BYTES 512u
#define HOLDER_TEXT_BYTES 64u

struct holder {
    uint32_t first; /* single IPUs [first, first + count) of the domain */
    uint32_t count;
    int64_t pid;        /* in its own namespace */
    uint64_t pid_space; /* which namespace: the inode of /proc/PID/ns/pid */
    int64_t since_unix_s;
    bool monitored; /* it reads the sensors (GCDA_MONITOR) */
    char user[HOLDER_TEXT_BYTES];
    char host[HOLDER_TEXT_BYTES];
    char command[HOLDER_TEXT_BYTES];
};

/* Cuts what is too long and replaces what would break the line. */
void holder_set_text(char *slot, const char *text);
/* Always terminated by a newline and then NULs. */
void holder_format(const struct holder *holder, char record[HOLDER_RECORD_BYTES]);
/* False when the bytes are no record. */
bool holder_parse(const char record[HOLDER_RECORD_BYTES], struct holder *ret);
