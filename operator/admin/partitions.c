#include "operator/admin/partitions.h"

#include <stdio.h>

#include "operator/admin/sync_client.h"
#include "operator/api/partition/orphan.h"

static const struct opt ROWS[] = {
    SYNC_CLIENT_PAGES_ROW(offsetof(struct sync_client_settings, pages)),
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator partitions",
    .usage = "ipu-operator partitions [options]",
    .about = "Lists the partitions of the V-IPU controllers that have no record: the operator counts their "
             "IPUs as taken and never touches them. Where an id tells, the IPUJob it could be of stands "
             "beside it. It changes nothing.",
    .rows = ROWS,
};

static bool list(struct sync_client *sync_client, const void *settings, struct err *err)
{
    AUTO(json) cJSON *page = sync_get_page(sync_client, "/partitions", err);
    AUTO(str) struct str text = {0};

    (void)settings;
    if (!page)
        return false;
    if (orphan_print_all(page, &text) == 0)
        str_addf(&text, "Every partition has a record.\n");
    return fputs(str_text(&text), stdout) >= 0;
}

static int run(void *ctx, struct loop *loop, struct kube *kube)
{
    return sync_client_run(ctx, list, loop, kube);
}

int partitions_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct sync_client_settings settings = {0};

    return subcommand_main(&SPEC, &settings.access, run, argc, argv, env);
}
