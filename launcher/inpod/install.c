#include "launcher/inpod/install.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/inpod/self.h"

#define BLOCK_BYTES (64 * 1024)

static bool open_self(int *ret, struct err *err)
{
    AUTO(mem) char *file = self_file();

    if (!file)
        return err_set(err, ERR_IO, "cannot tell where this program's file is; call it by its absolute path");
    *ret = open(file, O_RDONLY | O_CLOEXEC);
    return *ret >= 0 || err_errno(err, errno, "cannot read %s", file);
}

static bool explain_write(const char *dir, int errnum, struct err *err)
{
    err_errno(err, errnum, "cannot write %s/%s", dir, INSTALL_NAME);
    if (errnum == ENOSPC || errnum == EDQUOT)
        return err_set_code(err, err->kind, errnum, "%s; give the volume a larger size limit", err->msg);
    if (errnum == EROFS)
        return err_set_code(err, err->kind, errnum, "%s; mount the volume writable here", err->msg);
    if (errnum == ENOENT || errnum == ENOTDIR)
        return err_set_code(err, err->kind, errnum, "%s; mount a volume at this directory", err->msg);
    if (errnum == EACCES || errnum == EPERM)
        return err_set_code(err, err->kind, errnum, "%s; let uid %u write there", err->msg,
                            (unsigned)geteuid());
    return false;
}

static bool write_all(int to, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t put = write(to, bytes, len);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        len -= (size_t)put;
    }
    return true;
}

static bool copy(int from, int to, const char *dir, struct err *err)
{
    static char block[BLOCK_BYTES];
    ssize_t got;

    while ((got = read(from, block, sizeof block)) != 0) {
        if (got < 0 && errno != EINTR)
            return err_errno(err, errno, "cannot read this program's own file");
        if (got > 0 && !write_all(to, block, (size_t)got))
            return explain_write(dir, errno, err);
    }
    return true;
}

/* Any user may run it, whatever umask says. */
static bool fill(int to, const char *dir, struct err *err)
{
    AUTO(fd) int from = -1;

    if (!open_self(&from, err) || !copy(from, to, dir, err))
        return false;
    return fchmod(to, 0755) == 0 || explain_write(dir, errno, err);
}

/* Some file systems report a full disk only now. A file that is still open for writing could not be executed.
 */
static bool finish(int *to, const char *dir, struct err *err)
{
    int closed = close(*to);

    *to = -1;
    return closed == 0 || explain_write(dir, errno, err);
}

static bool put(int *to, const char *draft, const char *dir, struct err *err)
{
    AUTO(mem) char *file = mem_printf("%s/%s", dir, INSTALL_NAME);

    if (!fill(*to, dir, err) || !finish(to, dir, err))
        return false;
    return rename(draft, file) == 0 || explain_write(dir, errno, err);
}

bool install_into(const char *dir, struct err *err)
{
    /* A random name: two containers have the same process id. */
    AUTO(mem) char *draft = mem_printf("%s/.%s.XXXXXX", dir, INSTALL_NAME);
    AUTO(fd) int to = mkostemp(draft, O_CLOEXEC);

    if (to < 0)
        return explain_write(dir, errno, err);
    if (put(&to, draft, dir, err))
        return true;
    (void)unlink(draft);
    return false;
}
