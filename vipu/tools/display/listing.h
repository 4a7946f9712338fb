/* What gc-info prints of devices: the tree of --list-devices and the short answers about one device. The
 * formats are those of the original, as far as they are known; scripts parse them. Pure; all append to
 * `out`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"
#include "vipu/tools/devices/device.h"
#include "vipu/tools/devices/gcd_view.h"

/* With `singles_only`, as for all partitions, devices of several IPUs are not listed, and numbers continue
 * from one partition to the next. */
void listing_print(const struct gcd_view *views, size_t count, bool singles_only, struct str *out);

/* One line for each IPU of the device: its number and its chip id. */
void listing_chip_ids(const struct gcd_view *view, const struct device *device, struct str *out);
/* The tiles of each IPU, four to a group, by column and distance from the exchange; "xx" marks the first
 * tiles of the exchange. */
void listing_tiles(const struct gcd_view *view, const struct device *device, struct str *out);
/* "ipu2"; each architecture once. */
void listing_architecture(const struct gcd_view *view, const struct device *device, struct str *out);
/* "1330MHz"; each speed once. */
void listing_clock(const struct gcd_view *view, const struct device *device, struct str *out);
