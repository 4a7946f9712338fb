/* A library to preload into vipu-server: the process kills itself at the n-th write, truncation or sync of
 * its storage. CRASH_AT is n, CRASH_HOW is "before", "half" (of the bytes are written) or "after" it; or
 * "full": it lives, but from there on the disk is full. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum how { BEFORE, HALF, AFTER, FULL };

static long left;
static enum how how;

__attribute__((constructor)) static void read_orders(void)
{
    const char *at = getenv("CRASH_AT"), *word = getenv("CRASH_HOW");

    left = at ? strtol(at, NULL, 10) : 0;
    how = !word || strcmp(word, "before") == 0 ? BEFORE
          : strcmp(word, "half") == 0          ? HALF
          : strcmp(word, "after") == 0         ? AFTER
                                               : FULL;
}

static int is_storage(int fd)
{
    char link[64] = "/proc/self/fd/", path[4096], digits[16];
    size_t n = sizeof(digits);
    ssize_t len;

    digits[--n] = '\0';
    for (unsigned rest = (unsigned)fd; n > 0 && (rest > 0 || digits[n] == '\0'); rest /= 10)
        digits[--n] = (char)('0' + rest % 10);
    memcpy(link + strlen(link), digits + n, sizeof(digits) - n);
    len = readlink(link, path, sizeof(path) - 1);
    if (len <= 0)
        return 0;
    path[len] = '\0';
    return strstr(path, ".db") != NULL;
}

static void die(void)
{
    (void)kill(getpid(), SIGKILL);
}

/* True when this is the one; with a full disk, and each one after it. */
static int is_due(int fd)
{
    if (left <= 0 || !is_storage(fd))
        return 0;
    if (left > 1) {
        left--;
        return 0;
    }
    if (how != FULL)
        left = 0;
    return 1;
}

static int reject(void)
{
    errno = ENOSPC;
    return -1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    int due = is_due(fd);
    ssize_t done;

    if (due && how == FULL)
        return reject();
    if (due && how == BEFORE)
        die();
    done = syscall(SYS_pwrite64, fd, bytes, due && how == HALF ? len / 2 : len, at);
    if (due)
        die();
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    return pwrite64(fd, bytes, len, at);
}

int ftruncate64(int fd, off64_t len)
{
    int due = is_due(fd);
    int done;

    if (due && how == FULL)
        return reject();
    if (due && how != AFTER)
        die();
    done = (int)syscall(SYS_ftruncate, fd, len);
    if (due)
        die();
    return done;
}

int ftruncate(int fd, off_t len)
{
    return ftruncate64(fd, len);
}

int fdatasync(int fd)
{
    int due = is_due(fd);
    int done;

    if (due && how == FULL)
        return reject();
    if (due && how != AFTER)
        die();
    done = (int)syscall(SYS_fdatasync, fd);
    if (due)
        die();
    return done;
}

int fsync(int fd)
{
    return fdatasync(fd);
}
