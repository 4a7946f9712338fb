#include "launcher/process/command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "launcher/process/terminal.h"

static const char *path_of(char *const *envp)
{
    for (; *envp; envp++) {
        if (str_has_prefix(*envp, "PATH="))
            return *envp + strlen("PATH=");
    }
    return "/bin:/usr/bin";
}

static bool is_absent(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ENODEV || errnum == ESTALE ||
           errnum == ETIMEDOUT;
}

/* Returns errno: of the first existing file that does not start, otherwise ENOENT. */
static int exec_in_path(const struct command *command)
{
    const char *element = path_of(command->envp);
    int denied = 0;

    for (;;) {
        int len = (int)strcspn(element, ":");
        /* An empty element is the working directory. */
        AUTO(mem) char *file = mem_printf("%.*s%s%s", len, element, len > 0 ? "/" : "./", command->argv[0]);

        execve(file, command->argv, command->envp);
        if (errno != EACCES && !is_absent(errno))
            return errno;
        if (errno == EACCES)
            denied = EACCES;
        element += len;
        if (!*element)
            return denied ? denied : ENOENT;
        element++;
    }
}

/* Returns errno. */
static int exec_now(const struct command *command)
{
    if (command->argv[0][0] == '\0')
        return ENOENT;
    if (!strchr(command->argv[0], '/'))
        return exec_in_path(command);
    execve(command->argv[0], command->argv, command->envp);
    return errno;
}

static bool explain_absent(const struct command *command, struct err *err)
{
    const char *name = command->argv[0];

    if (!strchr(name, '/'))
        return err_set(err, ERR_NOT_FOUND, "cannot run \"%.60s\": no such program in PATH=%s", name,
                       path_of(command->envp));
    if (access(name, F_OK) == 0)
        return err_set(
            err, ERR_NOT_FOUND,
            "cannot run \"%.80s\": the file exists, but its interpreter or loader is not in the image", name);
    return err_set(err, ERR_NOT_FOUND, "cannot run \"%.80s\": no such file in the image or its volumes",
                   name);
}

static bool explain(const struct command *command, int errnum, struct err *err)
{
    const char *name = command->argv[0];

    if (is_absent(errnum))
        return explain_absent(command, err);
    if (errnum == E2BIG)
        return err_set(
            err, ERR_DENIED,
            "cannot run \"%.60s\": arguments and environment together are larger than the system allows; "
            "shorten args or env, or pass the text in a file",
            name);
    if (errnum == ENOEXEC)
        return err_set(
            err, ERR_DENIED,
            "cannot run \"%.60s\": exec format error: wrong architecture, or a script without a #! line",
            name);
    if (errnum == EACCES)
        return err_set(
            err, ERR_DENIED,
            "cannot run \"%.60s\": it is a directory, not executable for uid %u, or on a volume mounted "
            "noexec",
            name, (unsigned)geteuid());
    err_errno(err, errnum, "cannot run \"%.80s\"", name);
    err->kind = ERR_DENIED;
    return false;
}

bool command_exec(const struct command *command, struct err *err)
{
    return explain(command, exec_now(command), err);
}

/* exec closes the pipe if it succeeds; otherwise it carries errno. Its descriptor must not be that of a
 * closed standard stream, or messages would end up in it. */
static bool open_report(int ret[2], struct err *err)
{
    AUTO(fd) int low_read = -1;
    AUTO(fd) int low_write = -1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(err, errno, "cannot open a pipe");
    low_read = ends[0];
    low_write = ends[1];
    ret[0] = fcntl(low_read, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ret[1] = fcntl(low_write, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (ret[0] >= 0 && ret[1] >= 0)
        return true;
    err_errno(err, errno, "cannot open a pipe");
    fd_auto(&ret[0]);
    fd_auto(&ret[1]);
    return false;
}

static _Noreturn void child(const struct command *command, const struct signals *inherited, bool foreground,
                            int report)
{
    int errnum;

    if (command->kill_with_parent)
        (void)prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
    setpgid(0, 0);
    if (foreground)
        terminal_set_foreground(getpid());
    signals_restore(inherited);
    errnum = exec_now(command);
    (void)!write(report, &errnum, sizeof errnum);
    _exit(COMMAND_EXIT_LAUNCHER);
}

/* 0 if the command runs, otherwise errno of its exec. */
static int read_report(int report)
{
    int errnum = 0;
    ssize_t got;

    do
        got = read(report, &errnum, sizeof errnum);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof errnum ? errnum : 0;
}

static bool await_exec(const struct command *command, pid_t pid, int report, struct err *err)
{
    int errnum = read_report(report);

    if (errnum == 0)
        return true;
    terminal_restore(pid);
    waitpid(pid, NULL, 0);
    return explain(command, errnum, err);
}

bool command_start(const struct command *command, const struct signals *inherited, pid_t *ret,
                   struct err *err)
{
    bool foreground = terminal_is_foreground();
    int report[2] = {-1, -1};
    AUTO(fd) int reading = -1;
    pid_t pid;

    if (!open_report(report, err))
        return false;
    reading = report[0];
    pid = fork();
    if (pid == 0)
        child(command, inherited, foreground, report[1]);
    close(report[1]);
    if (pid < 0)
        return err_errno(err, errno,
                         "cannot start a process for \"%.60s\"; the pod's limit of processes or memory may "
                         "be reached",
                         command->argv[0]);
    if (!await_exec(command, pid, reading, err))
        return false;
    *ret = pid;
    return true;
}

int command_exit_status(const struct err *err)
{
    if (err->kind == ERR_NOT_FOUND)
        return COMMAND_EXIT_NOT_FOUND;
    return err->kind == ERR_DENIED ? COMMAND_EXIT_NOT_EXECUTABLE : COMMAND_EXIT_LAUNCHER;
}
