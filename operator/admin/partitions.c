#include "operator/admin/partitions.h"

#include <stdio.h>

#include "operator/admin/sync_client.h"
#include "operator/api/partition/orphan.h"

static const struct opt ROWS[] = {
    SYNC_CLIENT_URL_ROWS(offsetof(struct sync_client_settings, operator_url)),
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator partitions",
    .usage = "ipu-operator partitions [options]",
    .about =
        "Lists orphaned partitions: partitions on the V-IPU controllers that have no record. The operator "
        "counts their IPUs as in use and never changes them. COULD BE OF shows the IPUJobs that the ID "
        "matches. Changes nothing.",
    .rows = ROWS,
};

static bool list(struct sync_client *client, const void *settings, struct err *err)
{
    AUTO(json) cJSON *page = sync_get_partitions(client, err);
    AUTO(str) struct str text = {0};

    (void)settings;
    if (!page)
        return false;
    if (orphan_print_all(page, &text) == 0)
        str_addf(&text, "No orphaned partitions.\n");
    return fputs(str_text(&text), stdout) >= 0;
}

int partitions_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct sync_client_settings settings = {0};

    return sync_client_main(&SPEC, &settings, list, argc, argv, env);
}
