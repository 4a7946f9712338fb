/* gc-monitor: who uses the IPUs. Wiring only: environment, clock, output, exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "vipu/tools/attach.h"
#include "vipu/tools/discovery.h"
#include "vipu/tools/gc-monitor/options.h"
#include "vipu/tools/monitor.h"

#define EXIT_USAGE 2

static const char *environment(const char *name)
{
    return getenv(name);
}

static int complain(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "gc-monitor: %s\n", problems->items[i]);
    (void)fputs("gc-monitor --help tells what there is\n", stderr);
    return EXIT_USAGE;
}

static int print(const struct str *out)
{
    if (fputs(str_text(out), stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "gc-monitor: the output could not be written: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

static int fail(const char *sentence)
{
    (void)fprintf(stderr, "gc-monitor: %s\n", sentence);
    return EXIT_FAILURE;
}

struct monitored {
    struct monitored_gcd *gcds;
    size_t count;
};

static void monitored_auto(struct monitored *monitored)
{
    for (size_t i = 0; i < monitored->count; i++)
        holders_release(&monitored->gcds[i].holders);
    mem_free(monitored->gcds);
}

static bool look(const struct discovery *found, const char *folder, struct monitored *ret, struct err *err)
{
    ret->gcds = mem_alloc((found->count + 1) * sizeof(*ret->gcds));
    for (size_t i = 0; i < found->count; i++) {
        const struct gcd_view *view = &found->views[i];
        struct monitored_gcd *gcd = &ret->gcds[ret->count++];

        gcd->view = view;
        if (!attach_holders(folder, view->partition, view->gcd, view->ipu_count, &gcd->holders, err))
            return false;
    }
    return true;
}

static void draw(const struct monitored *monitored, bool with_cards, struct str *out)
{
    for (size_t i = 0; i < monitored->count; i++) {
        const struct monitored_gcd *gcd = &monitored->gcds[i];

        if (gcd->view->trouble)
            continue;
        if (with_cards)
            monitor_print_cards(gcd->view, out);
        monitor_print_processes(gcd, attach_pid_space(), time(NULL), out);
    }
    if (monitored->count == 0)
        monitor_print_nothing(out);
}

/* Partitions in trouble are told about; only the active one's makes this fail. */
static int tell_troubles(const struct discovery *found)
{
    int status = EXIT_SUCCESS;

    for (size_t i = 0; i < found->count; i++) {
        if (!found->views[i].trouble)
            continue;
        (void)fail(found->views[i].trouble);
        if (found->views[i].active)
            status = EXIT_FAILURE;
    }
    return status;
}

static int run(const struct options *options)
{
    AUTO(mem) char *home = mem_printf("%s/.ipuof.conf.d", environment("HOME") ? environment("HOME") : "");
    const char *const folders[] = {home, SOURCE_SYSTEM_FOLDER, NULL};
    const struct discovery_wish wish = {.user_agent = "gc-monitor/" IPU_OPERATOR_VERSION,
                                        .folders = folders,
                                        .all = options->all_partitions,
                                        .attributes = true};
    AUTO(discovery) struct discovery found = {0};
    AUTO(monitored) struct monitored monitored = {0};
    AUTO(str) struct str out = {.max = SIZE_MAX / 2};
    struct err err;

    if (!discover(&options->source, &wish, &found, &err) ||
        !look(&found, options->run_dir ? options->run_dir : attach_folder(environment), &monitored, &err))
        return fail(err.msg);
    if (options->json)
        monitor_print_json(monitored.gcds, monitored.count, !options->no_card_info, attach_pid_space(),
                           time(NULL), &out);
    else
        draw(&monitored, !options->no_card_info, &out);
    if (print(&out) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    return tell_troubles(&found);
}

int main(int argc, char **argv)
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str help = {0};
    struct options options = {0};
    enum opts_result result =
        opts_parse(&options_spec, argc, argv, environment, false, &options, &words, &problems);
    int status = EXIT_SUCCESS;

    for (size_t i = 0; i < words.count; i++)
        strv_pushf(&problems, "\"%.200s\" is one word too many", words.items[i]);
    switch (problems.count ? OPTS_BAD : result) {
    case OPTS_RUN:
        status = run(&options);
        break;
    case OPTS_HELP:
        opts_help(&options_spec, &help);
        status = print(&help);
        break;
    case OPTS_VERSION:
        (void)puts("gc-monitor " IPU_OPERATOR_VERSION);
        break;
    case OPTS_BAD:
        status = complain(&problems);
        break;
    }
    opts_release(&options_spec, &options);
    return status;
}
