/* What a program reports of its progress, as Kubeflow's KEP-2779 has it: transformers and the kubeflow SDK
 * send it unchanged. Pure. */
#pragma once

#include <stdint.h>

#include "base/doc/json.h"

#define PROGRESS_BODY_MAX ((size_t)64 * 1024)
#define PROGRESS_METRICS_MAX 256u
#define PROGRESS_TEXT_MAX 64u /* bytes of a metric's name or value; the rest is cut off */
#define PROGRESS_REMAINING_MAX_S ((int64_t)10 * 365 * 86400)

struct progress_report {
    int64_t percent;          /* 0 to 100; -1: not reported */
    int64_t remaining_s;      /* -1: not reported */
    char *metrics;            /* JSON, a list of {"name", "value"}; NULL: none */
    uint32_t dropped_metrics; /* more than PROGRESS_METRICS_MAX, or without a name or a value */
};

/* ERR_INVALID names the field. Unknown fields are ignored, and so is the sender's clock. */
MUST_USE bool progress_report_parse(struct slice body, struct progress_report *ret, struct err *err);
bool progress_report_is_empty(const struct progress_report *report);
void progress_report_release(struct progress_report *report);
DEFINE_AUTO(progress_report);
