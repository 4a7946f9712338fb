#include "launcher/remote/agent_main.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/env/jobenv.h"
#include "launcher/env/rankenv.h"
#include "launcher/env/workers.h"
#include "launcher/process/command.h"
#include "launcher/process/scratch.h"
#include "launcher/process/executable.h"
#include "launcher/process/network_interface.h"
#include "launcher/process/parent.h"
#include "launcher/progress/report.h"
#include "launcher/remote/agent/agent.h"
#include "launcher/remote/client/probe.h"
#include "launcher/remote/client/remote.h"
#include "launcher/remote/protocol/frame.h"
#include "launcher/output/diag.h"

static int fail(const char *problem)
{
    diag("%s", problem);
    return COMMAND_EXIT_LAUNCHER;
}

/* The user's command, after an optional "--"; NULL if there is none. */
static char **command_words(char **words)
{
    if (words[0] && strcmp(words[0], "--") == 0)
        words++;
    return words[0] ? words : NULL;
}

static int serve(char **words)
{
    AUTO(mem) char *dir = executable_dir();
    AUTO(envv) struct envv given = {0}, own = {0}, remote = {0};
    struct agent_options options = {.env = &given, .argv = command_words(words)};
    struct err err;
    int status;

    if (words[0] && words[0][0] == '-' && strcmp(words[0], "--") != 0)
        return fail("agent takes no options; put the command after --: ipu-launch agent -- COMMAND [ARG]...");
    envv_init(&given, environ);
    envv_init(&own, environ);
    envv_init(&remote, environ);
    if (!jobenv_complete(&own, dir, &err) || !jobenv_complete_remote(&remote, dir, &err))
        return fail(err.msg);
    scratch_complete(&remote);
    network_interface_complete(&own);
    options.own_env = own.items;
    options.remote_env = remote.items;
    return agent_serve(&options, &status, &err) ? status : fail(err.msg);
}

/* For mpirun's part on the worker (ipu-launch daemon), if the line does not become too long. The names and
 * addresses have no characters that a shell would change: a list with others is rejected before it is used.
 */
static void name_peers(const struct envv *env, struct str *line)
{
    const char *hosts = envv_get(env, WORKERS_ENV_HOSTS);
    AUTO(str) struct str parent = {0};
    AUTO(str) struct str longer = {.max = FRAME_COMMAND_LINE_MAX_BYTES};

    parent_words(&parent);
    if (hosts &&
        str_addf(&longer, "%sexport " WORKERS_ENV_PEERS "='%s'; %s",
                 rankenv_asks_for_tags(str_text(&parent), parent.len) ? "export " RANKENV_ENV_TAGGED "=1; "
                                                                      : "",
                 hosts, str_text(line))) {
        str_clear(line);
        (void)str_adds(line, str_text(&longer));
    }
}

static int run_remotely(char **words)
{
    AUTO(envv) struct envv env = {0};
    AUTO(str) struct str line = {0};
    struct err err;
    int status;

    if (words[0] && strcmp(words[0], "--") == 0)
        words++;
    if (!words[0] || words[0][0] == '-' || !words[1])
        return fail("remote requires a worker and a command: ipu-launch remote WORKER COMMAND...");
    envv_init(&env, environ);
    for (char **word = words + 1; *word; word++)
        (void)str_addf(&line, "%s%s", word == words + 1 ? "" : " ", *word);
    name_peers(&env, &line);
    return remote_run(&env, words[0], str_text(&line), &status, &err) ? status : fail(err.msg);
}

static int tell_ready(char **words)
{
    AUTO(envv) struct envv env = {0};
    struct err err;

    if (words[0])
        return fail("agent-ready takes no arguments");
    envv_init(&env, environ);
    return probe_agent(&env, &err) ? 0 : fail(err.msg);
}

static int report_progress(char **words)
{
    struct err err;

    return progress_report_send(words, &err) ? 0 : fail(err.msg);
}

/* A connection's descriptor must not be that of a closed standard stream. */
static void fill_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    fd_auto(&fd);
}

int agent_main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*act)(char **words);
    } verbs[] = {{"agent", serve},
                 {"remote", run_remotely},
                 {"agent-ready", tell_ready},
                 {"progress", report_progress}};

    fill_standard_streams();
    for (size_t i = 0; argc >= 2 && i < COUNT_OF(verbs); i++)
        if (strcmp(argv[1], verbs[i].word) == 0)
            return verbs[i].act(argv + 2);
    return fail("this program is part of ipu-launch; see ipu-launch --help");
}
