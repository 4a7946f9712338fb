/* gc-monitor: which programs use the IPUs. Options, clock, output and exit status only. */
#include "vipu/tools/gc-monitor/main.h"

#include <stdlib.h>
#include <time.h>

#include "base/core/mem.h"
#include "vipu/tools/devices/attach.h"
#include "vipu/tools/discovery/discovery.h"
#include "vipu/tools/display/monitor.h"
#include "vipu/tools/gc-monitor/options.h"
#include "vipu/tools/program.h"

static const char *environment(const char *name)
{
    return getenv(name);
}

struct monitored {
    struct monitored_gcd *gcds;
    size_t count;
};

static void monitored_auto(struct monitored *monitored)
{
    for (size_t i = 0; i < monitored->count; i++)
        lock_records_release(&monitored->gcds[i].holders);
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

/* Partitions with problems are reported; only the active one's make the program fail. */
static int tell_troubles(const struct program *program, const struct discovery *found)
{
    int status = EXIT_SUCCESS;

    for (size_t i = 0; i < found->count; i++) {
        if (!found->views[i].trouble)
            continue;
        (void)program_fail(program, found->views[i].trouble);
        if (found->views[i].active)
            status = EXIT_FAILURE;
    }
    return status;
}

static int run(const struct program *program, const void *parsed)
{
    const struct options *options = parsed;
    AUTO(mem) char *home = program_home_folder(program);
    const char *const folders[] = {home, SOURCE_SYSTEM_FOLDER, NULL};
    const struct discovery_options search = {.user_agent = "gc-monitor/" IPU_OPERATOR_VERSION,
                                             .folders = folders,
                                             .all = options->all_partitions,
                                             .attributes = true};
    AUTO(discovery) struct discovery found = {0};
    AUTO(monitored) struct monitored monitored = {0};
    AUTO(str) struct str out = {.max = SIZE_MAX / 2};
    struct err err;

    if (!discover(&options->source, &search, &found, &err) ||
        !look(&found, program_lock_folder(program, options->run_dir), &monitored, &err))
        return program_fail(program, err.msg);
    if (options->json)
        monitor_print_json(monitored.gcds, monitored.count, !options->no_card_info, attach_pid_space(),
                           time(NULL), &out);
    else
        draw(&monitored, !options->no_card_info, &out);
    if (program_print(program, &out) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    return tell_troubles(program, &found);
}

int gc_monitor_main(int argc, char **argv)
{
    const struct program program = {.spec = &gc_monitor_spec,
                                    .summary = "show the IPUs of a partition and the processes that use them",
                                    .env = environment,
                                    .run = run};
    struct options options = {0};

    return program_main(&program, argc, argv, &options);
}
