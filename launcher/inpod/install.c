#include "launcher/inpod/install.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/env/preload.h"
#include "launcher/process/bundled_programs.h"
#include "launcher/process/executable.h"

#define BLOCK_BYTES (64 * 1024)

/* In this order, so that whenever ipu-launch is visible, its companions are too. */
#define NAME(name, function) name,
static const char *const links[] = {BUNDLED_PROGRAMS(NAME)};
static const char *const names[] = {PRELOAD_FILE, BUNDLED_PROGRAMS_FILE, BUNDLED_PROGRAMS(NAME) INSTALL_NAME};

/* Everything is created here before it is moved. */
struct draft {
    const char *dir;
    char *folder; /* in dir */
};

static bool explain_write(const struct draft *draft, int errnum, struct err *err)
{
    err_errno(err, errnum, "cannot write to %s", draft->dir);
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

static bool pour(const struct draft *draft, const char *source, int from, int to, struct err *err)
{
    static char block[BLOCK_BYTES];
    ssize_t got;

    while ((got = read(from, block, sizeof block)) != 0) {
        if (got < 0 && errno != EINTR)
            return err_errno(err, errno, "cannot read %s", source);
        if (got > 0 && !write_all(to, block, (size_t)got))
            return explain_write(draft, errno, err);
    }
    /* Any user may run it, whatever the umask. */
    return fchmod(to, 0755) == 0 || explain_write(draft, errno, err);
}

/* Some file systems report a full disk only now. A file that is still open for writing could not be
 * executed. */
static bool finish(const struct draft *draft, int *to, struct err *err)
{
    int closed = close(*to);

    *to = -1;
    return closed == 0 || explain_write(draft, errno, err);
}

static bool copy(const struct draft *draft, const char *source, const char *name, struct err *err)
{
    AUTO(mem) char *path = mem_printf("%s/%s", draft->folder, name);
    AUTO(fd) int from = open(source, O_RDONLY | O_CLOEXEC);
    AUTO(fd) int to = -1;

    if (from < 0)
        return err_errno(err, errno, "cannot read %s", source);
    to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (to < 0)
        return explain_write(draft, errno, err);
    return pour(draft, source, from, to, err) && finish(draft, &to, err);
}

static bool link_companions(const struct draft *draft, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(links); i++) {
        AUTO(mem) char *path = mem_printf("%s/%s", draft->folder, links[i]);

        if (symlink(BUNDLED_PROGRAMS_FILE, path) != 0)
            return explain_write(draft, errno, err);
    }
    return true;
}

static bool fill(const struct draft *draft, struct err *err)
{
    AUTO(mem) char *self = executable_path();
    AUTO(mem) char *home = executable_dir();

    if (!self || !home)
        return err_set(err, ERR_IO, "cannot find this program's file; call it by its absolute path");

    AUTO(mem) char *companions = mem_printf("%s/" BUNDLED_PROGRAMS_FILE, home);
    AUTO(mem) char *library = mem_printf("%s/" PRELOAD_FILE, home);

    return copy(draft, self, INSTALL_NAME, err) && copy(draft, companions, BUNDLED_PROGRAMS_FILE, err) &&
           copy(draft, library, PRELOAD_FILE, err) && link_companions(draft, err);
}

static bool publish(const struct draft *draft, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO(mem) char *made = mem_printf("%s/%s", draft->folder, names[i]);
        AUTO(mem) char *file = mem_printf("%s/%s", draft->dir, names[i]);

        if (rename(made, file) != 0)
            return explain_write(draft, errno, err);
    }
    return true;
}

static void clear(const struct draft *draft)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO(mem) char *left = mem_printf("%s/%s", draft->folder, names[i]);

        (void)unlink(left);
    }
    (void)rmdir(draft->folder);
}

bool install_into(const char *dir, struct err *err)
{
    /* A random name: two containers have the same process id. */
    AUTO(mem) char *folder = mem_printf("%s/." INSTALL_NAME ".XXXXXX", dir);
    struct draft draft = {.dir = dir, .folder = folder};
    bool good;

    if (!mkdtemp(folder))
        return explain_write(&draft, errno, err);
    good = fill(&draft, err) && publish(&draft, err);
    clear(&draft);
    return good;
}
