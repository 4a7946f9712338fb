#include "world/kinds.h"

#include "base/core/mem.h"

#define TEMPLATE                                                                                             \
    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"train\",\"image\":\"train:1\",\"command\":["        \
    "\"train\"]}]}}"
#define LAUNCHER "\"launcher\":{\"command\":[\"mpirun\",\"train\"]}"
#define WORKERS "\"workers\":{" TEMPLATE "}"

const struct kind KINDS[] = {
    {"single", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_SUCCEED, USER_WAITS,
     "Completed", NULL},
    {"large", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"32\"," WORKERS "}", PODS_SUCCEED, USER_WAITS,
     "Completed", NULL},
    {"two-workers",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "Completed", NULL},
    {"many", "{\"jobInstances\":3,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_SUCCEED, USER_WAITS,
     "Completed", NULL},
    {"clean",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"cleanPodPolicy\":\"All\",\"modelReplicasPerWorker\":"
     "\"2\"," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "Completed", NULL},
    {"mpi",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"," LAUNCHER "," WORKERS
     "}",
     PODS_SUCCEED, USER_WAITS, "Completed", NULL},
    {"mpi-many",
     "{\"jobInstances\":2,\"ipusPerJobInstance\":\"4\",\"workersPerJobInstance\":\"2\",\"cleanPodPolicy\":"
     "\"All\"," LAUNCHER "," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "Completed", NULL},
    {"mpi-fails",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"workersPerJobInstance\":\"2\"," LAUNCHER "," WORKERS
     "}",
     PODS_FAIL, USER_WAITS, "Failed", NULL},
    {"mpi-retries",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"4\",\"restartPolicy\":{"
     "\"type\":\"OnFailure\",\"backOffLimit\":6}," LAUNCHER "," WORKERS "}",
     PODS_FAIL_TWICE, USER_WAITS, "Completed", NULL},
    {"mpi-deleted",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"," LAUNCHER "," WORKERS
     "}",
     PODS_RUN_FOR_EVER, USER_DELETES, "", NULL},
    {"fails", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_FAIL, USER_WAITS,
     "Failed", NULL},
    {"retries",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"restartPolicy\":{\"type\":\"OnFailure\","
     "\"backOffLimit\":3}," WORKERS "}",
     PODS_FAIL_TWICE, USER_WAITS, "Completed", NULL},
    {"two-workers-retry",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\",\"restartPolicy\":{"
     "\"type\":\"ExitCode\","
     "\"exitCodes\":\"1-5\",\"backOffLimit\":6}," WORKERS "}",
     PODS_FAIL_TWICE, USER_WAITS, "Completed", NULL},
    {"gives-up",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"restartPolicy\":{\"type\":\"OnFailure\","
     "\"backOffLimit\":1}," WORKERS "}",
     PODS_FAIL, USER_WAITS, "Failed", NULL},
    {"serves", "{\"jobInstances\":2,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_RUN_FOR_EVER, USER_WAITS,
     "Running", NULL},
    {"deleted", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_DELETES, "", NULL},
    {"crowd", "{\"jobInstances\":10000,\"ipusPerJobInstance\":\"8\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_DELETES, "", NULL},
    {"replaced", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\"," WORKERS "}", PODS_SUCCEED,
     USER_DELETES_TWICE, "Completed", NULL},
    {"forced", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_SUCCEED,
     USER_REPLACES_BY_FORCE, "Completed", NULL},
    {"suspended", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\"," WORKERS "}", PODS_SUCCEED,
     USER_SUSPENDS, "Completed", NULL},
    {"restless", "{\"jobInstances\":2,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_IS_RESTLESS, "Running", NULL},
    {"scaled", "{\"jobInstances\":2,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_SCALES, "Running", NULL},
    {"struck",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"restartPolicy\":{\"type\":\"OnFailure\","
     "\"backOffLimit\":6}," WORKERS "}",
     PODS_SUCCEED, USER_KILLS_PODS, "Completed|Failed", NULL},
    {"changed", "{\"jobInstances\":2,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_CHANGES, "Running", NULL},
    {"no-image", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_CANNOT_PULL,
     USER_DELETES, "", NULL},
    {"no-node", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_FIT_NOWHERE,
     USER_DELETES, "", NULL},
    {"drained", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"cleanPodPolicy\":\"All\"," WORKERS "}",
     PODS_SUCCEED, USER_DRAINS_PODS, "Completed|Failed", NULL},
    {"drained-workers",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"workersPerJobInstance\":\"2\",\"cleanPodPolicy\":"
     "\"All\","
     "\"restartPolicy\":{\"type\":\"OnFailure\",\"backOffLimit\":6}," WORKERS "}",
     PODS_SUCCEED, USER_DRAINS_PODS, "Completed", NULL},
    {"deadline",
     "{\"jobInstances\":2,\"ipusPerJobInstance\":\"2\",\"activeDeadlineSeconds\":"
     "90," WORKERS "}",
     PODS_RUN_FOR_EVER, USER_WAITS, "Failed", NULL},
    {"session",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"interactive\":{\"ttl\":"
     "90}," WORKERS "}",
     PODS_RUN_FOR_EVER, USER_WAITS, "Completed", NULL},
    {"brief", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"ttlSecondsAfterFinished\":30," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "", NULL},
    {"no-image-for-long",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"cleanPodPolicy\":\"All\",\"startDeadlineSeconds\":"
     "60," WORKERS "}",
     PODS_CANNOT_PULL, USER_WAITS, "Failed", NULL},
    {"no-node-for-long",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"cleanPodPolicy\":\"All\",\"startDeadlineSeconds\":"
     "60," WORKERS "}",
     PODS_FIT_NOWHERE, USER_WAITS, "Failed", NULL},
    {"held-up", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"32\"," WORKERS "}", PODS_CANNOT_PULL,
     USER_WAITS, "Starting|Pending", NULL},
    {"late", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"32\"," WORKERS "}", PODS_PULL_LATE, USER_WAITS,
     "Completed", NULL},
    {"late-workers",
     "{\"jobInstances\":2,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"," WORKERS "}",
     PODS_PULL_LATE, USER_WAITS, "Completed", NULL},
    {"too-large", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"65536\"," WORKERS "}", PODS_SUCCEED,
     USER_WAITS, "Pending", NULL},
    {"claimed", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_SUCCEED,
     USER_CLAIMS_PODS, "Completed", NULL},
    {"invalid",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"modelReplicasPerWorker\":\"3\",\"cleanPodPolicy\":"
     "\"Some\"," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "Failed", "spec.ipusPerJobInstance|spec.cleanPodPolicy"},
};
const size_t KIND_COUNT = COUNT_OF(KINDS);
