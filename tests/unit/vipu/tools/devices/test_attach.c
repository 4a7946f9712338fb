#include "lib/check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "vipu/tools/devices/attach.h"

/* A folder of locks of the test's own, and what is found in it. */
struct locks {
    char *folder;
    struct lock_records holders;
    struct err err;
};

static void locks_init(struct locks *l)
{
    static unsigned number;

    *l = (struct locks){.folder = mem_printf("%s/locks%u", check_tmpdir(), number++)};
}

static void locks_release(struct locks *l)
{
    lock_records_release(&l->holders);
    mem_free(l->folder);
}

static struct attach_request request_for(const char *folder, uint32_t first, uint32_t count)
{
    return (struct attach_request){
        .folder = folder, .partition = "p1", .device = {.id = 20 + first, .first = first, .count = count}};
}

static struct attachment *attach_to(const char *folder, uint32_t first, uint32_t count)
{
    struct attach_request request = request_for(folder, first, count);
    struct attachment *attachment;
    struct err err = {0};

    attachment = attach(&request, &err);
    CHECK_OK(attachment != NULL, err);
    return attachment;
}

static void check_busy(const char *folder, uint32_t first, uint32_t count, const char *part)
{
    struct attach_request request = request_for(folder, first, count);
    struct err err = {0};

    CHECK_ERR(attach(&request, &err) != NULL, err, ERR_BUSY);
    CHECK_HAS(err.msg, part);
}

/* issue: "a second program is rejected"; seed 003: "IPUs cannot be shared by different programs". */
TEST_F(locks, l, devices_that_overlap_exclude_each_other)
{
    AUTO(mem) char *me = mem_printf("process %d (", (int)getpid());
    struct attachment *quad = attach_to(l->folder, 4, 4), *single = attach_to(l->folder, 2, 1), *pair;

    check_busy(l->folder, 4, 4, me);
    check_busy(l->folder, 7, 1, "device 27 of partition p1 is in use: IPU 7 by process ");
    check_busy(l->folder, 0, 8, "IPU 2 by process");
    check_busy(l->folder, 2, 2, "IPU 2 by process");
    pair = attach_to(l->folder, 0, 2);
    attachment_free(quad);
    quad = attach_to(l->folder, 4, 4);
    attachment_free(quad);
    attachment_free(single);
    attachment_free(pair);
    attachment_free(attach_to(l->folder, 0, 8));
    attachment_free(NULL);
}

TEST_F(locks, l, partitions_and_domains_are_apart)
{
    struct attach_request request = request_for(l->folder, 0, 4);
    struct attachment *first = attach_to(l->folder, 0, 4), *second, *third;

    request.gcd = 1;
    second = attach(&request, &l->err);
    CHECK_OK(second != NULL, l->err);
    request.partition = "p1.gcd1";
    request.gcd = 0;
    third = attach(&request, &l->err);
    CHECK_OK(third != NULL, l->err);
    attachment_free(first);
    attachment_free(second);
    attachment_free(third);
}

TEST_F(locks, l, names_of_partitions_never_leave_the_folder)
{
    static const char *const names[] = {"../../etc/x", "a/b", "a_b", "", ".", "..", "p\n1"};
    struct attachment *held[COUNT_OF(names)];
    char long_name[600];
    struct attach_request request = request_for(l->folder, 0, 1);

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        request.partition = names[i];
        held[i] = attach(&request, &l->err);
        CHECK_OK(held[i] != NULL, l->err);
    }
    for (size_t i = 0; i < COUNT_OF(names); i++)
        attachment_free(held[i]);
    memset(long_name, 'p', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    request.partition = long_name;
    held[0] = attach(&request, &l->err);
    CHECK_OK(held[0] != NULL, l->err);
    long_name[sizeof(long_name) - 2] = 'q';
    held[1] = attach(&request, &l->err);
    CHECK_OK(held[1] != NULL, l->err);
    attachment_free(held[0]);
    attachment_free(held[1]);
}

