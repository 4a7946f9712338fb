#include "vipu/tools/display/listing.h"

#include <inttypes.h>

#include "base/core/mem.h"
#include "vipu/tools/display/attributes.h"

#define TILE_COLUMNS 16u
#define SUPERTILE 4u
#define TILES_IPU1 1216u
#define TILES_IPU2 1472u

static void put_ipu(const struct ipu_view *ipu, struct str *out)
{
    str_addf(out, "IPU-M host: [%s], IPU#: [%" PRIu32 "]\n", ipu->device.ip, ipu->device.ipu_id);
}

static void put_device(const struct gcd_view *view, const struct device *device, uint32_t id, struct str *out)
{
    if (device->count == 1) {
        str_addf(out, "-+- Id: [%" PRIu32 "], target: [Fabric], ", id);
        put_ipu(&view->ipus[device->first], out);
        return;
    }
    str_addf(out, "-+- Id: [%" PRIu32 "], target: [Multi IPU]\n", id);
    for (uint32_t i = 0; i < device->count; i++) {
        str_addf(out, " |--- Id: [%" PRIu32 "], %s Id: [%" PRIu32 "], ", device->first + i,
                 gcd_view_routing(view), i);
        put_ipu(&view->ipus[device->first + i], out);
    }
}

void listing_print(const struct gcd_view *views, size_t count, bool singles_only, struct str *out)
{
    const char *partition = NULL;
    uint32_t offset = 0;

    str_adds(out, "Graphcore device listing:\n");
    for (size_t v = 0; v < count; v++) {
        const struct gcd_view *view = &views[v];
        uint32_t total = singles_only ? view->ipu_count : device_total(view->ipu_count, view->reconfigurable);
        struct device device;

        if (view->active || !str_eq(partition, view->partition))
            str_addf(out, "Partition: %s%s\n", view->partition, view->active ? " [active]" : "");
        partition = view->partition;
        for (uint32_t id = 0; id < total; id++)
            if (device_find(view->ipu_count, view->reconfigurable, id, &device))
                put_device(view, &device, offset + id, out);
        offset += total;
    }
}

void listing_chip_ids(const struct gcd_view *view, const struct device *device, struct str *out)
{
    for (uint32_t i = device->first; i < device->first + device->count; i++) {
        const char *chip = view->ipus[i].device.chip_id;

        str_addf(out, "Id: [%" PRIu32 "], chip id: [%s]\n", i, *chip ? chip : "N/A");
    }
}

static void put_tiles(uint32_t tiles, struct str *out)
{
    str_adds(out, "  ");
    for (uint32_t column = 0; column < TILE_COLUMNS; column++)
        str_addf(out, " %4" PRIu32, column);
    str_addc(out, '\n');
    for (uint32_t row = 0; row < tiles / TILE_COLUMNS / SUPERTILE; row++) {
        str_addf(out, "%3" PRIu32, row);
        for (uint32_t column = 0; column < TILE_COLUMNS; column++)
            str_adds(out, row == 0 ? " xx::" : " ::::");
        str_addc(out, '\n');
    }
}

void listing_tiles(const struct gcd_view *view, const struct device *device, struct str *out)
{
    for (uint32_t i = device->first; i < device->first + device->count; i++) {
        if (device->count > 1)
            str_addf(out, "Id: [%" PRIu32 "]\n", i);
        put_tiles(view->ipus[i].device.ipu_arch_id == 1 ? TILES_IPU1 : TILES_IPU2, out);
    }
}

static void add_once(struct strv *texts, const char *text)
{
    if (!strv_has(texts, text))
        strv_push(texts, text);
}

static void put_lines(const struct strv *texts, struct str *out)
{
    for (size_t i = 0; i < texts->count; i++)
        str_addf(out, "%s\n", texts->items[i]);
}

void listing_architecture(const struct gcd_view *view, const struct device *device, struct str *out)
{
    AUTO(strv) struct strv texts = {0};

    for (uint32_t i = device->first; i < device->first + device->count; i++)
        add_once(&texts, attributes_architecture(&view->ipus[i]));
    put_lines(&texts, out);
}

void listing_clock(const struct gcd_view *view, const struct device *device, struct str *out)
{
    AUTO(strv) struct strv texts = {0};

    for (uint32_t i = device->first; i < device->first + device->count; i++)
        add_once(&texts, attributes_or_na(&view->ipus[i], "clock"));
    put_lines(&texts, out);
}
