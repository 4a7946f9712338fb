/* ipu-launch: the parent of the command of a job's first container. Reads the command line and runs one of
 * its verbs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/options/opts_completion.h"
#include "base/core/str.h"
#include "launcher/env/jobenv.h"
#include "launcher/env/mpienv.h"
#include "launcher/env/preload.h"
#include "launcher/env/rankenv.h"
#include "launcher/env/workers.h"
#include "launcher/inpod/hosts_file.h"
#include "launcher/inpod/install.h"
#include "launcher/inpod/launcher_pod.h"
#include "launcher/inpod/mpirun_command.h"
#include "launcher/inpod/previous_attempt.h"
#include "launcher/process/command.h"
#include "launcher/process/bundled_programs.h"
#include "launcher/output/diag.h"
#include "launcher/process/executable.h"
#include "launcher/process/memory_events.h"
#include "launcher/process/network_interface.h"
#include "launcher/process/parent.h"
#include "launcher/output/rank_output.h"
#include "launcher/process/supervise.h"

static const char usage[] =
    "Usage: ipu-launch run [--] COMMAND [ARG]...\n       ipu-launch exec [--] COMMAND [ARG]...\n       "
    "ipu-launch agent [-- COMMAND [ARG]...]\n       ipu-launch remote WORKER COMMAND...\n       ipu-launch "
    "rank [--master ADDRESS:PORT] [--] COMMAND [ARG]...\n       ipu-launch daemon COMMAND [ARG]...\n       "
    "ipu-launch progress PERCENT [--eta SECONDS] [NAME=VALUE]...\n       ipu-launch env | hold | agent-ready "
    "| install DIR [HOSTS] | --help | --version\n\nRuns the command of "
    "an IPU job's "
    "container with the job's environment.\n\n  run          start COMMAND, forward signals, reap orphans, "
    "exit with its exit status\n  exec         replace this process by COMMAND, with the environment of run: "
    "for kubectl exec\n  env          print the variables that run would set, one NAME=value per line\n  "
    "hold         keep the pod alive until SIGTERM, for an interactive worker\n  agent        accept "
    "commands from the job's launcher pod, and run COMMAND beside them\n  remote       in a launcher pod: "
    "run COMMAND on WORKER through the shell\n  rank         run COMMAND as a rank of mpirun, with whole "
    "lines of output\n  daemon       run COMMAND as mpirun's daemon on a worker\n  agent-ready  exit with 0 "
    "if this pod's agent answers\n  progress     report the program's progress to the operator, with metrics "
    "such as loss=0.23\n  "
    "install      install this program and the bundled tools into DIR, and a copy of\n               "
    "/etc/hosts "
    "as HOSTS\n\nExit status: COMMAND's own; 128 + n "
    "if signal n ended it; 125 if ipu-launch itself\nfails; 126 if COMMAND cannot be started; 127 if there "
    "is no such command; 255 if\nWORKER cannot be reached or is lost.\n";

/* One write, so that the line is not mixed with other output. */
static int fail(const struct err *err, int status)
{
    AUTO(str) struct str line = {0};

    str_addf(&line, "ipu-launch: %s\n", err->msg);
    (void)!write(STDERR_FILENO, str_text(&line), line.len);
    return status;
}

static int fail_usage(const char *problem)
{
    struct err err;

    err_set(&err, ERR_INVALID, "%s; see ipu-launch --help", problem);
    return fail(&err, COMMAND_EXIT_LAUNCHER);
}

static int print(const struct str *text)
{
    struct err err;
    size_t done = 0;

    while (done < text->len) {
        ssize_t put = write(STDOUT_FILENO, text->ptr + done, text->len - done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            err_errno(&err, errno, "cannot write to standard output");
            return fail(&err, COMMAND_EXIT_LAUNCHER);
        }
        done += (size_t)put;
    }
    return 0;
}

static int print_text(const char *text)
{
    AUTO(str) struct str out = {0};

    str_adds(&out, text);
    return print(&out);
}

static bool complete(struct envv *env, struct err *err)
{
    AUTO(mem) char *dir = executable_dir();

    envv_init(env, environ);
    if (launcher_pod_is_here(env))
        return launcher_pod_complete(env, dir, err);
    if (!jobenv_complete(env, dir, err))
        return false;
    network_interface_complete(env);
    if (dir)
        mpienv_complete_ranks(env, dir, NULL);
    return true;
}

