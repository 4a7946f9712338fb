#include "vipu/tools/devices/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/text/timefmt.h"

#define SYSTEM_FOLDER "/run/ipuof"
#define FALLBACK_FOLDER "/tmp/ipuof"
#define FOLDER_MODE 01777 /* like /tmp: every user may attach, none may remove another user's file */
#define FILE_MODE 0666
#define NAME_BYTES 160u /* of a partition in a file's name */

struct attachment {
    int fd;
    struct device device;
};

const char *attach_folder(const char *(*env)(const char *))
{
    const char *named = env(ATTACH_FOLDER_ENV);
    struct stat folder;

    if (named && *named)
        return named;
    return stat(SYSTEM_FOLDER, &folder) == 0 && S_ISDIR(folder.st_mode) ? SYSTEM_FOLDER : FALLBACK_FOLDER;
}

/* A partition's name comes from outside: only safe characters are used in a path, and a hash of the full
 * name keeps names distinct that would look the same. */
static char *lock_path(const char *folder, const char *partition, uint32_t gcd)
{
    AUTO(mem) char *name = mem_strndup(partition, NAME_BYTES);
    uint32_t hash = fnv32_add_bytes(FNV32_BASIS, partition, strlen(partition));
    bool changed = strlen(partition) > NAME_BYTES;

    for (char *c = name; *c; c++) {
        bool harmless = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                        *c == '-' || *c == '_' || (*c == '.' && c > name);

        if (!harmless)
            *c = '_';
        changed = changed || !harmless;
    }
    return changed ? mem_printf("%s/%s~%08" PRIx32 ".gcd%" PRIu32 ".lock", folder, name, hash, gcd)
                   : mem_printf("%s/%s.gcd%" PRIu32 ".lock", folder, name, gcd);
}

static bool make_folder(const char *folder, struct err *err)
{
    struct stat found;

    if (mkdir(folder, FOLDER_MODE) == 0)
        return chmod(folder, FOLDER_MODE) == 0 || err_errno(err, errno, "cannot create %s", folder);
    if (errno != EEXIST)
        return err_errno(err, errno,
                         "cannot create the directory of device locks %s (" ATTACH_FOLDER_ENV
                         " sets another one)",
                         folder);
    if (stat(folder, &found) != 0)
        return err_errno(err, errno, "%s", folder);
    return S_ISDIR(found.st_mode) ||
           err_set(err, ERR_IO, "%s is not a directory; " ATTACH_FOLDER_ENV " can set another one", folder);
}

/* Created under a temporary name first, so that it is never visible without its mode. */
static bool make_lock(const char *path)
{
    AUTO(mem) char *fresh = mem_printf("%s.%d", path, (int)getpid());
    AUTO(fd) int fd = open(fresh, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL, FILE_MODE);
    bool made = fd >= 0 && fchmod(fd, FILE_MODE) == 0 && (link(fresh, path) == 0 || errno == EEXIST);
    int why = errno;

    if (fd >= 0)
        (void)unlink(fresh);
    errno = why;
    return made;
}

/* Without O_CREAT: in a shared sticky folder the kernel rejects it for another user's file. With O_NONBLOCK:
 * a FIFO in the place of the file would wait for another program. */
static int open_existing(const char *path, int access, struct err *err)
{
    int fd = open(path, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat file;

    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
        return fd;
    if (fd < 0) {
        err_errno(err, errno, "cannot open the device lock %s", path);
        return -1;
    }
    (void)close(fd);
    err_set(err, ERR_IO, "the device lock %s is not a regular file", path);
    return -1;
}

static int open_lock(const char *path, struct err *err)
{
    int fd = open_existing(path, O_RDWR, err);

    if (fd >= 0 || err->kind != ERR_NOT_FOUND)
        return fd;
    if (make_lock(path))
        return open_existing(path, O_RDWR, err);
    err_errno(err, errno, "cannot create the device lock %s", path);
    return -1;
}

static struct flock lock_range_of(const struct device *device)
{
    return (struct flock){.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)device->first * LOCK_RECORD_BYTES,
                          .l_len = (off_t)device->count * LOCK_RECORD_BYTES};
}

uint64_t attach_pid_space(void)
{
    struct stat space;

    return stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
}

/* Reads /etc/passwd itself, because a static program cannot use other sources of names. */
static void name_user(char *slot)
{
    FILE *file = fopen("/etc/passwd", "re");
    AUTO(mem) char *number = mem_printf("%u", (unsigned)getuid());
    const struct passwd *row;

    lock_record_set_text(slot, number);
    if (!file)
        return;
    while ((row = fgetpwent(file)))
        if (row->pw_uid == getuid()) {
            lock_record_set_text(slot, row->pw_name);
            break;
        }
    (void)fclose(file);
}

static void name_command(char *slot)
{
    char text[4096];
    const char *base;
    AUTO(fd) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (got <= 0) {
        lock_record_set_text(slot, "?");
        return;
    }
    text[got] = '\0';
    base = strrchr(text, '/');
    lock_record_set_text(slot, base && base[1] ? base + 1 : text);
}

static struct lock_record own_record(const struct attach_request *request)
{
    struct lock_record holder = {
        .first = request->device.first,
        .count = request->device.count,
        .pid = getpid(),
        .pid_space = attach_pid_space(),
        .since_unix_s = time(NULL),
        .monitored = request->monitored,
    };
    char host[LOCK_RECORD_TEXT_BYTES] = "";

