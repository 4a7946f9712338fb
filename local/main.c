/* ipu-run: IPUJobs on this machine. Options, files, output and exit status only; run/run.h has the rest. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "local/job/host_paths.h"
#include "local/job/job_check.h"
#include "local/node/podman.h"
#include "options.h"
#include "local/run/run.h"

#define EXIT_REJECTED 2
#define EXIT_INTERRUPTED 130

extern char **environ;

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static void complain(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "ipu-run: %s\n", problems->items[i]);
}

static int print_page(const struct str *page)
{
    return fputs(str_text(page), stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- what containers get of this process ---- */

/* Containers have the environment of this machine, as they have its programs; but not what describes another
 * job. */
static void collect_env(struct strv *env)
{
    static const char *const others[] = {"IPUOF_",
                                         "IPU_JOB_",
                                         "IPU_DEFAULT_",
                                         "POPDIST_",
                                         "POPLAR_TARGET_OPTIONS=",
                                         "OMPI_",
                                         "PMIX_",
                                         "PRTE_",
                                         "RANK=",
                                         "WORLD_SIZE=",
                                         "LOCAL_RANK=",
                                         "MASTER_ADDR=",
                                         "MASTER_PORT=",
                                         "KUBEFLOW_TRAINER_SERVER_",
                                         "VIPU_CLI_API_"};

    for (char **variable = environ; *variable; variable++) {
        bool is_of_other = false;

        for (size_t i = 0; i < COUNT_OF(others); i++)
            is_of_other = is_of_other || str_has_prefix(*variable, others[i]);
        if (!is_of_other)
            strv_push(env, *variable);
    }
}

static void add_bind(const char *text, struct sandbox *binds, struct strv *problems)
{
    const char *colon = strrchr(text, ':');
    AUTO(mem) char *source = mem_strndup(text, colon ? (size_t)(colon - text) : 0);
    AUTO(mem) char *whole = *source ? realpath(source, NULL) : NULL;

    if (!colon || colon[1] != '/' || !*source)
        strv_pushf(problems, "--bind %s: must be SOURCE:PATH with an absolute PATH", text);
    else if (!whole)
        strv_pushf(problems, "--bind %s: cannot find %s", text, source);
    else
        sandbox_add(binds, whole, colon + 1, false);
}

/* ---- the run's directory ---- */

static char *absolute(const char *path, const char *work_dir)
{
    return path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", work_dir, path);
}

static char *default_dir(void)
{
    const char *state = environment("XDG_STATE_HOME"), *home = environment("HOME");
    AUTO(mem) char *base = state ? mem_strdup(state) : mem_printf("%s/.local/state", home ? home : "/tmp");
    char now[32];
    time_t seconds = time(NULL);
    struct tm parts;

    (void)strftime(now, sizeof(now), "%Y%m%d-%H%M%S", localtime_r(&seconds, &parts));
    return mem_printf("%s/ipu-run/%s-%d", base, now, (int)getpid()); /* as run_dir_remove_old knows it */
}

/* One file for each job, as `kubectl get -o json` prints it. */
static bool keep_jobs(const struct run_dir *dir, const cJSON *jobs, struct err *err)
{
    JSON_EACH (job, jobs) {
        AUTO(mem) char *path = mem_printf("%s/%s.json", dir->path, json_str(job, "metadata/name", "job"));
        AUTO(mem) char *text = json_print_pretty(job);

        if (!file_write(path, 0644, slice_of(text), err))
            return false;
    }
    return true;
}

static bool print_jobs(cJSON *jobs, struct err *err)
{
    AUTO(json) cJSON *list = NULL;
    AUTO(mem) char *text = NULL;

    if (cJSON_GetArraySize(jobs) != 1) {
        list = json_object();
        json_put_str(list, "apiVersion", "v1");
        json_put_str(list, "kind", "List");
        json_put_take(list, "items", json_dup(jobs));
    }
    text = json_print_pretty(list ? list : jobs->child);
    if (printf("%s\n", text) >= 0 && fflush(stdout) == 0)
        return true;
    return err_errno(err, errno, "cannot print the final state");
}

/* ---- running ---- */

static bool prints_colour(FILE *out)
{
    return !environment("NO_COLOR") && !str_eq(environment("TERM"), "dumb") && isatty(fileno(out));
}

static int exit_status(enum run_result result)
{
    static const int codes[] = {EXIT_SUCCESS, EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_FAILURE};

    return codes[result];
}

