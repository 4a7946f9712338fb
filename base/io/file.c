#include "base/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"

bool file_read(const char *path, size_t max_bytes, struct str *ret, struct err *err)
{
    char piece[16 * 1024];
    AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    AUTO(str) struct str bytes = {.max = max_bytes ? max_bytes : 1};

    if (fd < 0)
        return err_errno(err, errno, "%s", path);
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "%s", path);
        if (got == 0)
            break;
        if (bytes.len + (size_t)got > max_bytes || !str_add(&bytes, piece, (size_t)got))
            return err_set(err, ERR_INVALID, "%s: larger than the limit of %zu bytes", path, max_bytes);
    }
    if (!str_add(ret, str_text(&bytes), bytes.len))
        return err_set(err, ERR_INVALID, "%s: larger than the limit of %zu bytes", path, ret->max);
    return true;
}

static bool write_all(int fd, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t put = write(fd, bytes.ptr, bytes.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes.ptr += put;
        bytes.len -= (size_t)put;
    }
    return true;
}

/* The new name is only on disk when its directory is. */
static bool sync_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO(mem) char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
    AUTO(fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && fsync(fd) == 0;
}

bool file_write(const char *path, unsigned mode, struct slice bytes, struct err *err)
{
    AUTO(mem) char *beside = mem_printf("%s.XXXXXX", path);
    AUTO(fd) int fd = mkostemp(beside, O_CLOEXEC);

    if (fd < 0)
        return err_errno(err, errno, "%s", path);
    if (!write_all(fd, bytes) || fchmod(fd, mode) || fsync(fd) || rename(beside, path) ||
        !sync_directory(path)) {
        int saved = errno;
        (void)unlink(beside);
        return err_errno(err, saved, "%s", path);
    }
    return true;
}

bool file_path_is_inside(const char *path)
{
    bool is_inside = *path && *path != '/';

    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        is_inside = is_inside && (strncmp(part, "..", 2) != 0 || (part[2] && part[2] != '/'));
    }
    return is_inside;
}