    (void)gethostname(host, sizeof(host) - 1);
    lock_record_set_text(holder.host, host);
    name_user(holder.user);
    name_command(holder.command);
    return holder;
}

/* The same record for each IPU, so that reading any one of them is enough. */
static bool write_records(int fd, const struct device *device, const char record[LOCK_RECORD_BYTES])
{
    for (uint32_t i = device->first; i < device->first + device->count; i++) {
        ssize_t put = pwrite(fd, record, LOCK_RECORD_BYTES, (off_t)i * LOCK_RECORD_BYTES);

        if (put != (ssize_t)LOCK_RECORD_BYTES) {
            errno = put < 0 ? errno : ENOSPC;
            return false;
        }
    }
    return true;
}

static bool is_held(int fd, uint32_t ipu)
{
    struct flock lock = lock_range_of(&(struct device){.first = ipu, .count = 1});

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* A record may be older than the lock: its writer died, and the next one has locked but not written yet. */
static bool process_has_died(const struct lock_record *holder)
{
    return holder->pid_space == attach_pid_space() && kill((pid_t)holder->pid, 0) != 0 && errno == ESRCH;
}

static struct lock_record read_holder(int fd, uint32_t ipu)
{
    char record[LOCK_RECORD_BYTES] = "";
    struct lock_record holder;

    if (pread(fd, record, sizeof(record), (off_t)ipu * LOCK_RECORD_BYTES) < 0 ||
        !lock_record_parse(record, &holder) || ipu < holder.first || ipu - holder.first >= holder.count ||
        process_has_died(&holder)) {
        holder = (struct lock_record){.first = ipu, .count = 1};
        lock_record_set_text(holder.command, "?");
    }
    return holder;
}

static bool set_busy_error(int fd, const struct attach_request *request, struct err *err)
{
    const struct device *device = &request->device;
    uint32_t ipu = device->first;
    struct lock_record holder;
    char age[TIMEFMT_RFC3339_SIZE];

    while (ipu + 1 < device->first + device->count && !is_held(fd, ipu))
        ipu++;
    holder = read_holder(fd, ipu);
    if (holder.pid == 0)
        return err_set(err, ERR_BUSY,
                       "device %" PRIu32
                       " of partition %s is in use: another program just attached to IPU %" PRIu32,
                       device->id, request->partition, ipu);
    return err_set(err, ERR_BUSY,
                   "device %" PRIu32 " of partition %s is in use: IPU %" PRIu32 " by process %" PRId64
                   " (%s, user %s, host %s) for %s; run gc-monitor for details",
                   device->id, request->partition, ipu, holder.pid, holder.command, holder.user, holder.host,
                   timefmt_age(time(NULL) - holder.since_unix_s, age));
}

static bool lock_device(int fd, const struct attach_request *request, struct err *err)
{
    struct flock lock = lock_range_of(&request->device);
    struct lock_record holder = own_record(request);
    char record[LOCK_RECORD_BYTES];

    if (fcntl(fd, F_OFD_SETLK, &lock) != 0)
        return errno == EAGAIN || errno == EACCES
                   ? set_busy_error(fd, request, err)
                   : err_errno(err, errno, "cannot lock device %" PRIu32, request->device.id);
    lock_record_format(&holder, record);
    return write_records(fd, &request->device, record) ||
           err_errno(err, errno, "cannot write the lock record of device %" PRIu32, request->device.id);
}

struct attachment *attach(const struct attach_request *request, struct err *err)
{
    AUTO(mem) char *path = lock_path(request->folder, request->partition, request->gcd);
    AUTO(fd) int fd = -1;
    struct attachment *attachment;

    if (!make_folder(request->folder, err))
        return NULL;
    fd = open_lock(path, err);
    if (fd < 0 || !lock_device(fd, request, err))
        return NULL;
    attachment = NEW(struct attachment);
    attachment->fd = fd;
    attachment->device = request->device;
    fd = -1;
    return attachment;
}

void attachment_free(struct attachment *attachment)
{
    static const char empty[LOCK_RECORD_BYTES];

    if (!attachment)
        return;
    /* Only tidiness: a record without a lock has no meaning. */
    (void)write_records(attachment->fd, &attachment->device, empty);
    (void)close(attachment->fd);
    mem_free(attachment);
}

bool attach_holders(const char *folder, const char *partition, uint32_t gcd, uint32_t ipu_count,
                    struct lock_records *ret, struct err *err)
{
    AUTO(mem) char *path = lock_path(folder, partition, gcd);
    AUTO(fd) int fd = open_existing(path, O_RDONLY, err);

    *ret = (struct lock_records){0};
    if (fd < 0)
        return err->kind == ERR_NOT_FOUND; /* nobody has attached yet */
    for (uint32_t ipu = 0; ipu < ipu_count;) {
        struct lock_record holder;

        if (!is_held(fd, ipu)) {
            ipu++;
            continue;
        }
        holder = read_holder(fd, ipu);
        if (holder.count > ipu_count - holder.first)
            holder.count = ipu_count - holder.first;
        ret->items = mem_grow(ret->items, ret->count + 1, sizeof(*ret->items));
        ret->items[ret->count++] = holder;
        ipu = holder.first + holder.count;
    }
    return true;
}

void lock_records_release(struct lock_records *holders)
{
    mem_free(holders->items);
    *holders = (struct lock_records){0};
}
