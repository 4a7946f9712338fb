#include "vipu/server/storage/store_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"

#define HEADER_BYTES 32u
#define FRAME_BYTES 24u /* before its page */
#define MAGIC 0x377f0682u
#define SALT_AT 16u      /* in the header */
#define FRAME_SALT_AT 8u /* in a frame */
#define FRAME_SUM_AT 16u
#define SALT_BYTES 8u
#define PAGE_MIN 512u
#define PAGE_MAX 65536u

struct sum {
    uint32_t a, b;
};

struct log {
    int fd;
    uint32_t page_bytes;
    bool is_big_endian; /* the words that are summed */
    struct sum sum;     /* of everything so far */
    unsigned char header[HEADER_BYTES];
    unsigned char frame[FRAME_BYTES + PAGE_MAX];
};

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t little_endian(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static void add(struct log *log, const unsigned char *bytes, size_t len)
{
    uint32_t (*word)(const unsigned char *) = log->is_big_endian ? big_endian : little_endian;

    for (size_t i = 0; i < len; i += 8) {
        log->sum.a += word(bytes + i) + log->sum.b;
        log->sum.b += word(bytes + i + 4) + log->sum.a;
    }
}

static bool has_sum(const struct log *log, const unsigned char *stored)
{
    return big_endian(stored) == log->sum.a && big_endian(stored + 4) == log->sum.b;
}

/* False at the end of the log, also in the middle of a frame. */
static bool read_frame(struct log *log, uint64_t number)
{
    size_t len = FRAME_BYTES + log->page_bytes;

    return pread(log->fd, log->frame, len, (off_t)(HEADER_BYTES + number * len)) == (ssize_t)len;
}

/* Since the log began again; older frames stay behind the end. */
static bool is_current(const struct log *log)
{
    return memcmp(log->frame + FRAME_SALT_AT, log->header + SALT_AT, SALT_BYTES) == 0;
}

static bool is_commit(const struct log *log)
{
    return big_endian(log->frame + 4) != 0;
}

/* Adds it to the sum; whether it continues what was summed before. */
static bool add_frame(struct log *log)
{
    add(log, log->frame, 8);
    add(log, log->frame + FRAME_BYTES, log->page_bytes);
    return is_current(log) && has_sum(log, log->frame + FRAME_SUM_AT);
}

static bool continues(struct log *log, struct sum before)
{
    log->sum = before;
    return add_frame(log);
}

/* The frame after the last one that SQLite reads, and the sum up to it. */
static uint64_t find_end(struct log *log, struct sum *ret_sum)
{
    uint64_t number = 0;

    for (*ret_sum = log->sum; read_frame(log, number) && continues(log, *ret_sum); number++)
        *ret_sum = log->sum;
    return number;
}

static struct sum stored_sum(const struct log *log)
{
    return (struct sum){big_endian(log->frame + FRAME_SUM_AT), big_endian(log->frame + FRAME_SUM_AT + 4)};
}

/* Each transaction is synced before the next one begins, so a crash leaves at most one incomplete. Those that
 * could not be synced leave frames, too, but never two transactions in one chain, where each frame continues
 * the sum of the one before it: either the sum that this one has, or the sum that it should have. */
static bool has_lost_commits(struct log *log)
{
    struct sum computed, stored;
    uint64_t number = find_end(log, &computed);
    unsigned commits = 0; /* of this chain */

    for (stored = computed; commits < 2 && read_frame(log, number); number++) {
        if (!continues(log, computed) && !continues(log, stored))
            commits = 0;
        commits += is_commit(log);
        computed = log->sum;
        stored = stored_sum(log);
    }
    return commits > 1;
}

static bool read_header(struct log *log)
{
    uint32_t magic;

    if (pread(log->fd, log->header, HEADER_BYTES, 0) != HEADER_BYTES)
        return false;
    magic = big_endian(log->header);
    log->page_bytes = big_endian(log->header + 8);
    log->is_big_endian = magic & 1;
    add(log, log->header, HEADER_BYTES - 8);
    return (magic & ~1u) == MAGIC && log->page_bytes >= PAGE_MIN && log->page_bytes <= PAGE_MAX &&
           (log->page_bytes & (log->page_bytes - 1)) == 0 && has_sum(log, log->header + 24);
}

/* A log that begins again gets a header with other salts, and its frames are older. If the header does not
 * fit its checksum but has one of their salts, it is theirs, and damaged. */
static bool has_lost_header(struct log *log)
{
    return pread(log->fd, log->frame, FRAME_BYTES, HEADER_BYTES) == FRAME_BYTES &&
           (memcmp(log->frame + FRAME_SALT_AT, log->header + SALT_AT, 4) == 0 ||
            memcmp(log->frame + FRAME_SALT_AT + 4, log->header + SALT_AT + 4, 4) == 0);
}

bool store_log_check(const char *path, struct err *err)
{
    AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    AUTO(mem) struct log *log = NEW(struct log);

    if (fd < 0)
        return errno == ENOENT || err_errno(err, errno, "log cannot be read");
    log->fd = fd;
    if (read_header(log) ? has_lost_commits(log) : has_lost_header(log))
        return err_set(err, ERR_INVALID, "its log is damaged, and partitions may be out of date");
    return true;
}
