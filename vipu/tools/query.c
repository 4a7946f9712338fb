#include "vipu/tools/query.h"

#include <inttypes.h>

#include "base/core/mem.h"
#include "vipu/tools/devices/attach.h"
#include "vipu/tools/display/attributes.h"
#include "vipu/tools/display/listing.h"

bool query_needs_device(enum query_kind kind)
{
    return kind == QUERY_ATTRIBUTES || kind == QUERY_CHIP_IDS || kind == QUERY_TILES;
}

bool query_needs_attributes(enum query_kind kind)
{
    return kind == QUERY_ATTRIBUTES || kind == QUERY_ARCHITECTURE || kind == QUERY_CLOCK;
}

static bool tell_trouble(const struct gcd_view *view, struct err *err)
{
    return err_set(err, ERR_CONFLICT, "%s", view->trouble);
}

static bool answer_list(const struct query *query, const struct discovery *found, struct str *out,
                        struct err *err)
{
    const struct gcd_view *active = discovery_active(found);

    listing_print(found->views, found->count, query->all_partitions, out);
    return !active || !active->trouble || tell_trouble(active, err);
}

static bool find_device(const struct query *query, const struct gcd_view *view, struct device *ret,
                        struct err *err)
{
    uint32_t total = device_total(view->ipu_count, view->reconfigurable);

    if (!query->has_device) {
        *ret = (struct device){.first = 0, .count = view->ipu_count};
        return true;
    }
    if (device_find(view->ipu_count, view->reconfigurable, query->device, ret))
        return true;
    return err_set(err, ERR_NOT_FOUND,
                   "no device %" PRIu32 ": partition %s has devices 0 to %" PRIu32
                   "; see gc-info --list-devices",
                   query->device, view->partition, total - 1);
}

static void answer_attributes(const struct gcd_view *view, const struct device *device, const char *folder,
                              struct str *out)
{
    AUTO(lock_records) struct lock_records holders = {0};
    const struct lock_record *attached = NULL;
    struct err ignored;

    /* Attributes are known without locks; attached programs are optional. */
    if (attach_holders(folder, view->partition, view->gcd, view->ipu_count, &holders, &ignored))
        for (size_t i = 0; i < holders.count && !attached; i++) {
            const struct lock_record *holder = &holders.items[i];

            if (holder->pid && holder->first < device->first + device->count &&
                device->first < holder->first + holder->count)
                attached = holder;
        }
    str_adds(out, "Device Info:\n");
    attributes_print(view, device, attached, out);
}

/* Only an attached program may read tiles, so this one attaches. */
static bool answer_tiles(const struct gcd_view *view, const struct device *device, const char *folder,
                         struct str *out, struct err *err)
{
    struct attach_request request = {
        .folder = folder, .partition = view->partition, .gcd = view->gcd, .device = *device};
    struct attachment *attachment = attach(&request, err);

    if (!attachment)
        return false;
    listing_tiles(view, device, out);
    attachment_free(attachment);
    return true;
}

static bool answer_device(const struct query *query, const struct gcd_view *view, const char *folder,
                          struct str *out, struct err *err)
{
    struct device device;

    if (!find_device(query, view, &device, err))
        return false;
    switch (query->kind) {
    case QUERY_ATTRIBUTES:
        answer_attributes(view, &device, folder, out);
        return true;
    case QUERY_CHIP_IDS:
        listing_chip_ids(view, &device, out);
        return true;
    case QUERY_TILES:
        return answer_tiles(view, &device, folder, out, err);
    case QUERY_COUNT:
        str_addf(out, "%" PRIu32 "\n", device.count);
        return true;
    case QUERY_ARCHITECTURE:
        listing_architecture(view, &device, out);
        return true;
    case QUERY_CLOCK:
        listing_clock(view, &device, out);
        return true;
    case QUERY_LIST:
    case QUERY_KINDS:
        break;
    }
    return err_set(err, ERR_INTERNAL, "query %d is none about a device", (int)query->kind);
}

bool query_answer(const struct query *query, const struct discovery *found, const char *folder,
                  struct str *out, struct err *err)
{
    const struct gcd_view *active = discovery_active(found);

    if (query->kind == QUERY_LIST)
        return answer_list(query, found, out, err);
    if (!active)
        return err_set(err, ERR_NOT_FOUND, "no partition is active");
    if (active->trouble)
        return tell_trouble(active, err);
    return answer_device(query, active, folder, out, err);
}
