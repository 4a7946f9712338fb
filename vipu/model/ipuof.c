#include "vipu/model/ipuof.h"

#include <string.h>

#include "base/core/mem.h"

static void device_release(struct vipu_ipuof_device *device)
{
    mem_free(device->ip);
    mem_free(device->chip_id);
    mem_free(device->gwsw_version);
    mem_free(device->ipum_sw_version);
}

static void gcd_release(struct vipu_ipuof_gcd *gcd)
{
    for (size_t i = 0; i < gcd->device_count; i++)
        device_release(&gcd->devices[i]);
    mem_free(gcd->devices);
    for (size_t i = 0; i < gcd->attribute_count; i++) {
        mem_free(gcd->attributes[i].key);
        mem_free(gcd->attributes[i].value);
    }
    mem_free(gcd->attributes);
}

void vipu_ipuof_config_release(struct vipu_ipuof_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->gcd_count; i++)
        gcd_release(&config->gcds[i]);
    mem_free(config->gcds);
    mem_free(config->ipuof_server_version);
    *config = (struct vipu_ipuof_config){0};
}

const char *vipu_ipuof_attribute(const struct vipu_ipuof_gcd *gcd, const char *key)
{
    for (size_t i = 0; i < gcd->attribute_count; i++)
        if (strcmp(gcd->attributes[i].key, key) == 0)
            return gcd->attributes[i].value;
    return NULL;
}
