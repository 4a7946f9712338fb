#include "local/run/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "local/node/pod_dir.h"

static bool make_dir(const char *path, struct err *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    return err_errno(err, errno, "cannot create %s", path) ||
           err_set_code(err, err->kind, err->code, "%s; name a writable directory with --run-dir", err->msg);
}

static bool make_dirs(const char *path, struct err *err)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        AUTO(mem) char *parent = mem_strndup(path, (size_t)(slash - path));

        if (access(parent, F_OK) != 0 && !make_dir(parent, err))
            return false;
    }
    return make_dir(path, err);
}

/* Nobody's files are removed: a directory of a run has a lock, or is empty. */
static bool is_of_a_run(const char *path, const char *lock_path)
{
    DIR *dir = opendir(path);
    bool is_empty = true;

    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
        is_empty = is_empty && (str_eq(entry->d_name, ".") || str_eq(entry->d_name, ".."));
    if (dir)
        (void)closedir(dir);
    return is_empty || access(lock_path, F_OK) == 0;
}

static bool lock(struct run_dir *dir, struct err *err)
{
    AUTO(mem) char *path = mem_printf("%s/lock", dir->path);

    if (!is_of_a_run(dir->path, path))
        return err_set(err, ERR_EXISTS,
                       "%s is not empty, and not the directory of a run; name another one with --run-dir",
                       dir->path);
    dir->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (dir->lock < 0)
        return err_errno(err, errno, "cannot create %s", path);
    if (flock(dir->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    return err_set(err, ERR_BUSY, "%s is in use by another ipu-run; name another directory with --run-dir",
                   dir->path);
}

/* Beside this program, or where a build has it. */
static bool find_ipu_launch(char ret[PATH_MAX], struct err *err)
{
    static const char *const places[] = {"ipu-launch", "../launcher/ipu-launch"};
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    self[len > 0 ? len : 0] = '\0';
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        AUTO(mem) char *path = mem_printf("%.*s%s", (int)(strrchr(self, '/') - self + 1), self, places[i]);

        if (realpath(path, ret) && access(ret, X_OK) == 0)
            return true;
    }
    return err_set(err, ERR_NOT_FOUND, "ipu-launch is not beside %s; install it there", self);
}

static bool install_launcher(const struct run_dir *dir, struct err *err)
{
    char program[PATH_MAX];
    char *argv[] = {program, (char[]){"install"}, dir->launcher, NULL};
    int status, failed;
    pid_t pid;

    if (!find_ipu_launch(program, err) || !pod_dir_create(dir->launcher, err))
        return false;
    failed = posix_spawn(&pid, program, NULL, NULL, argv, environ);
    if (failed)
        return err_errno(err, failed, "cannot run %s", program);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0 || err_set(err, ERR_IO, "cannot install ipu-launch into %s", dir->launcher);
}

static void remove_storage(const struct run_dir *dir)
{
    static const char *const names[] = {"vipu.db", "vipu.db-wal", "vipu.db-shm", "vipu.db-journal"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO(mem) char *path = mem_printf("%s/%s", dir->path, names[i]);

        (void)unlink(path);
    }
}

/* Of this run, or of one that was killed. */
static void remove_temporary(const struct run_dir *dir)
{
    pod_dir_remove(dir->pods);
    pod_dir_remove(dir->launcher);
    pod_dir_remove(dir->credentials);
    remove_storage(dir);
}

/* As main.c wrote them: one file for each job. */
static void remove_final_states(const struct run_dir *dir)
{
    DIR *entries = opendir(dir->path);

    for (struct dirent *entry = entries ? readdir(entries) : NULL; entry; entry = readdir(entries))
        if (str_has_suffix(entry->d_name, ".json"))
            (void)unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        (void)closedir(entries);
}

bool run_dir_open(struct run_dir *dir, const char *path, struct err *err)
{
    *dir = (struct run_dir){.path = mem_strdup(path),
                            .logs = mem_printf("%s/logs", path),
                            .pods = mem_printf("%s/pods", path),
                            .launcher = mem_printf("%s/launcher", path),
                            .credentials = mem_printf("%s/credentials", path),
                            .lock = -1};
    if (!make_dirs(path, err) || !lock(dir, err))
        return false;
    remove_temporary(dir);
    remove_final_states(dir);
    pod_dir_remove(dir->logs);
    return make_dir(dir->logs, err) && make_dir(dir->pods, err) && make_dir(dir->credentials, err) &&
           install_launcher(dir, err);
}

/* As default_dir in main.c names them: 20261126-204755-4711. */
static bool is_default_name(const char *name)
{
    return strspn(name, "0123456789") == 8 && name[8] == '-' && strspn(name + 9, "0123456789") == 6 &&
           name[15] == '-' && name[16] && !name[16 + strspn(name + 16, "0123456789")];
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(*(char *const *)b, *(char *const *)a);
}

void run_dir_remove_old(const char *path)
{
    AUTO(mem) char *parent = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
    AUTO(strv) struct strv names = {0};
    DIR *entries = opendir(parent);

    for (struct dirent *entry = entries ? readdir(entries) : NULL; entry; entry = readdir(entries))
        if (is_default_name(entry->d_name))
            strv_push(&names, entry->d_name);
    if (entries)
        (void)closedir(entries);
    if (names.count > RUNS_KEPT)
        qsort(names.items, names.count, sizeof(*names.items), newest_first);
    for (size_t i = RUNS_KEPT; i < names.count; i++) {
        AUTO(mem) char *old = mem_printf("%s/%s", parent, names.items[i]);
        AUTO(mem) char *lock_path = mem_printf("%s/lock", old);
        AUTO(fd) int fd = open(lock_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            pod_dir_remove(old);
    }
}

void run_dir_close(struct run_dir *dir)
{
    if (dir->lock >= 0) {
        remove_temporary(dir);
        close(dir->lock);
    }
    mem_free(dir->path);
    mem_free(dir->logs);
    mem_free(dir->pods);
    mem_free(dir->launcher);
    mem_free(dir->credentials);
    *dir = (struct run_dir){.lock = -1};
}
