/* The status of a job as users see it: built from a verdict and the status before. Pure. Output only, with
 * two exceptions: which instances have ended, because their pods may be deleted before the next process reads
 * them, and how often the pods could not start. */
#pragma once

#include "operator/reconcile/decide/model/verdict.h"

#define STATUS_PARTITIONS_MAX 16
#define STATUS_MESSAGE_MAX 4096 /* bytes */
/* Numbers inside a message change at most this often; a changed state or reason is reported immediately. */
#define STATUS_DETAILS_EVERY_S 60
/* Changed numbers are held back this long: when one of many pods starts, the others follow. */
#define STATUS_SETTLE_MS 10000

/* Adds OP_STATUS to the plan when the job's status should change, and the events that report it. */
void status_decide(const struct job_view *view, const cJSON *before, const struct job_verdict *verdict,
                   struct plan *plan);
