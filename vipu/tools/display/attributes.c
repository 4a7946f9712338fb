#include "vipu/tools/display/attributes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"

#define NOT_KNOWN "N/A"

struct pairs {
    struct vipu_attribute *items;
    size_t count;
};

static void pairs_release(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        mem_free(pairs->items[i].key);
        mem_free(pairs->items[i].value);
    }
    mem_free(pairs->items);
}

DEFINE_AUTO(pairs);

static struct vipu_attribute *find(const struct pairs *pairs, const char *key)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (str_eq(pairs->items[i].key, key))
            return &pairs->items[i];
    return NULL;
}

/* The first value wins. Moves the value in; NULL is ignored. */
static void put_take(struct pairs *pairs, const char *key, char *value)
{
    if (!value || find(pairs, key)) {
        mem_free(value);
        return;
    }
    pairs->items = mem_grow(pairs->items, pairs->count + 1, sizeof(*pairs->items));
    pairs->items[pairs->count++] = (struct vipu_attribute){mem_strdup(key), value};
}

static void put(struct pairs *pairs, const char *key, const char *value)
{
    put_take(pairs, key, value && *value ? mem_strdup(value) : NULL);
}

const char *attributes_architecture(const struct ipu_view *ipu)
{
    const char *told = ipu_view_attribute(ipu, "ipu architecture");

    if (told && *told)
        return told;
    switch (ipu->device.ipu_arch_id) {
    case 1:
        return "ipu1";
    case 2:
        return "ipu2";
    case 21:
        return "ipu21";
    default:
        return NOT_KNOWN;
    }
}

static void put_partition(struct pairs *pairs, const struct gcd_view *view)
{
    put(pairs, "ipuof partition id", view->partition);
    put(pairs, "ipuof routing type", gcd_view_routing(view));
    put(pairs, "ipuof server version", view->server_version);
    if (view->num_replicas)
        put_take(pairs, "number of replicas", mem_printf("%" PRIu32, view->num_replicas));
    put(pairs, "partition sync type", view->sync_type);
    put(pairs, "reconfigurable partition", view->reconfigurable ? "true" : "false");
}

/* What every Fabric device of the original lists, whether it has a value or not. */
static void put_always(struct pairs *pairs)
{
    static const struct {
        const char *key, *value;
    } always[] = {
        {"average board temp", NOT_KNOWN},
        {"average die temp", NOT_KNOWN},
        {"config domain", NOT_KNOWN},
        {"graph streaming", "true"},
        {"ipu power", NOT_KNOWN},
        {"ipu utilisation", NOT_KNOWN},
        {"ipu utilisation (session)", NOT_KNOWN},
        {"remote buffers supported", "1"},
        {"total board power", NOT_KNOWN},
    };

    for (size_t i = 0; i < COUNT_OF(always); i++)
        put(pairs, always[i].key, always[i].value);
}

static void put_ipu(struct pairs *pairs, const struct gcd_view *view, const struct ipu_view *ipu)
{
    const struct vipu_ipuof_device *device = &ipu->device;

    for (size_t i = 0; ipu->attributes && i < ipu->attributes->attribute_count; i++)
        put(pairs, ipu->attributes->attributes[i].key, ipu->attributes->attributes[i].value);
    put_take(pairs, "board ipu index", mem_printf("%" PRIu32, device->ipu_id));
    put(pairs, "board variant", ipu_view_attribute(ipu, "board type")); /* an IPU-Machine has no variants */
    put(pairs, "chip id", device->chip_id);
    put(pairs, "gateway software version", device->gwsw_version);
    put(pairs, "ipu architecture", attributes_architecture(ipu));
    put(pairs, "ipuof host", device->ip);
    put_take(pairs, "ipuof routing id", mem_printf("%" PRIu32, device->routing_id));
    put_take(pairs, "pci id", mem_printf("%" PRIu32, device->ipu_id));
    put_partition(pairs, view);
    put_always(pairs);
}

/* "20211122T224648Z": RFC 3339 without its separators. */
static char *start_time(int64_t unix_s)
{
    char text[TIMEFMT_RFC3339_SIZE];
    AUTO(str) struct str bare = {0};

    for (const char *c = timefmt_rfc3339(unix_s, text); *c; c++)
        if (*c != '-' && *c != ':')
            str_addc(&bare, *c);
    return str_take(&bare);
}

static const char *value_of(const struct pairs *pairs, const char *key)
{
    const struct vipu_attribute *pair = find(pairs, key);

    return pair ? pair->value : NOT_KNOWN;
}

/* One value if it is the same for all IPUs; else all of them, in their order. */
static char *value_over(const struct pairs *ipus, uint32_t count, const char *key)
{
    AUTO(str) struct str joined = {0};
    bool differs = false;

    for (uint32_t i = 0; i < count; i++) {
        str_addf(&joined, "%s%s", i ? ", " : "", value_of(&ipus[i], key));
        differs = differs || !str_eq(value_of(&ipus[i], key), value_of(&ipus[0], key));
    }
    return differs ? str_take(&joined) : mem_strdup(value_of(&ipus[0], key));
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct vipu_attribute *)a)->key, ((const struct vipu_attribute *)b)->key);
}

static void gather(const struct gcd_view *view, const struct device *device, struct pairs *all)
{
    AUTO(mem) struct pairs *ipus = mem_alloc(device->count * sizeof(*ipus));

    for (uint32_t i = 0; i < device->count; i++)
        put_ipu(&ipus[i], view, &view->ipus[device->first + i]);
    for (size_t i = 0; i < ipus[0].count; i++)
        put_take(all, ipus[0].items[i].key, value_over(ipus, device->count, ipus[0].items[i].key));
    for (uint32_t i = 0; i < device->count; i++)
        pairs_release(&ipus[i]);
}

void attributes_print(const struct gcd_view *view, const struct device *device,
                      const struct lock_record *holder, struct str *out)
{
    AUTO(pairs) struct pairs all = {0};

    gather(view, device, &all);
    if (holder) {
        put_take(&all, "process start time", start_time(holder->since_unix_s));
        put(&all, "user executable", holder->command);
        put(&all, "user name", holder->user);
        put_take(&all, "user process id", mem_printf("%" PRId64, holder->pid));
    }
    qsort(all.items, all.count, sizeof(*all.items), compare_keys);
    str_addf(out, "id: %" PRIu32 "\ntarget: %s\n", device->id, device->count == 1 ? "Fabric" : "Multi IPU");
    for (size_t i = 0; i < all.count; i++)
        str_addf(out, "%s: %s\n", all.items[i].key, all.items[i].value);
}

const char *attributes_or_na(const struct ipu_view *ipu, const char *key)
{
    const char *value = ipu_view_attribute(ipu, key);

    return value && *value ? value : NOT_KNOWN;
}
