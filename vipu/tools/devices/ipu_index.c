#include "vipu/tools/devices/ipu_index.h"

#include "base/core/mem.h"
#include "base/core/str.h"

const char *agent_ipu_attribute(const struct vipu_agent_ipu *ipu, const char *key)
{
    for (size_t i = 0; i < ipu->attribute_count; i++)
        if (str_eq(ipu->attributes[i].key, key))
            return ipu->attributes[i].value;
    return NULL;
}

static void add(struct ipu_index *index, struct vipu_agent_ipu *ipu)
{
    const char *chip = agent_ipu_attribute(ipu, "chip id");
    const char *host = agent_ipu_attribute(ipu, "ipuof host");
    const char *board = agent_ipu_attribute(ipu, "board ipu index");

    if (chip && *chip) {
        AUTO(mem) char *key = mem_printf("chip %s", chip);

        map_set(&index->ipus, key, ipu);
    }
    if (host && board) {
        AUTO(mem) char *key = mem_printf("board %s %s", host, board);

        map_set(&index->ipus, key, ipu);
    }
}

void ipu_index_init(struct ipu_index *index, struct vipu_agents *agents)
{
    *index = (struct ipu_index){0};
    for (size_t i = 0; i < agents->count; i++)
        for (size_t n = 0; n < agents->items[i].ipu_count; n++)
            add(index, &agents->items[i].ipus[n]);
}

const struct vipu_agent_ipu *ipu_index_find(const struct ipu_index *index,
                                            const struct vipu_ipuof_device *device)
{
    AUTO(mem) char *chip = mem_printf("chip %s", device->chip_id);
    AUTO(mem) char *board = mem_printf("board %s %u", device->ip, device->ipu_id);
    const struct vipu_agent_ipu *found = *device->chip_id ? map_get(&index->ipus, chip) : NULL;

    return found ? found : map_get(&index->ipus, board);
}

void ipu_index_release(struct ipu_index *index)
{
    map_release(&index->ipus);
}
