/* IPUoF files, from the bytes to the listing that is made of them. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vipu/tools/display/attributes.h"
#include "vipu/tools/display/listing.h"
#include "vipu/tools/display/monitor.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct gcd_view view = {0};
    struct str out = {.max = SIZE_MAX / 2};
    struct device whole;
    struct err err;

    if (!gcd_view_from_file((struct slice){(const char *)bytes, len}, "file", &view, &err)) {
        assert(err.kind == ERR_INVALID && *err.msg && !view.partition);
        return 0;
    }
    assert(view.ipu_count > 0 && view.ipu_count <= len);
    for (uint32_t i = 1; i < view.ipu_count; i++)
        assert(view.ipus[i - 1].device.ipulink_segment_id <= view.ipus[i].device.ipulink_segment_id);
    listing_print(&view, 1, true, &out);
    monitor_print_cards(&view, &out);
    assert(device_find(view.ipu_count, view.reconfigurable, 0, &whole));
    attributes_print(&view, &whole, NULL, &out);
    assert(memchr(str_text(&out), '\t', out.len) == NULL);
    str_release(&out);
    gcd_view_release(&view);
    return 0;
}
