/* The attributes of a device as text, as gc-info prints them: those of the IPU from the controller, those of
 * its partition, and who is attached. Pure. */
#pragma once

#include "base/core/str.h"
#include "vipu/tools/devices/device.h"
#include "vipu/tools/devices/gcd_view.h"
#include "vipu/tools/devices/lock_record.h"

/* "key: value" lines. `id` and `target` come first, the others follow in alphabetical order, as in every
 * listing of the original. For a device of several IPUs a key whose values differ has all of them, separated
 * by ", ". `holder` NULL: no program is attached. */
void attributes_print(const struct gcd_view *view, const struct device *device,
                      const struct lock_record *holder, struct str *out);
/* An attribute of one IPU, from any source; "N/A" if it is missing. Borrowed. */
const char *attributes_or_na(const struct ipu_view *ipu, const char *key);
/* "ipu2", or "N/A". */
const char *attributes_architecture(const struct ipu_view *ipu);