TEST_F(locks, l, holders_are_listed_with_what_they_are)
{
    struct attach_request request = request_for(l->folder, 4, 4);
    struct attachment *pair = attach_to(l->folder, 0, 2), *quad;
    char host[LOCK_RECORD_TEXT_BYTES] = "";

    request.monitored = true;
    quad = attach(&request, &l->err);
    CHECK_OK(quad != NULL, l->err);
    CHECK_OK(attach_holders(l->folder, "p1", 0, 16, &l->holders, &l->err), l->err);
    CHECK_INT_EQ(l->holders.count, 2);
    CHECK_INT_EQ(l->holders.items[0].first, 0);
    CHECK_INT_EQ(l->holders.items[0].count, 2);
    CHECK(!l->holders.items[0].monitored);
    CHECK_INT_EQ(l->holders.items[1].first, 4);
    CHECK_INT_EQ(l->holders.items[1].count, 4);
    CHECK(l->holders.items[1].monitored);
    CHECK_INT_EQ(l->holders.items[1].pid, getpid());
    CHECK_INT_EQ(l->holders.items[1].pid_space, attach_pid_space());
    CHECK_STR_EQ(l->holders.items[1].command, "test_vipu_attach");
    CHECK_INT_EQ(gethostname(host, sizeof(host) - 1), 0);
    CHECK_STR_EQ(l->holders.items[1].host, host);
    CHECK(*l->holders.items[1].user != '\0');
    attachment_free(pair);
    attachment_free(quad);
}

TEST_F(locks, l, without_attached_devices_there_are_no_users)
{
    CHECK_OK(attach_holders(l->folder, "p1", 0, 16, &l->holders, &l->err), l->err);
    CHECK_INT_EQ(l->holders.count, 0);
    attachment_free(attach_to(l->folder, 0, 1));
    CHECK_OK(attach_holders(l->folder, "p1", 0, 16, &l->holders, &l->err), l->err);
    CHECK_INT_EQ(l->holders.count, 0);
}

/* Attaches in a child that then dies without a word; returns when it holds the device. */
static pid_t attach_in_child(const char *folder, int *ret_release)
{
    int held[2], release[2];
    char byte;
    pid_t child;

    CHECK(pipe2(held, O_CLOEXEC) == 0 && pipe2(release, O_CLOEXEC) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct attach_request request = request_for(folder, 0, 4);
        struct err err;

        (void)close(release[1]);
        byte = attach(&request, &err) ? 'y' : 'n';
        (void)!write(held[1], &byte, 1);
        (void)!read(release[0], &byte, 1);
        _exit(0);
    }
    (void)close(held[1]);
    (void)close(release[0]);
    CHECK(read(held[0], &byte, 1) == 1 && byte == 'y');
    (void)close(held[0]);
    *ret_release = release[1];
    return child;
}

/* issue: "a holder that died does not hold". */
TEST_F(locks, l, a_holder_that_died_does_not_hold)
{
    int release, status;
    pid_t child = attach_in_child(l->folder, &release);
    AUTO(mem) char *who = mem_printf("process %d (test_vipu_attach, user ", (int)child);
    struct attachment *mine;

    check_busy(l->folder, 3, 1, who);
    (void)close(release);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_OK(attach_holders(l->folder, "p1", 0, 4, &l->holders, &l->err), l->err);
    CHECK_INT_EQ(l->holders.count, 0);
    mine = attach_to(l->folder, 3, 1);
    /* What the dead one wrote beside it is nobody's word. */
    CHECK_OK(attach_holders(l->folder, "p1", 0, 4, &l->holders, &l->err), l->err);
    CHECK_INT_EQ(l->holders.count, 1);
    CHECK_INT_EQ(l->holders.items[0].pid, getpid());
    CHECK_INT_EQ(l->holders.items[0].first, 3);
    attachment_free(mine);
}

