#include "kinds.h"

#include "base/core/mem.h"

#define TEMPLATE                                                                                             \
    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"train\",\"image\":\"train:1\",\"command\":["        \
    "\"train\"]}]}}"
#define LAUNCHER "\"launcher\":{\"command\":[\"mpirun\",\"train\"]}"
#define WORKERS "\"workers\":{" TEMPLATE "}"

const struct kind KINDS[] = {
    {"single", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_SUCCEED, USER_WAITS,
     "Completed"},
    {"large", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"32\"," WORKERS "}", PODS_SUCCEED, USER_WAITS,
     "Completed"},
    {"crew", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "Completed"},
    {"many", "{\"jobInstances\":3,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_SUCCEED, USER_WAITS,
     "Completed"},
    {"clean",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"cleanPodPolicy\":\"All\",\"modelReplicasPerWorker\":"
     "\"2\"," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "Completed"},
    {"mpi",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"," LAUNCHER "," WORKERS
     "}",
     PODS_SUCCEED, USER_WAITS, "Completed"},
    {"mpi-many",
     "{\"jobInstances\":2,\"ipusPerJobInstance\":\"4\",\"workersPerJobInstance\":\"2\",\"cleanPodPolicy\":"
     "\"All\"," LAUNCHER "," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "Completed"},
    {"mpi-fails",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"workersPerJobInstance\":\"2\"," LAUNCHER "," WORKERS
     "}",
     PODS_FAIL, USER_WAITS, "Failed"},
    {"mpi-retries",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"4\",\"restartPolicy\":{"
     "\"type\":\"OnFailure\",\"backOffLimit\":6}," LAUNCHER "," WORKERS "}",
     PODS_FAIL_TWICE, USER_WAITS, "Completed"},
    {"mpi-deleted",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"," LAUNCHER "," WORKERS
     "}",
     PODS_RUN_FOR_EVER, USER_DELETES, ""},
    {"fails", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_FAIL, USER_WAITS,
     "Failed"},
    {"retries",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"restartPolicy\":{\"type\":\"OnFailure\","
     "\"backOffLimit\":3}," WORKERS "}",
     PODS_FAIL_TWICE, USER_WAITS, "Completed"},
    {"crew-retries",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\",\"restartPolicy\":{"
     "\"type\":\"ExitCode\","
     "\"exitCodes\":\"1-5\",\"backOffLimit\":6}," WORKERS "}",
     PODS_FAIL_TWICE, USER_WAITS, "Completed"},
    {"gives-up",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"restartPolicy\":{\"type\":\"OnFailure\","
     "\"backOffLimit\":1}," WORKERS "}",
     PODS_FAIL, USER_WAITS, "Failed"},
    {"serves", "{\"jobInstances\":2,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_RUN_FOR_EVER, USER_WAITS,
     "Running"},
    {"deleted", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_DELETES, ""},
    {"replaced", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\"," WORKERS "}", PODS_SUCCEED,
     USER_DELETES_TWICE, "Completed"},
    {"suspended", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"8\"," WORKERS "}", PODS_SUCCEED,
     USER_SUSPENDS, "Completed"},
    {"restless", "{\"jobInstances\":2,\"ipusPerJobInstance\":\"4\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_IS_RESTLESS, "Running"},
    {"scaled", "{\"jobInstances\":2,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_SCALES, "Running"},
    {"struck",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"restartPolicy\":{\"type\":\"OnFailure\","
     "\"backOffLimit\":6}," WORKERS "}",
     PODS_SUCCEED, USER_KILLS_PODS, "Completed|Failed"},
    {"changed", "{\"jobInstances\":2,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_RUN_FOR_EVER,
     USER_CHANGES, "Running"},
    {"no-image", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_CANNOT_PULL,
     USER_DELETES, ""},
    {"no-node", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\"," WORKERS "}", PODS_FIT_NOWHERE,
     USER_DELETES, ""},
    {"drained", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"cleanPodPolicy\":\"All\"," WORKERS "}",
     PODS_SUCCEED, USER_DRAINS_PODS, "Completed|Failed"},
    {"drained-crew",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"workersPerJobInstance\":\"2\",\"cleanPodPolicy\":"
     "\"All\","
     "\"restartPolicy\":{\"type\":\"OnFailure\",\"backOffLimit\":6}," WORKERS "}",
     PODS_SUCCEED, USER_DRAINS_PODS, "Completed"},
    {"deadline",
     "{\"jobInstances\":2,\"ipusPerJobInstance\":\"2\",\"cleanPodPolicy\":\"All\",\"activeDeadlineSeconds\":"
     "90," WORKERS "}",
     PODS_RUN_FOR_EVER, USER_WAITS, "Failed"},
    {"session",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"cleanPodPolicy\":\"All\",\"interactive\":{\"ttl\":"
     "90}," WORKERS "}",
     PODS_RUN_FOR_EVER, USER_WAITS, "Completed"},
    {"brief", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"ttlSecondsAfterFinished\":30," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, ""},
    {"no-image-for-long",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"cleanPodPolicy\":\"All\",\"startDeadlineSeconds\":"
     "60," WORKERS "}",
     PODS_CANNOT_PULL, USER_WAITS, "Failed"},
    {"no-node-for-long",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"2\",\"cleanPodPolicy\":\"All\",\"startDeadlineSeconds\":"
     "60," WORKERS "}",
     PODS_FIT_NOWHERE, USER_WAITS, "Failed"},
    {"too-large", "{\"jobInstances\":1,\"ipusPerJobInstance\":\"65536\"," WORKERS "}", PODS_SUCCEED,
     USER_WAITS, "Pending"},
    {"invalid",
     "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"modelReplicasPerWorker\":\"3\"," WORKERS "}",
     PODS_SUCCEED, USER_WAITS, "Failed"},
};
const size_t KIND_COUNT = COUNT_OF(KINDS);
