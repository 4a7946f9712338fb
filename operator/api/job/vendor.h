/* Jobs that the vendor's operator has started and that outlived it: their pods and partitions are not ours to
 * judge, so the whole job is left alone until somebody says otherwise (annotation graphcore.ai/adopt). Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/doc/json.h"

/* The vendor's operator has written to its status, ours never has, and nobody has had it adopted. A job that
 * the vendor's operator has not begun is new to us like any other. */
bool vendor_owns(const cJSON *job);
