/* The shape of a job as the operator passes it to a pod, in variables with one prefix. This header is the
 * contract: the operator writes the same names without including it, and a test compares the two.
 *
 * Reading is strict: a number is decimal digits in its range, and numbers that contradict each other are
 * rejected, because a program that trains with the wrong share of the IPUs is worse than one that does not
 * start. A pod without any of these variables has a valid shape: a single worker. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "launcher/env/envv.h"

/* IPUs of the instance's partition; 1 to 65536. Required with several workers or with replicas. */
#define SHAPE_ENV_IPUS "IPU_JOB_IPUS_PER_INSTANCE"
/* Worker pods of this instance; 1 to 65536, default 1. */
#define SHAPE_ENV_WORKERS "IPU_JOB_WORKERS"
/* The index of this pod among them, from 0; default 0. */
#define SHAPE_ENV_WORKER_INDEX "IPU_JOB_WORKER_INDEX"
/* Model replicas of one worker; 0 or absent: the job does not set it. */
#define SHAPE_ENV_REPLICAS "IPU_JOB_REPLICAS_PER_WORKER"
/* Value for POPLAR_TARGET_OPTIONS, a JSON object; absent or empty if unknown. */
#define SHAPE_ENV_TARGET_OPTIONS "IPU_JOB_TARGET_OPTIONS"
/* Address of worker 0 of this instance; absent or empty in jobs with a launcher pod, which ranks its workers
 * itself. With an address the port is required; ranks of mpirun use the port alone. */
#define SHAPE_ENV_MASTER_ADDR "IPU_JOB_MASTER_ADDR"
#define SHAPE_ENV_MASTER_PORT "IPU_JOB_MASTER_PORT"
/* Two more are only for the job's own programs: IPU_JOB_INSTANCE_INDEX (from 0; during a rollout it may
 * exceed the count) and IPU_JOB_INSTANCES. */

struct shape {
    uint32_t ipus;
    uint32_t workers;
    uint32_t worker_index;
    uint32_t replicas;          /* 0: not given */
    const char *target_options; /* borrowed from the environment; NULL: not given */
    const char *master_addr;    /* likewise */
    uint32_t master_port;
};

/* One worker's part of the partition, in PopDist's terms. */
struct share {
    uint32_t total_replicas;
    uint32_t local_replicas;
    uint32_t replica_offset;
    uint32_t ipus_per_replica;
};

/* ERR_INVALID names the variable, its value and valid values. */
MUST_USE bool shape_read(const struct envv *env, struct shape *ret, struct err *err);

/* Several workers, or replicas: the program needs to know its share. */
bool shape_is_shared(const struct shape *shape);
struct share shape_replica_share(const struct shape *shape); /* shape_is_shared only */
