/* Reports to the operator how far the program is, through ipu-launch: it is in PATH of every job's command
 * and speaks TLS, which this library does not. The program does not wait for it, except for its last report.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "popdist/contract.h"
#include "popdist/popdist.h"
#include "popdist/src/core/fail.h"
#include "popdist/src/query/settings.h"

#define PROGRAM "ipu-launch"
#define PERIOD_S 5
#define METRICS_MAX 256u /* of a report; the operator keeps no more */
#define WORDS_MAX (5u + METRICS_MAX + 1u)
#define REMAINING_MAX_S ((int64_t)10 * 365 * 86400)

extern char **environ;

static struct {
    pthread_mutex_t lock;
    pid_t child; /* sends the last report; 0: it has ended */
    int64_t begun_s;
    bool has_begun, has_failed;
} reporter = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Without SIGCHLD the system does not say how it has ended: then it counts as arrived. */
static void collect(bool waits)
{
    int result = 0;
    pid_t found = 0;

    if (!reporter.child)
        return;
    do
        found = waitpid(reporter.child, &result, waits ? 0 : WNOHANG);
    while (found < 0 && errno == EINTR);
    if (found == 0)
        return;
    reporter.child = 0;
    reporter.has_failed = found > 0 && !(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

static enum popdist_status start(char *const words[], struct popdist_error *error)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);

    if (code)
        return fail_memory(error);
    /* It would say the same in every report; the caller hears of it from the status. */
    code = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!code)
        code = posix_spawnp(&reporter.child, PROGRAM, &actions, NULL, words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    reporter.begun_s = now_s();
    reporter.has_begun = true;
    if (!code)
        return POPDIST_OK;
    reporter.child = 0;
    return fail(error, POPDIST_UNAVAILABLE, "cannot start " PROGRAM " to report progress: %s",
                strerrordesc_np(code));
}

static enum popdist_status report(char *const words[], bool is_last, struct popdist_error *error)
{
    enum popdist_status status = POPDIST_OK;

    collect(is_last);
    if (is_last || (!reporter.child && (!reporter.has_begun || now_s() >= reporter.begun_s + PERIOD_S)))
        status = start(words, error);
    collect(is_last);
    if (!status && reporter.has_failed)
        status = fail(error, POPDIST_UNAVAILABLE,
                      "the last report of progress has not arrived; run \"" PROGRAM
                      " progress 0\" in the pod to see why");
    return status;
}

static enum popdist_status read_metrics(const char *const *metrics, char *words[], size_t *count,
                                        struct popdist_error *error)
{
    for (size_t i = 0; metrics && metrics[i]; i++) {
        const char *equals = strchr(metrics[i], '=');

        if (i == METRICS_MAX)
            return fail(error, POPDIST_INVALID, "a report of progress has at most %u metrics", METRICS_MAX);
        if (!equals || equals == metrics[i] || !equals[1] || metrics[i][0] == '-')
            return fail(error, POPDIST_INVALID, "a metric must be NAME=VALUE, got \"%.200s\"", metrics[i]);
        words[(*count)++] = (char *)metrics[i]; /* which is not written to */
    }
    return POPDIST_OK;
}

enum popdist_status popdist_progress(uint32_t percent, int64_t remaining_s, const char *const *metrics,
                                     struct popdist_error *error)
{
    char number[16], seconds[32];
    char *words[WORDS_MAX] = {PROGRAM, "progress", number};
    size_t count = 3;
    uint32_t offset = 0;
    enum popdist_status status;

    if (percent > 100)
        return fail(error, POPDIST_INVALID, "the progress must be from 0 to 100 percent, got %" PRIu32,
                    percent);
    if (remaining_s < -1 || remaining_s > REMAINING_MAX_S)
        return fail(error, POPDIST_INVALID, "the remaining time must be up to %" PRId64 " s, got %" PRId64,
                    REMAINING_MAX_S, remaining_s);
    (void)snprintf(number, sizeof(number), "%" PRIu32, percent);
    if (remaining_s >= 0) {
        (void)snprintf(seconds, sizeof(seconds), "%" PRId64, remaining_s);
        words[count++] = "--eta";
        words[count++] = seconds;
    }
    status = read_metrics(metrics, words, &count, error);
    if (!status)
        status = setting_read(SETTING_REPLICA_OFFSET, &offset, error);
    if (status || offset || !setting_text(POPDIST_ENV_PROGRESS_URL))
        return status;
    (void)pthread_mutex_lock(&reporter.lock);
    status = report(words, percent == 100, error);
    (void)pthread_mutex_unlock(&reporter.lock);
    return status;
}