/* A record that does not belong to the lock over it - the one before died, this one has not written yet. */
TEST_F(locks, l, a_lock_without_a_true_record_is_still_a_lock)
{
    AUTO(mem) char *path = mem_printf("%s/p1.gcd0.lock", l->folder);
    struct attachment *mine = attach_to(l->folder, 1, 1);
    AUTO(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    char garbage[LOCK_RECORD_BYTES];

    memset(garbage, 0xff, sizeof(garbage));
    CHECK(fd >= 0 && pwrite(fd, garbage, sizeof(garbage), LOCK_RECORD_BYTES) == (ssize_t)sizeof(garbage));
    check_busy(l->folder, 0, 4, "another program just attached to IPU 1");
    CHECK_OK(attach_holders(l->folder, "p1", 0, 4, &l->holders, &l->err), l->err);
    CHECK_INT_EQ(l->holders.count, 1);
    CHECK_INT_EQ(l->holders.items[0].first, 1);
    CHECK_INT_EQ(l->holders.items[0].pid, 0);
    attachment_free(mine);
}

TEST(a_folder_that_cannot_be_used_is_named)
{
    AUTO(mem) char *file = mem_printf("%s/file", check_tmpdir());
    AUTO(mem) char *below = mem_printf("%s/none/at/all", check_tmpdir());
    AUTO(fd) int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct attach_request request = request_for(file, 0, 1);
    struct err err = {0};

    CHECK(fd >= 0);
    CHECK_ERR(attach(&request, &err) != NULL, err, ERR_IO);
    CHECK_HAS(err.msg, "is not a directory; IPUOF_RUN_DIR");
    request.folder = below;
    CHECK_ERR(attach(&request, &err) != NULL, err, ERR_NOT_FOUND);
    CHECK_HAS(err.msg, "IPUOF_RUN_DIR");
}

TEST_F(locks, l, a_lock_file_is_never_a_link)
{
    AUTO(mem) char *path = mem_printf("%s/p1.gcd0.lock", l->folder);
    struct attach_request request = request_for(l->folder, 0, 1);

    CHECK(mkdir(l->folder, 0700) == 0 && symlink("/dev/null", path) == 0);
    CHECK_ERR(attach(&request, &l->err) != NULL, l->err, ERR_IO);
    CHECK_HAS(l->err.msg, "p1.gcd0.lock");
}

/* Any user may put one into the folder; it would wait for a writer. */
TEST_F(locks, l, a_lock_file_is_never_a_fifo)
{
    AUTO(mem) char *path = mem_printf("%s/p1.gcd0.lock", l->folder);
    struct attach_request request = request_for(l->folder, 0, 1);
    struct lock_records holders;

    CHECK(mkdir(l->folder, 0700) == 0 && mkfifo(path, 0666) == 0);
    CHECK_ERR(attach(&request, &l->err) != NULL, l->err, ERR_IO);
    CHECK_HAS(l->err.msg, "p1.gcd0.lock is not a regular file");
    l->err = (struct err){0};
    CHECK_ERR(attach_holders(l->folder, "p1", 0, 4, &holders, &l->err), l->err, ERR_IO);
    CHECK_HAS(l->err.msg, "p1.gcd0.lock is not a regular file");
}

static const char *no_environment(const char *name)
{
    (void)name;
    return NULL;
}

static const char *named_environment(const char *name)
{
    return strcmp(name, "IPUOF_RUN_DIR") == 0 ? "/somewhere" : NULL;
}

TEST(the_folder_is_the_hosts)
{
    struct stat found;
    bool has_system = stat("/run/ipuof", &found) == 0;

    CHECK_STR_EQ(attach_folder(named_environment), "/somewhere");
    CHECK_STR_EQ(attach_folder(no_environment), has_system ? "/run/ipuof" : "/tmp/ipuof");
}
