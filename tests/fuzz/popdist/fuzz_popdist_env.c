/* The environment contract: lines NAME=VALUE, then every query. Whatever the input, the results are
 * consistent. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "popdist/contract.h"
#include "popdist/popdist.h"

static const char *const names[] = {
    POPDIST_ENV_NUM_TOTAL_REPLICAS,   POPDIST_ENV_NUM_IPUS_PER_REPLICA,
    POPDIST_ENV_NUM_LOCAL_REPLICAS,   POPDIST_ENV_UNIFORM_REPLICAS_PER_INSTANCE,
    POPDIST_ENV_NODE_DEVICE_ID,       POPDIST_ENV_REPLICA_INDEX_OFFSET,
    POPDIST_ENV_LOCAL_INSTANCE_INDEX, POPLAR_ENV_TARGET_OPTIONS,
    "OMPI_COMM_WORLD_LOCAL_SIZE",     "POPLAR_ENGINE_OPTIONS",
};

#define NAMES (sizeof names / sizeof *names)

/* All variables that PopDist reads but one: without a directory for reports nothing is written to disk. */
static void set_line(char *line)
{
    char *value = strchr(line, '=');

    if (!value)
        return;
    *value = '\0';
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(line, names[i]) == 0)
            (void)setenv(line, value + 1, 1);
}

static void set_environment(char *text)
{
    char *line, *rest = text;

    for (size_t i = 0; i < NAMES; i++)
        (void)unsetenv(names[i]);
    (void)unsetenv(POPDIST_ENV_AUTOREPORT_DIRECTORY);
    while ((line = strsep(&rest, "\n")))
        set_line(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct popdist_error error;
    uint32_t instances, index, device;
    char directory[8];
    bool enable_all;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    set_environment(text);
    free(text);
    if (popdist_instance_index(&index, &error) == POPDIST_OK &&
        (popdist_num_instances(&instances, &error) != POPDIST_OK || index >= instances))
        abort();
    if (popdist_device_id(0, &device, &error) && !memchr(error.text, '\0', sizeof error.text))
        abort();
    (void)popdist_device_id(3, &device, NULL);
    if (popdist_autoreport(directory, sizeof directory, &enable_all, &error) || *directory || enable_all)
        abort();
    return 0;
}
