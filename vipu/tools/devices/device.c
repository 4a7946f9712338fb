#include "vipu/tools/devices/device.h"

#include "vipu/model/shape.h"

static bool is_tree(uint32_t ipus, bool reconfigurable)
{
    return reconfigurable && vipu_is_power_of_two(ipus);
}

uint32_t device_total(uint32_t ipus, bool reconfigurable)
{
    if (is_tree(ipus, reconfigurable))
        return 2 * ipus - 1;
    return ipus > 1 ? ipus + 1 : ipus;
}

bool device_find(uint32_t ipus, bool reconfigurable, uint32_t id, struct device *ret)
{
    uint32_t size = 1;

    if (id >= device_total(ipus, reconfigurable))
        return false;
    if (id < ipus) {
        *ret = (struct device){.id = id, .first = id, .count = 1};
        return true;
    }
    if (!is_tree(ipus, reconfigurable)) {
        *ret = (struct device){.id = id, .first = 0, .count = ipus};
        return true;
    }
    while (size < ipus && id >= vipu_device_id(ipus, 2 * size, 0))
        size *= 2;
    *ret = (struct device){.id = id, .first = (id - vipu_device_id(ipus, size, 0)) * size, .count = size};
    return true;
}
