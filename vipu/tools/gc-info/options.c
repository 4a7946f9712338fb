#include "vipu/tools/gc-info/options.h"

#include <stddef.h>

#include "vipu/tools/program.h"

#define AT(field) offsetof(struct options, field)

static const struct opt rows[] = {
    OPT_SWITCH("list-devices", AT(commands[QUERY_LIST]),
               "list the devices of the partition, single and multi-IPU", .letter = 'l'),
    OPT_SWITCH("device-info", AT(commands[QUERY_ATTRIBUTES]),
               "print the attributes of a device, one per line", .letter = 'i'),
    OPT_SWITCH("chip-id", AT(commands[QUERY_CHIP_IDS]), "print the chip id of each IPU of a device"),
    OPT_SWITCH("tile-overview", AT(commands[QUERY_TILES]),
               "show the tiles of each IPU of a device; fails while a program is attached to it"),
    OPT_SWITCH("ipu-count", AT(commands[QUERY_COUNT]),
               "print how many IPUs a device has; without --device-id, the partition"),
    OPT_SWITCH("ipu-arch", AT(commands[QUERY_ARCHITECTURE]),
               "print the architecture of a device's IPUs; without --device-id, of all"),
    OPT_SWITCH("tile-clock-speed", AT(commands[QUERY_CLOCK]),
               "print the clock of a device's tiles; without --device-id, of all"),
    OPT_VALUE("device-id", OPT_STR, AT(device), "ID", "number of the device, as --list-devices prints it",
              .letter = 'd'),
    OPT_SWITCH("all-partitions", AT(all_partitions),
               "with --list-devices: the single IPUs of every partition, the active one first",
               .letter = 'a'),
    SOURCE_ROWS,
    PROGRAM_RUN_DIR_ROW(struct options),
    {0},
};

const struct opts_spec gc_info_spec = {
    .program = "gc-info",
    .usage = "gc-info --list-devices [--all-partitions]\n"
             "       gc-info --device-id ID --device-info\n"
             "       gc-info --device-id ID --chip-id | --tile-overview\n"
             "       gc-info [--device-id ID] --ipu-count | --ipu-arch | --tile-clock-speed",
    .about = "Shows information about the IPUs of the partition set in the environment: the file "
             "IPUOF_CONFIG_PATH, or the controller and partition of IPUOF_VIPU_API_HOST and "
             "IPUOF_VIPU_API_PARTITION_ID, or the files in ~/.ipuof.conf.d, or those in " SOURCE_SYSTEM_FOLDER
             ", in this order. Exit status: 0 for success, 1 if the information is not available (no "
             "partition, no controller, unknown device, partition in error), 2 for an invalid command line.",
    .rows = rows,
    .once = true,
};

static bool find_command(const struct options *options, struct query *query, struct strv *problems)
{
    size_t count = 0;

    for (size_t kind = 0; kind < QUERY_KINDS; kind++) {
        if (!options->commands[kind])
            continue;
        query->kind = (enum query_kind)kind;
        count++;
    }
    if (count == 0)
        strv_push(problems, "missing action; for example: gc-info --list-devices");
    if (count > 1)
        strv_push(problems, "choose one action");
    return count == 1;
}

bool options_query(const struct options *options, struct query *ret, struct strv *problems)
{
    size_t before = problems->count;
    struct query query = {.all_partitions = options->all_partitions};
    bool known = find_command(options, &query, problems);

    if (options->device && !parse_u32(options->device, 0, QUERY_MAX_DEVICE, &query.device))
        strv_pushf(problems, "--device-id must be a number from 0 to %u, got \"%.40s\"", QUERY_MAX_DEVICE,
                   options->device);
    query.has_device = options->device != NULL;
    if (known && query_needs_device(query.kind) && !options->device)
        strv_push(problems, "--device-id is required; list the devices with gc-info --list-devices");
    if (known && query.kind != QUERY_LIST && options->all_partitions)
        strv_push(problems, "--all-partitions requires --list-devices");
    *ret = query;
    return problems->count == before;
}
