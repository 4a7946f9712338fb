/* What gc-monitor prints: the IPUs of a partition's GCD as a box, the attached programs as another, and all
 * of it as JSON. The boxes are those of the original, as far as they are known; the keys of the JSON are
 * this project's. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"
#include "vipu/tools/devices/attach.h"
#include "vipu/tools/devices/gcd_view.h"

struct monitored_gcd {
    const struct gcd_view *view;
    struct lock_records holders;
};

void monitor_print_cards(const struct gcd_view *view, struct str *out);
/* `pid_space` is the caller's own: processes of others are shown by their host. */
void monitor_print_processes(const struct monitored_gcd *gcd, uint64_t pid_space, int64_t now_unix_s,
                             struct str *out);
void monitor_print_nothing(struct str *out); /* there is no partition at all */
void monitor_print_json(const struct monitored_gcd *gcds, size_t count, bool with_cards, uint64_t pid_space,
                        int64_t now_unix_s, struct str *out);
