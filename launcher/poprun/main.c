/* poprun: runs a program in several instances on IPUs. Options, configuration file, log and exit status
 * only. */
#include "launcher/poprun/main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "launcher/env/workers.h"
#include "launcher/poprun/log/run_messages.h"
#include "launcher/poprun/run/run_guard.h"
#include "launcher/poprun/plan/hosts.h"
#include "launcher/poprun/run/mpirun.h"
#include "launcher/poprun/options/usage_output.h"
#include "launcher/poprun/run/run.h"
#include "launcher/poprun/run/versions.h"

#define HOSTFILE_MAX ((size_t)1024 * 1024)
#define CONFIG_MODE 0644
#define SLURM_HOSTS "SLURM_JOB_NODELIST"

static const char *environment(const char *name)
{
    return getenv(name);
}

/* A closed standard stream would become the next open file, and mpirun would wait for its end forever. */
static void open_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        (void)close(fd);
}

static void print(const char *text)
{
    (void)fputs(text, stdout);
    (void)fflush(stdout); /* programs write to the same file */
}

static int print_page(const struct str *page)
{
    print(str_text(page));
    return ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int complain(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "POPRUN ERROR: %s\n", problems->items[i]);
    return EXIT_FAILURE;
}

static int complain_once(const struct err *err)
{
    (void)fprintf(stderr, "POPRUN ERROR: %s\n", err->msg);
    return EXIT_FAILURE;
}

/* ctx is the id of the process that the user started: one run, one id. */
static void log_line(void *ctx, enum run_log_level level, const char *text)
{
    AUTO(str) struct str line = {0};
    struct timeval now;
    struct tm local;

    (void)gettimeofday(&now, NULL);
    if (!localtime_r(&now.tv_sec, &local))
        return;
    struct run_log_stamp stamp = {local.tm_hour, local.tm_min, local.tm_sec, (int)(now.tv_usec / 1000),
                                  *(const pid_t *)ctx};
    run_log_line(&stamp, level, text, &line);
    (void)fputs(str_text(&line), stderr);
}

static enum run_log_level level_of(const struct poprun_options *options)
{
    static const struct {
        const char *name;
        enum run_log_level level;
    } names[] = {{"TRACE", RUN_LOG_TRACE},
                 {"DEBUG", RUN_LOG_DEBUG},
                 {"INFO", RUN_LOG_INFO},
                 {"WARN", RUN_LOG_WARNING},
                 {"ERR", RUN_LOG_ERROR}};
    const char *asked = environment("POPRUN_LOG_LEVEL");

    if (options->debug)
        return RUN_LOG_TRACE;
    if (options->very_verbose || options->verbose)
        return options->very_verbose ? RUN_LOG_DEBUG : RUN_LOG_INFO;
    for (size_t i = 0; asked && i < COUNT_OF(names); i++)
        if (strcmp(asked, names[i].name) == 0)
            return names[i].level;
    return RUN_LOG_WARNING;
}

/* The file named by --import-config; the command line overrides it. */
static void import(struct settings *settings, struct strv *problems)
{
    AUTO(settings) struct settings lower = {0};
    AUTO(str) struct str text = {0};
    const struct option_row *row = option_find("import-config");
    const char *path = NULL;
    struct err err;

    for (size_t i = 0; i < settings->count; i++)
        path = settings->items[i].row == row ? settings->items[i].value : path;
    if (!path)
        return;
    if (!file_read(path, SETTINGS_FILE_MAX, &text, &err)) {
        strv_pushf(problems, "--import-config: %s", err.msg);
        return;
    }
    settings_read_file(&lower, str_slice(&text), path, problems);
    settings_overlay(&lower, settings);
    struct settings upper = *settings;
    *settings = lower;
    lower = upper;
}

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* An existing file is kept; the new one's name contains the time. */
static char *export_path(const struct poprun_options *options)
{
    time_t now = time(NULL);
    char stamp[32] = "";
    struct stat about;
    struct tm local;

    if (options->overwrite_config || lstat(options->export_config, &about) != 0)
        return mem_strdup(options->export_config);
    if (localtime_r(&now, &local))
        (void)strftime(stamp, sizeof(stamp), "%Y-%m-%d_%H-%M-%S", &local);
    return mem_printf("%s.%s", options->export_config, stamp);
}

static bool export(const struct poprun_options *options, const struct settings *settings, struct err *err)
{
    AUTO(mem) char *path = NULL;
    AUTO(str) struct str text = {0};

    if (!options->export_config)
        return true;
    if (is_folder(options->export_config))
        return err_set(err, ERR_INVALID, "--export-config: %s is a directory; specify a file",
                       options->export_config);
    path = export_path(options);
    settings_write(settings, &text);
    return file_write(path, CONFIG_MODE, str_slice(&text), err) || err_wrap(err, "--export-config");
}

/* In a launcher pod the hosts are the job's workers. */
static bool read_workers(struct strv *hosts, struct err *err)
{
    AUTO(workers) struct workers workers = {0};
    const char *list = environment(WORKERS_ENV_HOSTS);

    if (!list || !*list)
        return true;
    if (!workers_read(list, &workers, err))
        return false;
    for (size_t i = 0; i < workers.count; i++)
        strv_push(hosts, workers.items[i].name);
    return true;
}

