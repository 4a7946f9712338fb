#include "launcher/poprun/host/host_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "launcher/poprun/host/remove_tree.h"

#define MODE 0700

enum { ATTEMPTS = 100 };

static bool is_there(const char *path, int fd)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

static bool is_own(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 && about.st_uid == geteuid();
}

/* An instance that has already ended may remove it between any two steps; then it is created again. */
bool host_cache_take(const char *path, int *ret, struct err *err)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        AUTO(fd) int fd = -1;

        if (mkdir(path, MODE) != 0 && errno != EEXIST)
            return err_errno(err, errno, "cannot create %s", path);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return err_errno(err, errno, "%s", path);
        if (!is_own(fd))
            return err_set(err, ERR_DENIED, "%s belongs to another user", path);
        if (flock(fd, LOCK_SH) != 0 && errno != ENOLCK &&
            errno != EOPNOTSUPP) /* nothing can be cleaned up there */
            return err_errno(err, errno, "cannot lock %s", path);
        if (is_there(path, fd)) {
            *ret = fd;
            fd = -1;
            return true;
        }
    }
    return err_set(err, ERR_BUSY, "%s keeps being removed", path);
}

/* If two leave at the same time, one of them sees that it is the last: each releases its own lock before it
 * checks. */
void host_cache_leave(const char *path, int hold)
{
    if (flock(hold, LOCK_EX | LOCK_NB) == 0 && is_there(path, hold))
        (void)remove_tree(path);
    (void)close(hold);
}

static void sweep_one(const char *path)
{
    AUTO(fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && is_own(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_there(path, fd))
        (void)remove_tree(path);
}

void host_cache_sweep(const char *folder)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;

    if (!entries)
        return;
    while ((entry = readdir(entries))) {
        AUTO(mem) char *path = mem_printf("%s/%s", folder, entry->d_name);

        if (str_has_prefix(entry->d_name, HOST_CACHE_NAME))
            sweep_one(path);
    }
    (void)closedir(entries);
}
