#include "kubectl/core/archive.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Offsets of fields in a header. */
enum {
    NAME = 0,
    MODE = 100,
    UID = 108,
    GID = 116,
    SIZE = 124,
    MTIME = 136,
    CHECKSUM = 148,
    TYPE = 156,
    MAGIC = 257
};
enum { CHECKSUM_LEN = 8 };

static void put_octal(unsigned char *field, int digits, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%0*llo", digits, (unsigned long long)value);
    memcpy(field, text, (size_t)digits);
}

/* Parts of a name come from the API server: none leads out of the folder, or is hidden in it. */
static void put_name(unsigned char *field, const char *name)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    bool is_start = true;

    for (size_t i = 0; i < ARCHIVE_NAME_MAX && name[i]; i++) {
        bool is_kept = strchr(harmless, name[i]) || (!is_start && (name[i] == '/' || name[i] == '.'));

        field[i] = is_kept ? (unsigned char)name[i] : '_';
        is_start = field[i] == '/';
    }
}

void archive_header(const char *name, uint64_t size, int64_t time_s, unsigned char ret[ARCHIVE_BLOCK])
{
    uint64_t sum = 0;

    memset(ret, 0, ARCHIVE_BLOCK);
    put_name(ret + NAME, name);
    put_octal(ret + MODE, 7, 0600);
    put_octal(ret + UID, 7, 0);
    put_octal(ret + GID, 7, 0);
    put_octal(ret + SIZE, 11, size);
    put_octal(ret + MTIME, 11, time_s > 0 ? (uint64_t)time_s : 0);
    ret[TYPE] = '0';
    memcpy(ret + MAGIC,
           "ustar\0"
           "00",
           8);
    memset(ret + CHECKSUM, ' ', CHECKSUM_LEN); /* as it counts in the sum */
    for (size_t i = 0; i < ARCHIVE_BLOCK; i++)
        sum += ret[i];
    put_octal(ret + CHECKSUM, 6, sum);
    ret[CHECKSUM + 6] = '\0';
}

size_t archive_padding(uint64_t size)
{
    return (size_t)((ARCHIVE_BLOCK - size % ARCHIVE_BLOCK) % ARCHIVE_BLOCK);
}