static int run_in(const struct run_dir *dir, const struct options *options, struct objects *objects,
                  const struct sandbox *binds, const char *work_dir)
{
    FILE *out = options->output == OUTPUT_JSON ? stderr : stdout;
    AUTO(strv) struct strv env = {0};
    AUTO(json) cJSON *jobs = NULL;
    struct err err = {0};
    enum run_result result;

    collect_env(&env);
    result = run_jobs(
        &(struct run_options){
            .objects = objects,
            .dir = dir,
            .controller = options->controller,
            .environment = environment,
            .ipus = options->ipus,
            .timeout_s = options->timeout_s,
            .work_dir = work_dir,
            .env = &env,
            .binds = binds,
            .engine = (enum engine)options->engine,
            .report = {.out = out, .is_terminal = isatty(fileno(out)), .has_colour = prints_colour(out)}},
        &jobs, &err);
    if (result == RUN_ERROR || !keep_jobs(dir, jobs, &err) ||
        (options->output == OUTPUT_JSON && !print_jobs(jobs, &err))) {
        (void)fprintf(stderr, "ipu-run: %s\n", err.msg);
        return EXIT_FAILURE;
    }
    return exit_status(result);
}

static bool engine_is_there(const struct options *options, const struct objects *objects, struct err *err)
{
    if (options->engine == ENGINE_PROCESS)
        return sandbox_is_allowed(err);
    if (!podman_is_installed(err))
        return false;
    for (size_t i = 0; i < objects->count; i++)
        if (!podman_pull_images(objects->items[i].doc, err))
            return false;
    return true;
}

static int run(const struct options *options, struct objects *objects, const struct sandbox *binds)
{
    AUTO(mem) char *work_dir = getcwd(NULL, 0);
    AUTO(mem)
    char *path = options->run_dir ? absolute(options->run_dir, work_dir ? work_dir : "/") : default_dir();
    struct run_dir dir = {.lock = -1};
    struct err err;
    int code = EXIT_FAILURE;

    if (engine_is_there(options, objects, &err) && run_dir_open(&dir, path, &err)) {
        code = run_in(&dir, options, objects, binds, work_dir ? work_dir : "/");
        (void)fprintf(stderr, "ipu-run: logs and final state are in %s\n", dir.path);
    } else {
        (void)fprintf(stderr, "ipu-run: %s\n", err.msg);
    }
    run_dir_close(&dir);
    if (!options->run_dir)
        run_dir_remove_old(path);
    return code;
}

static void print_notes(const struct strv *notes, const struct strv *warnings)
{
    if (notes->count)
        (void)fputs("ipu-run: what differs on this machine:\n", stderr);
    for (size_t i = 0; i < notes->count; i++)
        (void)fprintf(stderr, "  %s\n", notes->items[i]);
    for (size_t i = 0; i < warnings->count; i++)
        (void)fprintf(stderr, "ipu-run: warning: %s\n", warnings->items[i]);
}

static int start(const struct options *options, const struct strv *files)
{
    AUTO(objects) struct objects objects = {0};
    AUTO(sandbox) struct sandbox binds = {0};
    AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

    for (size_t i = 0; i < files->count; i++)
        objects_read(&objects, files->items[i], true, &problems);
    for (size_t i = 0; i < options->with.count; i++)
        objects_read(&objects, options->with.items[i], false, &problems);
    for (size_t i = 0; i < options->set.count; i++)
        objects_set(&objects, options->set.items[i], &problems);
    for (size_t i = 0; i < options->bind.count; i++)
        add_bind(options->bind.items[i], &binds, &problems);
    if (options->ipus % (options->ipus > 64 ? 64 : 4))
        strv_pushf(&problems, "--ipus must be a multiple of 4, and above 64 a multiple of 64, got %u",
                   (unsigned)options->ipus);
    job_check_all(&objects, (enum engine)options->engine, options->strict,
                  options->controller ? 0 : options->ipus, &notes, &warnings, &problems);
    host_paths_check(&objects, &problems);
    if (problems.count) {
        complain(&problems);
        return EXIT_REJECTED;
    }
    print_notes(&notes, &warnings);
    return run(options, &objects, &binds);
}

int main(int argc, char **argv)
{
    AUTO(strv) struct strv files = {0}, problems = {0};
    AUTO(str) struct str page = {0};
    struct options options = {0};
    int code = EXIT_REJECTED;

    /* Hidden: for the build only. */
    if (argc > 1 && str_eq(argv[1], "__man")) {
        options_man(&page);
        return print_page(&page);
    }
    if (argc == 3 && str_eq(argv[1], "__completion") && options_completion(argv[2], &page))
        return print_page(&page);
    switch (opts_parse(&OPTIONS_SPEC, argc, argv, environment, false, &options, &files, &problems)) {
    case OPTS_RUN:
        log_setup((enum log_level)options.log_level, false);
        if (files.count)
            code = start(&options, &files);
        else
            (void)fputs("ipu-run: name a file with an IPUJob; see ipu-run --help\n", stderr);
        break;
    case OPTS_HELP:
        opts_help(&OPTIONS_SPEC, &page);
        code = print_page(&page);
        break;
    case OPTS_VERSION:
        str_adds(&page, "ipu-run " IPU_OPERATOR_VERSION "\n");
        code = print_page(&page);
        break;
    case OPTS_BAD:
        complain(&problems);
        break;
    }
    opts_release(&OPTIONS_SPEC, &options);
    return code;
}
