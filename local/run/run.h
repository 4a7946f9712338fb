/* A run: the operator's reconciler between an API server in this process and a node whose pods are processes,
 * from the creation of the objects to the deletion of the jobs. */
#pragma once

#include <stdint.h>

#include "local/job/objects.h"
#include "local/node/engine.h"
#include "local/node/sandbox.h"
#include "local/run/report.h"
#include "local/run/run_dir.h"

struct run_options {
    struct objects *objects; /* valid, with defaults */
    const struct run_dir *dir;
    const char *controller;                   /* HOST:PORT; NULL: a simulated one */
    const char *(*environment)(const char *); /* of this process; NULL also for an empty variable */
    uint32_t ipus;                            /* of the simulated one */
    uint32_t timeout_s;                       /* 0: none */
    const char *work_dir;
    const struct strv *env;
    const struct sandbox *binds;
    enum engine engine;
    struct report report;
};

enum run_result { RUN_COMPLETED, RUN_FAILED, RUN_INTERRUPTED, RUN_ERROR };

/* *ret_final: the jobs as they were at their end, an array; owned by the caller. */
enum run_result run_jobs(const struct run_options *options, cJSON **ret_final, struct err *err);
