/* The progress of all jobs, in the leader's memory, and its way into their statuses. A report is answered
 * from memory; the API server gets at most one write per job in PROGRESS_WRITE_EVERY_S, and few at a time, so
 * that the reconciler's requests do not wait behind them. If there are more to write, jobs take turns. A new
 * leader goes on from what the statuses of running jobs say, so that what is not reported to it becomes
 * stale. */
#pragma once

#include "base/core/str.h"
#include "base/doc/json.h"

struct progress_board;
struct reconciler;
struct token_pod;

struct progress_board *progress_board_new(struct reconciler *reconciler);
void progress_board_free(struct progress_board *board); /* before the reconciler; accepts NULL */
/* A report of that pod. False: it is no pod of a job that runs now. An invalid report is noted in the status
 * and counts as taken. */
bool progress_board_report(struct progress_board *board, const struct token_pod *pod, struct slice body);
/* Puts what has been reported of that job into its status, written or not. */
void progress_board_put(const struct progress_board *board, const char *uid, cJSON *status);
