#include "local/node/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"

#define LINKS_MAX 40

void sandbox_add(struct sandbox *sandbox, const char *source, const char *target, bool read_only)
{
    sandbox->mounts = mem_grow(sandbox->mounts, sandbox->count + 1, sizeof(*sandbox->mounts));
    sandbox->mounts[sandbox->count++] = (struct sandbox_mount){
        .source = mem_strdup(source), .target = mem_strdup(target), .read_only = read_only};
}

void sandbox_release(struct sandbox *sandbox)
{
    for (size_t i = 0; i < sandbox->count; i++) {
        mem_free(sandbox->mounts[i].source);
        mem_free(sandbox->mounts[i].target);
    }
    mem_free(sandbox->mounts);
    mem_free(sandbox->root);
    mem_free(sandbox->hostname);
    *sandbox = (struct sandbox){0};
}

/* ---- namespaces ---- */

static bool put_text(const char *path, const char *text, struct err *err)
{
    AUTO(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
        return true;
    return err_errno(err, errno, "cannot write %s", path);
}

/* The user stays who they are. */
static bool map_user(uid_t uid, gid_t gid, struct err *err)
{
    AUTO(mem) char *uids = mem_printf("%u %u 1", (unsigned)uid, (unsigned)uid);
    AUTO(mem) char *gids = mem_printf("%u %u 1", (unsigned)gid, (unsigned)gid);

    return put_text("/proc/self/uid_map", uids, err) && put_text("/proc/self/setgroups", "deny", err) &&
           put_text("/proc/self/gid_map", gids, err);
}

#define ADVICE                                                                                               \
    "this machine does not allow user namespaces, which ipu-run needs to mount a pod's volumes; allow them " \
    "(user_namespaces(7)), or run it as root"

static bool leave_machine(struct err *err)
{
    const int own = CLONE_NEWNS | CLONE_NEWUTS;
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(own) == 0) /* as root */
        return true;
    if (unshare(CLONE_NEWUSER | own) != 0)
        return err_errno(err, errno, ADVICE);
    return map_user(uid, gid, err);
}

static bool separate(struct err *err)
{
    if (!leave_machine(err))
        return false;
    /* Some systems let users create the namespace, and then no mounts in it. */
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 || err_errno(err, errno, ADVICE);
}

/* Tried in another process, because there is no way back. */
bool sandbox_is_allowed(struct err *err)
{
    int result[2];
    pid_t pid;
    bool ok;

    if (pipe2(result, O_CLOEXEC) != 0 || (pid = fork()) < 0)
        return err_errno(err, errno, "cannot create a process");
    if (pid == 0) {
        struct err why = {0};

        (void)separate(&why);
        (void)!write(result[1], &why, sizeof(why));
        _exit(0);
    }
    close(result[1]);
    ok = read(result[0], err, sizeof(*err)) == sizeof(*err) && err->kind == ERR_NONE;
    close(result[0]);
    (void)waitpid(pid, NULL, 0);
    return ok;
}

/* ---- the file system ---- */

/* A file system that is put together: directories in `own` may be changed, others are the machine's. */
struct tree {
    const char *root;
    struct strv own;
};

static bool bind(const char *source, const char *target, struct err *err)
{
    if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) == 0)
        return true;
    return err_errno(err, errno, "cannot mount %s", source);
}

static bool make_like(const char *source, const struct stat *st, const char *target, struct err *err)
{
    int fd;

    if (S_ISDIR(st->st_mode)) {
        if (mkdir(target, 0755) == 0)
            return true;
    } else if ((fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) >= 0) {
        close(fd);
        return true;
    }
    return err_errno(err, errno, "cannot create a place for %s", source);
}

/* One entry of the machine's directory, as it is there. What the user cannot see is left out. */
static bool show(const char *source, const char *target, struct err *err)
{
    struct stat st;
    char link[PATH_MAX];
    ssize_t len;

    if (lstat(source, &st) != 0)
        return true;
    if (!S_ISLNK(st.st_mode))
        return make_like(source, &st, target, err) && bind(source, target, err);
    len = readlink(source, link, sizeof(link) - 1);
    link[len > 0 ? len : 0] = '\0';
    return len <= 0 || symlink(link, target) == 0 || err_errno(err, errno, "cannot link %s", source);
}

