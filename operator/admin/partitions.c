#include "operator/admin/partitions.h"

#include <stdio.h>

#include "operator/admin/asking.h"
#include "operator/admin/tool.h"
#include "operator/api/orphan.h"

struct settings {
    struct tool_access access;
    char *pages;
};

static const struct opt ROWS[] = {
    ASKING_PAGES_ROW(offsetof(struct settings, pages)),
    TOOL_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator partitions",
    .usage = "ipu-operator partitions [options]",
    .about = "Lists the partitions of the V-IPU controllers that have no record: the operator counts their\n"
             "IPUs as taken and never touches them. Where an id tells, the IPUJob it could be of stands\n"
             "beside it. It changes nothing.",
    .rows = ROWS,
};

static int run(void *ctx, struct loop *loop, struct kube *kube)
{
    const struct settings *settings = ctx;
    AUTO(asking) struct asking asking = {0};
    AUTO(json) cJSON *page = NULL;
    AUTO(str) struct str text = {0};
    struct err err = {0};

    if (asking_init(&asking, loop, kube, settings->pages, &err))
        page = ask_page(&asking, "/partitions", &err);
    if (!page) {
        (void)fprintf(stderr, "ipu-operator: %s\n", err.msg);
        return TOOL_REFUSED;
    }
    if (orphan_print_all(page, &text) == 0)
        str_addf(&text, "Every partition has a record.\n");
    return fputs(str_text(&text), stdout) < 0 ? TOOL_REFUSED : TOOL_DONE;
}

int partitions_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {0};

    return tool_main(&SPEC, &settings.access, run, argc, argv, env);
}
