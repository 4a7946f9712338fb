/* Words in which stories about a job in a small world are told. */
#pragma once

#include "world.h"

#define TEMPLATE "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}"
#define SPEC(fields) "{" fields "\"ipusPerJobInstance\":\"4\"," TEMPLATE "}"
#define ONE SPEC("\"jobInstances\":1,")
#define RESTARTS(policy) SPEC("\"jobInstances\":1,\"restartPolicy\":" policy ",")
#define TWO_WORKERS SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,")
#define TWO_BY_TWO SPEC("\"jobInstances\":2,\"workersPerJobInstance\":2,")
#define MINUTE_MS 60000

struct world *running(const char *spec);
struct wpod *pod(struct world *w, const char *name);
void check_state(const struct world *w, const char *state, const char *reason, const char *message);
void check_nothing_held(const struct world *w);
void check_completed(const struct world *w);
void end_all(struct world *w, int exit_code);             /* every program that runs */
void check_log_is_kept(struct world *w, const char *pod); /* of a program that has ended */
void check_idle(struct world *w);                         /* a settled job costs nothing */
