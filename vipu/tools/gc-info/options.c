#include "vipu/tools/gc-info/options.h"

#include <stddef.h>

#include "vipu/tools/program.h"

#define AT(field) .offset = offsetof(struct options, field)
#define COMMAND(kind) .type = OPT_FLAG, AT(commands[kind])

static const struct opt rows[] = {
    {.flag = "list-devices",
     .letter = 'l',
     COMMAND(QUERY_LIST),
     .help = "list the devices of the partition: each IPU, and the devices of several IPUs that it offers"},
    {.flag = "device-info",
     .letter = 'i',
     COMMAND(QUERY_ATTRIBUTES),
     .help = "print the attributes of a device, one line for each"},
    {.flag = "chip-id", COMMAND(QUERY_CHIP_IDS), .help = "print the chip id of each IPU of a device"},
    {.flag = "tile-overview",
     COMMAND(QUERY_TILES),
     .help = "show the tiles of each IPU of a device; refused while a program is attached to it"},
    {.flag = "ipu-count",
     COMMAND(QUERY_COUNT),
     .help = "print how many IPUs a device has; without --device-id, the partition"},
    {.flag = "ipu-arch",
     COMMAND(QUERY_ARCHITECTURE),
     .help = "print the architecture of a device's IPUs; without --device-id, of all"},
    {.flag = "tile-clock-speed",
     COMMAND(QUERY_CLOCK),
     .help = "print the clock of a device's tiles; without --device-id, of all"},
    {.flag = "device-id",
     .letter = 'd',
     .type = OPT_STR,
     AT(device),
     .arg = "ID",
     .help = "number of the device, as --list-devices prints it"},
    {.flag = "all-partitions",
     .letter = 'a',
     .type = OPT_FLAG,
     AT(all_partitions),
     .help = "with --list-devices: the single IPUs of every partition, the active one first"},
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
    .about =
        "Tells about the IPUs of the partition that the environment names: the file IPUOF_CONFIG_PATH, or "
        "the controller and partition of IPUOF_VIPU_API_HOST and IPUOF_VIPU_API_PARTITION_ID, or the files "
        "in ~/.ipuof.conf.d, or those in " SOURCE_SYSTEM_FOLDER ", in this order. The exit status is 0 for "
        "success, 1 when nothing can be told (no partition, no controller, no such device, the partition "
        "is in error), 2 for a wrong command line.",
    .rows = rows,
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
        strv_push(problems, "what to print? For example: gc-info --list-devices");
    if (count > 1)
        strv_push(problems, "only one thing can be printed at a time");
    return count == 1;
}

bool options_query(const struct options *options, struct query *ret, struct strv *problems)
{
    size_t before = problems->count;
    struct query query = {.all_partitions = options->all_partitions};
    bool known = find_command(options, &query, problems);

    if (options->device && !parse_u32(options->device, 0, QUERY_MAX_DEVICE, &query.device))
        strv_pushf(problems, "--device-id needs a number from 0 to %u, not \"%.40s\"", QUERY_MAX_DEVICE,
                   options->device);
    query.has_device = options->device != NULL;
    if (known && query_needs_device(query.kind) && !options->device)
        strv_push(problems, "which device? --device-id ID, with a number that gc-info --list-devices prints");
    if (known && query.kind != QUERY_LIST && options->all_partitions)
        strv_push(problems, "--all-partitions goes with --list-devices only");
    *ret = query;
    return problems->count == before;
}
