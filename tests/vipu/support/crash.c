/* A library to preload into vipu-server: something happens at the n-th write, truncation or sync of its
 * storage. CRASH_AT is n, CRASH_HOW is what:
 *
 *     before, half, after    the process kills itself, before it, in the middle of its bytes, or after it
 *     power                  before it, and whatever was not synced is lost, too
 *     full, readonly         from there on the disk is full, or read-only, as long as the file CRASH_WHILE
 * exists
 *     hang                   the disk does nothing as long as that file exists
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum how { BEFORE, HALF, AFTER, POWER, FULL, READONLY, HANG };

/* What a write that was not synced has replaced. */
struct unsynced {
    struct unsynced *last;
    int fd;
    off64_t at, file_len;
    size_t len;
    char bytes[];
};

static long left;
static enum how how;
static const char *lasts_while;
static struct unsynced *unsynced;

__attribute__((constructor)) static void read_orders(void)
{
    static const char *const words[] = {"before", "half", "after", "power", "full", "readonly", "hang"};
    const char *at = getenv("CRASH_AT"), *word = getenv("CRASH_HOW");

    left = at ? strtol(at, NULL, 10) : 0;
    lasts_while = getenv("CRASH_WHILE");
    while (word && how < HANG && strcmp(word, words[how]) != 0)
        how++;
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

static void lose_unsynced(void)
{
    for (const struct unsynced *u = unsynced; u; u = u->last) {
        (void)!syscall(SYS_pwrite64, u->fd, u->bytes, u->len, u->at);
        (void)!syscall(SYS_ftruncate, u->fd, u->file_len);
    }
}

static void note_unsynced(int fd, size_t len, off64_t at)
{
    struct unsynced *u = malloc(sizeof(*u) + len);
    struct stat found;
    ssize_t got;

    if (!u || fstat(fd, &found) != 0)
        abort();
    got = pread(fd, u->bytes, len, at);
    u->last = unsynced;
    u->fd = fd;
    u->at = at;
    u->file_len = found.st_size;
    u->len = got > 0 ? (size_t)got : 0;
    unsynced = u;
}

static void forget_synced(int fd)
{
    for (struct unsynced **at = &unsynced; *at;) {
        struct unsynced *u = *at;

        if (u->fd != fd) {
            at = &u->last;
            continue;
        }
        *at = u->last;
        free(u);
    }
}

static int is_rejected(void)
{
    return (how == FULL || how == READONLY) && (!lasts_while || access(lasts_while, F_OK) == 0);
}

/* Whether this is the one. */
static int is_due(int fd)
{
    if (left <= 0 || !is_storage(fd))
        return 0;
    if (how == HANG) {
        while (access(lasts_while, F_OK) == 0)
            (void)usleep(1000);
        return 0;
    }
    if (left > 1) {
        left--;
        return 0;
    }
    if (how == FULL || how == READONLY)
        return is_rejected();
    left = 0;
    if (how == POWER)
        lose_unsynced();
    return 1;
}

static int reject(void)
{
    errno = how == FULL ? ENOSPC : EROFS;
    return -1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    int due = is_due(fd);
    ssize_t done;

    if (due && how >= FULL)
        return reject();
    if (due && (how == BEFORE || how == POWER))
        die();
    if (how == POWER && is_storage(fd))
        note_unsynced(fd, len, at);
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

    if (due && how >= FULL)
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

    if (due && how >= FULL)
        return reject();
    if (due && how != AFTER)
        die();
    done = (int)syscall(SYS_fdatasync, fd);
    if (due)
        die();
    forget_synced(fd);
    return done;
}

int fsync(int fd)
{
    return fdatasync(fd);
}