/* The words after the verb and an optional "--". NULL if there is no command. */
static char **command_words(char **words)
{
    if (words[0] && strcmp(words[0], "--") == 0)
        words++;
    else if (words[0] && words[0][0] == '-')
        return NULL;
    return words[0] ? words : NULL;
}

static bool complete_for(char *const *argv, struct envv *env, struct err *err)
{
    AUTO(mem) char *dir = executable_dir();

    if (!complete(env, err))
        return false;
    if (dir && command_starts_mpirun(argv))
        preload_add(env, dir);
    return true;
}

/* The command may tell of its own process's end only, or of none. The operator reads this line in the log
 * (operator/api/observed/log_tail.c). */
static void report_oom_kills(uint32_t count)
{
    if (count)
        diag("this container ran out of memory: the kernel killed %u %s", count,
             count == 1 ? "process" : "processes");
}

/* As much as an unprivileged process may set (fs.pipe-max-size). */
#define PIPE_BYTES (1024 * 1024)

/* The mpirun of Open MPI 5 collects what a single rank writes until a line ends (pmix_iof_write_output in
 * src/common/pmix_iof.c of openpmix v5.0), unless its option --output :raw is given. If its own output is a
 * full pipe when that rank ends, it at times loses what has no end. */
static void enlarge_pipes(void)
{
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
    (void)fcntl(STDERR_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
}

static int run(char **words)
{
    AUTO(envv) struct envv env = {0};
    struct command command = {.argv = command_words(words)};
    uint32_t before = memory_events_oom_kills("");
    struct err err;
    int status;

    if (!command.argv)
        return fail_usage("run requires a command: ipu-launch run -- COMMAND [ARG]...");
    if (!complete_for(command.argv, &env, &err))
        return fail(&err, COMMAND_EXIT_LAUNCHER);
    command.envp = env.items;
    enlarge_pipes();
    if (!supervise_command(&command, &status, &err))
        return fail(&err, command_exit_status(&err));
    if (status != 0)
        report_oom_kills(memory_events_oom_kills_since("", before));
    return status;
}

static int become(char **words)
{
    AUTO(envv) struct envv env = {0};
    struct command command = {.argv = command_words(words)};
    struct err err;

    if (!command.argv)
        return fail_usage("exec requires a command: ipu-launch exec -- COMMAND [ARG]...");
    if (!complete_for(command.argv, &env, &err))
        return fail(&err, COMMAND_EXIT_LAUNCHER);
    command.envp = env.items;
    command_exec(&command, &err);
    return fail(&err, command_exit_status(&err));
}

/* A process that mpirun starts. */
static int become_rank(char **words)
{
    AUTO(envv) struct envv env = {0};
    AUTO(str) struct str words_of_parent = {0};
    struct command command = {0};
    const char *master = NULL;
    struct err err;

    if (words[0] && strcmp(words[0], "--master") == 0 && words[1]) {
        master = words[1];
        words += 2;
    }
    command.argv = command_words(words);
    if (!command.argv)
        return fail_usage("rank requires a command: ipu-launch rank -- COMMAND [ARG]...");
    envv_init(&env, environ);
    preload_remove(&env);
    network_interface_complete(&env);
    parent_words(&words_of_parent);
    if (!rankenv_complete(&env, master, &err) ||
        !rank_output_open(
            &(struct rank_output){rankenv_is_alone(&env),
                                  rankenv_tag(&env, str_text(&words_of_parent), words_of_parent.len)},
            &err))
        return fail(&err, COMMAND_EXIT_LAUNCHER);
    envv_unset(&env, RANKENV_ENV_TAGGED);
    command.envp = env.items;
    command_exec(&command, &err);
    return fail(&err, command_exit_status(&err));
}

/* The launcher has named the workers. */
static bool add_peers(struct envv *env, struct err *err)
{
    AUTO(workers) struct workers workers = {0};
    const char *peers = envv_get(env, WORKERS_ENV_PEERS);

    if (!peers)
        return true;
    if (!workers_read(peers, &workers, err))
        return false;
    hosts_file_add(&workers);
    envv_unset(env, WORKERS_ENV_PEERS);
    return true;
}

/* mpirun's part on a worker, which starts the ranks there. */
static int become_daemon(char **words)
{
    AUTO(mem) char *dir = executable_dir();
    AUTO(envv) struct envv env = {0};
    struct command command = {.argv = command_words(words)};
    struct err err;

    if (!command.argv)
        return fail_usage("daemon requires a command: ipu-launch daemon COMMAND [ARG]...");
    envv_init(&env, environ);
    if (!add_peers(&env, &err))
        return fail(&err, COMMAND_EXIT_LAUNCHER);
    if (dir)
        preload_add(&env, dir);
    command.envp = env.items;
    command_exec(&command, &err);
    return fail(&err, command_exit_status(&err));
}

static int print_env(char **words)
{
    AUTO(envv) struct envv env = {0};
    AUTO(str) struct str out = {0};
    struct err err;

    if (words[0])
        return fail_usage("env takes no arguments");
    if (!complete(&env, &err))
        return fail(&err, COMMAND_EXIT_LAUNCHER);
    for (size_t i = 0; i < env.added.count; i++)
        str_addf(&out, "%s\n", env.added.items[i]);
    return print(&out);
}

static int hold(char **words)
{
    if (words[0])
        return fail_usage("hold takes no arguments; use run to start a command");
    supervise_hold();
    return 0;
}

static int install(char **words)
{
    struct err err;

    if (!words[0] || (words[1] && words[2]))
        return fail_usage("install requires a directory, and optionally a path for a copy of /etc/hosts");
    if (!install_into(words[0], &err) || (words[1] && !hosts_file_copy(words[1], &err)))
        return fail(&err, COMMAND_EXIT_LAUNCHER);
    return 0;
}

/* agent, remote, agent-ready and progress: the same command line, in the program that contains their code. */
static int companion(char **words)
{
    AUTO(mem) char *dir = executable_dir();
    AUTO(mem) char *file = mem_printf("%s/%s", dir ? dir : ".", BUNDLED_PROGRAMS_FILE);
    char name[] = BUNDLED_PROGRAMS_AGENT;
    struct err err;

    words[-2] = name;
    execve(file, words - 2, environ);
    err_errno(&err, errno, "cannot run %s, which is installed beside this program", file);
    return fail(&err, COMMAND_EXIT_LAUNCHER);
}

static int help(char **words)
{
    (void)words;
    return print_text(usage);
}

static int version(char **words)
{
    (void)words;
    return print_text("ipu-launch " IPU_OPERATOR_VERSION "\n");
}

int main(int argc, char **argv)
{
    static const struct opt rows[] = {{0}};
    static const struct opts_spec spec = {.program = "ipu-launch", .rows = rows};
    static const struct {
        const char *word;
        int (*act)(char **words);
        bool begins; /* the pod's log */
    } verbs[] = {
        {"run", run, true},
        {"exec", become, false},
        {"env", print_env, false},
        {"hold", hold, true},
        {"agent", companion, true},
        {"remote", companion, false},
        {"rank", become_rank, false},
        {"daemon", become_daemon, false},
        {"agent-ready", companion, false},
        {"progress", companion, false},
        {"install", install, true},
        {"--help", help, false},
        {"--version", version, false},
    };

    struct opts_command commands[COUNT_OF(verbs) + 1] = {0};
    AUTO(str) struct str completion = {0};

    if (argc < 2)
        return fail_usage("missing command");
    for (size_t i = 0; i < COUNT_OF(verbs) && verbs[i].word[0] != '-'; i++)
        commands[i] = (struct opts_command){verbs[i].word, ""};
    if (argc > 3 && str_eq(argv[1], "__complete")) /* behind a command: its program, and words for it */
        return print_text(":files\n");
    if (opts_completion_answer(&spec, commands, argc, argv, &completion))
        return print(&completion);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (strcmp(argv[1], verbs[i].word) != 0)
            continue;
        if (verbs[i].begins)
            previous_attempt_print();
        return verbs[i].act(argv + 2);
    }
    return fail_usage("unknown command");
}