/* A new directory in place of the machine's `path`, with the same entries, which others can be added to. */
static bool cover(struct tree *tree, const char *path, struct err *err)
{
    AUTO(mem) char *target = mem_printf("%s%s", tree->root, path);
    DIR *dir = opendir(*path ? path : "/");
    bool ok = true;

    if (!dir)
        return err_errno(err, errno, "cannot read %s", path);
    if (mount("ipu-run", target, "tmpfs", MS_NOSUID, "mode=0755") != 0)
        ok = err_errno(err, errno, "cannot mount a file system");
    for (struct dirent *entry; ok && (entry = readdir(dir));) {
        AUTO(mem) char *from = mem_printf("%s/%s", path, entry->d_name);
        AUTO(mem) char *to = mem_printf("%s/%s", target, entry->d_name);

        if (!str_eq(entry->d_name, ".") && !str_eq(entry->d_name, ".."))
            ok = show(from, to, err);
    }
    (void)closedir(dir);
    strv_push(&tree->own, path);
    return ok;
}

/* Resolves symbolic links of the path's existing part, as seen inside. Owned by the caller. */
static char *resolve(const struct tree *tree, const char *path)
{
    AUTO(str) struct str done = {0};
    AUTO(mem) char *left = mem_strdup(path);
    char link[PATH_MAX];

    for (int links = 0; *left;) {
        size_t skip = strspn(left, "/"), len = strcspn(left + skip, "/");
        AUTO(mem) char *here = mem_printf("%s%s/%.*s", tree->root, str_text(&done), (int)len, left + skip);
        ssize_t got = len && links < LINKS_MAX ? readlink(here, link, sizeof(link) - 1) : -1;
        char *rest = mem_strdup(left + skip + len);

        if (got > 0) {
            link[got] = '\0';
            links++;
            mem_free(left);
            left = mem_printf("%s%s", link, rest);
            mem_free(rest);
            if (link[0] == '/')
                str_clear(&done);
            continue;
        }
        if (len)
            str_addf(&done, "/%.*s", (int)len, left + skip);
        mem_free(left);
        left = rest;
    }
    return mem_strdup(str_text(&done));
}

/* Creates what is missing of the path, of which only the last part may be a file. */
static bool make_point(struct tree *tree, const char *path, const char *source, struct err *err)
{
    const struct stat folder = {.st_mode = S_IFDIR};
    struct stat st, like;

    if (stat(source, &like) != 0)
        return err_errno(err, errno, "cannot mount %s", source);
    for (const char *end = path; *end;) {
        size_t parent_len = (size_t)(end - path);
        AUTO(mem) char *parent = mem_strndup(path, parent_len);

        end += 1 + strcspn(end + 1, "/");
        AUTO(mem) char *part = mem_strndup(path, (size_t)(end - path));
        AUTO(mem) char *here = mem_printf("%s%s", tree->root, part);

        if (lstat(here, &st) == 0)
            continue;
        if (!strv_has(&tree->own, parent) && !cover(tree, parent, err))
            return false;
        if (!make_like(source, *end ? &folder : &like, here, err))
            return false;
        strv_push(&tree->own, part);
    }
    return true;
}

static bool add_mount(struct tree *tree, const struct sandbox_mount *wanted, struct err *err)
{
    AUTO(mem) char *path = resolve(tree, wanted->target);
    AUTO(mem) char *target = mem_printf("%s%s", tree->root, path);

    if (!make_point(tree, path, wanted->source, err) || !bind(wanted->source, target, err))
        return err_wrap(err, "%s", wanted->target);
    strv_push(&tree->own, path); /* places for further mounts are made in the volume, as a kubelet does */
    if (wanted->read_only &&
        mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0 &&
        mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        return err_errno(err, errno, "cannot mount %s read-only", wanted->target);
    return true;
}

static int by_depth(const void *a, const void *b)
{
    return strcmp(((const struct sandbox_mount *)a)->target, ((const struct sandbox_mount *)b)->target);
}

static bool build(struct tree *tree, const struct sandbox *sandbox, struct err *err)
{
    struct sandbox_mount *sorted = mem_dup(sandbox->mounts, sandbox->count * sizeof(*sorted));
    bool ok = cover(tree, "", err);

    if (sandbox->count)
        qsort(sorted, sandbox->count, sizeof(*sorted), by_depth);
    for (size_t i = 0; ok && i < sandbox->count; i++)
        ok = add_mount(tree, &sorted[i], err);
    mem_free(sorted);
    return ok;
}

/* pivot_root(2): the old file system is put on top of the new one, and then taken away. */
static bool turn_to(const char *root, struct err *err)
{
    if (chdir(root) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 &&
        chdir("/") == 0)
        return true;
    return err_errno(err, errno, "cannot change to the pod's file system");
}

bool sandbox_enter(const struct sandbox *sandbox, struct err *err)
{
    struct tree tree = {.root = sandbox->root};
    bool ok;

    if (!separate(err))
        return false;
    if (sethostname(sandbox->hostname, strlen(sandbox->hostname)) != 0)
        return err_errno(err, errno, "cannot set the host name");
    ok = build(&tree, sandbox, err) && turn_to(sandbox->root, err);
    strv_release(&tree.own);
    return ok;
}