static void wrap(struct strv *problems, size_t from, const char *subject)
{
    for (size_t i = from; i < problems->count; i++) {
        char *text = mem_printf("%s: %s", subject, problems->items[i]);

        mem_free(problems->items[i]);
        problems->items[i] = text;
    }
}

/* Slurm's hosts if no others are given. A single one is this host: then only its name is shown. */
static void read_allocation(struct strv *hosts, char **local_name, struct strv *problems)
{
    const char *list = environment(SLURM_HOSTS);
    size_t before = problems->count;

    if (!list || !*list)
        return;
    hosts_read_list(list, hosts, problems);
    wrap(problems, before, "variable " SLURM_HOSTS);
    if (hosts->count != 1)
        return;
    *local_name = mem_strdup(hosts->items[0]);
    strv_release(hosts);
}

static void read_named(const struct poprun_options *options, struct strv *hosts, struct strv *problems)
{
    AUTO(str) struct str text = {0};
    size_t before = problems->count;
    struct err err;

    if (options->host)
        hosts_read_list(options->host, hosts, problems);
    wrap(problems, before, "--host");
    before = problems->count;
    if (options->hostfile && !file_read(options->hostfile, HOSTFILE_MAX, &text, &err))
        strv_push(problems, err.msg);
    else if (options->hostfile)
        hosts_read_file(str_slice(&text), options->hostfile, hosts, problems);
    wrap(problems, before, "--hostfile");
}

static void find_hosts(const struct poprun_options *options, struct strv *hosts, struct strv *unused,
                       char **local_name, struct strv *problems)
{
    struct err err;

    read_named(options, hosts, problems);
    if (!hosts->count && !problems->count && !read_workers(hosts, &err))
        strv_push(problems, err.msg);
    if (!hosts->count && !problems->count)
        read_allocation(hosts, local_name, problems);
    if (!problems->count && !hosts_divide(hosts, options->num_instances, unused, &err))
        strv_push(problems, err.msg);
}

static void log_hints(const struct run_log *log, const struct poprun_options *options)
{
    AUTO(strv) struct strv hints = {0};

    poprun_options_hint(options, environment, &hints);
    for (size_t i = 0; i < hints.count; i++)
        run_log_write(log, RUN_LOG_WARNING, "%s", hints.items[i]);
}

static int launch(const struct poprun_options *options, const struct settings *settings,
                  const struct strv *hosts, const struct strv *unused, const char *local_name)
{
    pid_t self = getpid();
    struct run_log log = {level_of(options), log_line, &self};
    struct access access = {0};
    AUTO(mem) char *mpirun = NULL;
    struct run run = {.options = options,
                      .program = &settings->program,
                      .hosts = hosts,
                      .local_name = local_name,
                      .access = &access,
                      .env = environment,
                      .run_log = &log,
                      .left = cleanup_new(),
                      .print = print};
    struct guarded_run guarded_run = {run_perform, run_clean_up, &run};
    int status = EXIT_SUCCESS;
    struct err err;
    bool good = run.left || err_errno(&err, errno, "out of shared memory");

    log_hints(&log, options);
    run_message_hosts(&log, hosts, unused);
    good = good && (options->offline_mode || vipu_endpoint_find(options, environment, &access, &err)) &&
           mpirun_find(environment("PATH"), &mpirun, &err);
    run.mpirun = mpirun;
    good = good && (options->dry_run ? run_describe(&run, &err) : guard_run(&guarded_run, &status, &err));
    vipu_endpoint_config_release(&access);
    if (good && options->dry_run && ferror(stdout))
        good = err_set(&err, ERR_IO, "cannot write to standard output");
    return good ? status : complain_once(&err);
}

static int start(struct settings *settings, struct poprun_options *options, struct strv *problems)
{
    AUTO(strv) struct strv hosts = {0}, unused = {0};
    AUTO(mem) char *local_name = NULL;
    AUTO(str) struct str page = {0};
    struct err err;

    import(settings, problems);
    poprun_options_fill(settings, options, problems);
    if (options->help || options->version) {
        if (options->help)
            usage_help(&page);
        else
            versions_print((enum version_format)options->version_format, &page);
        return print_page(&page);
    }
    if (problems->count == 0)
        poprun_options_check(options, &settings->program, environment, problems);
    find_hosts(options, &hosts, &unused, &local_name, problems);
    if (problems->count)
        return complain(problems);
    if (!export(options, settings, &err))
        return complain_once(&err);
    return launch(options, settings, &hosts, &unused, local_name);
}

int poprun_main(int argc, char **argv)
{
    AUTO(settings) struct settings settings = {0};
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str page = {0};

    open_standard_streams();
    if (argc == 2 && strcmp(argv[1], "__man") == 0) {
        usage_man(&page);
        return print_page(&page);
    }
    if (argc == 3 && strcmp(argv[1], "__completion") == 0 && usage_completion(argv[2], &page))
        return print_page(&page);
    settings_read_words(&settings, argc, argv, &problems);
    return start(&settings, &options, &problems);
}
