/* Jobs that the vendor's operator has started and that still exist: the operator leaves their pods and
 * partitions alone until a user sets the annotation graphcore.ai/adopt. Pure. */
#pragma once

#include <stdbool.h>

#include "base/doc/json.h"

/* The vendor's operator has written to its status, this operator never has, and it is not adopted. A job
 * that the vendor's operator has not started is an ordinary new job. */
bool vendor_owns(const cJSON *job);
