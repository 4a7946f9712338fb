/* What an event looks like on the wire (events.k8s.io/v1), and its name. Pure. */
#pragma once

#include <stdint.h>

#include "base/doc/json.h"
#include "operator/kube/events/event.h"

#define EVENT_NOTE_MAX_BYTES ((size_t)1024)

/* "NAME.0123456789abcdef": the object's name, cut, and a hash of everything that makes an event the same one
 * again: reporter, object, type, reason, action and note. The note belongs to it because the API server never
 * lets it change: a different sentence under the same reason would be lost. */
char *event_name(const struct event *event, const struct events_options *reporter);
/* The whole object; times are wall clock. */
cJSON *event_body(const struct event *event, const struct events_options *reporter, const char *name,
                  int64_t wall_micros);
/* The merge patch that says how often and when last. */
cJSON *event_series_patch(unsigned count, int64_t last_micros);
