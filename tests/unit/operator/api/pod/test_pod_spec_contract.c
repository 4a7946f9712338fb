/* A fact that is said twice is kept equal: a container with a command gets its environment from ipu-launch,
 * one without gets it from the pod spec. The real ipu-launch is asked. */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "pod_spec_cases.h"

static const cJSON *env_of(const cJSON *pod)
{
    return json_at(json_at(pod, "spec/containers")->child, "env");
}

static const char *value_of(const cJSON *env, const char *name)
{
    JSON_EACH (item, env) {
        if (str_eq(json_str(item, "name", ""), name))
            return json_str(item, "value", NULL);
    }
    return NULL;
}

static const char *value_in(const struct strv *lines, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < lines->count; i++) {
        if (strncmp(lines->items[i], name, len) == 0 && lines->items[i][len] == '=')
            return lines->items[i] + len + 1;
    }
    return NULL;
}

/* What the kubelet would put into the container. */
static void literal_env(const cJSON *env, struct strv *out)
{
    JSON_EACH (item, env) {
        if (json_str(item, "value", NULL))
            strv_pushf(out, "%s=%s", json_str(item, "name", ""), json_str(item, "value", ""));
    }
}

static char *read_all(int fd)
{
    struct str text = {0};
    char chunk[4096];
    ssize_t len;

    while ((len = read(fd, chunk, sizeof chunk)) > 0)
        str_add(&text, chunk, (size_t)len);
    return str_take(&text);
}

/* Prints what `ipu-launch run` would add. */
static void ask_launcher(struct strv *env, struct strv *added)
{
    char *const argv[] = {(char *)(uintptr_t) "ipu-launch", (char *)(uintptr_t) "env", NULL};
    int ends[2], status = 0;
    pid_t pid;

    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        execve(IPU_LAUNCH, argv, strv_argv(env));
        _exit(127);
    }
    (void)close(ends[1]);
    AUTO(mem) char *text = read_all(ends[0]);
    (void)close(ends[0]);
    CHECK_INT_EQ(waitpid(pid, &status, 0), pid);
    CHECK_INT_EQ(status, 0);

    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (*line)
            strv_push(added, line);
    }
}

static void drop_command(struct job *job)
{
    struct err err = {0};
    AUTO(json) cJSON *from = job_template(job, &err);

    json_drop(json_at_mut(from, "spec/containers")->child, "command");
    json_drop(json_at_mut(from, "spec/containers")->child, "envFrom"); /* nobody can look into it there */

    AUTO(mem) char *text = json_print(from);

    pod_spec_case_set_template(job, text);
}

/* The launcher's own input, its wrapping, and what names its programs are no results. */
static bool is_result(const char *name)
{
    static const char *const prefixes[] = {"IPU_JOB_", "IPU_DEFAULT_", "OMPI_MCA_", "PRTE_MCA_"};

    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (str_has_prefix(name, prefixes[i]))
            return false;
    return !str_eq(name, "PATH");
}

static void check_same(const cJSON *spoken, const struct strv *launched, const struct strv *added)
{
    JSON_EACH (item, spoken) {
        const char *name = json_str(item, "name", ""), *value = json_str(item, "value", NULL);
        const char *got = value_in(added, name) ? value_in(added, name) : value_in(launched, name);

        if (is_result(name) && value && !str_eq(got, value))
            CHECK_FAIL("%s is %s by ipu-launch, and %s in the pod spec", name, got ? got : "not set", value);
    }
    for (size_t i = 0; i < added->count; i++) {
        AUTO(mem) char *name = mem_strndup(added->items[i], strcspn(added->items[i], "="));

        if (is_result(name) && !value_of(spoken, name))
            CHECK_FAIL("ipu-launch sets %s, and the pod spec does not", added->items[i]);
    }
}

TEST(ipu_launch_and_the_pod_spec_say_the_same)
{
    for (size_t i = 0; i < pod_spec_case_count; i++) {
        const struct pod_spec_case *c = &pod_spec_cases[i];
        AUTO(job) struct job *job = pod_spec_case_job(c);
        if (job->spec.has_launcher) /* its workers are wrapped in any case */
            continue;
        AUTO(json) cJSON *with_command = pod_spec_case_pod(c, job);
        AUTO(strv) struct strv launched = {0};
        AUTO(strv) struct strv added = {0};

        literal_env(env_of(with_command), &launched);
        ask_launcher(&launched, &added);
        drop_command(job);
        AUTO(json) cJSON *without = pod_spec_case_pod(c, job);
        check_same(env_of(without), &launched, &added);
    }
}

/* Should the two ever agree on nothing, the test above would still pass. */
TEST(several_workers_get_their_ranks)
{
    const struct pod_spec_case *c = &pod_spec_cases[pod_spec_case_count - 1];
    AUTO(job) struct job *job = pod_spec_case_job(c);
    AUTO(json) cJSON *pod = pod_spec_case_pod(c, job);
    AUTO(strv) struct strv launched = {0};
    AUTO(strv) struct strv added = {0};

    literal_env(env_of(pod), &launched);
    ask_launcher(&launched, &added);
    CHECK_STR_EQ(value_in(&added, "RANK"), "1");
    CHECK_STR_EQ(value_in(&added, "WORLD_SIZE"), "2");
    CHECK_STR_EQ(value_in(&added, "POPDIST_NUM_TOTAL_REPLICAS"), "4");
    CHECK_STR_EQ(value_in(&added, "POPDIST_REPLICA_INDEX_OFFSET"), "2");
    CHECK_STR_EQ(value_in(&added, "MASTER_ADDR"), "two-workers-worker-2.two-workers-workers.team.svc");
    CHECK_STR_EQ(value_in(&launched, "IPUOF_VIPU_API_GCD_ID"), "1");
}
