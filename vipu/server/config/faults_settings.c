#include "vipu/server/config/faults_settings.h"

#include "vipu/model/partition.h"

#define MAX_MS 600000u
#define MAX_TIMES 1000000000u

/* Indexed by gRPC status code; "OK" is none. */
static const char *const statuses[] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
    NULL,
};

static const char *const moments[] = {
    [FAULT_NOW] = "now",       [FAULT_CREATE] = "create", [FAULT_RESET] = "reset",
    [FAULT_REMOVE] = "remove", [FAULT_REMOVE + 1] = NULL,
};

#define COUNTS(type)                                                                                         \
    SETTING("after", AS_NUMBER(type, count.after, 0, MAX_TIMES), "number of matches to skip first"),         \
        SETTING("times", AS_NUMBER(type, count.times, 0, MAX_TIMES),                                         \
                "number of matches to apply the rule to after that; default: all"),                          \
        SETTING("chance", AS_NUMBER(type, count.chance, 0, 100),                                             \
                "probability that it applies to such a match, in percent", .fallback = "100")

const struct setting faults_settings[] = {
    SETTING("seed", AS_NUMBER(struct faults, seed, 0, UINT32_MAX),
            "seed of the random generator; the same seed gives the same faults", .fallback = "1"),
    SETTING("stall", AS_FLAG(struct faults, stall), "hold all calls until the faults are replaced"),
    SETTING("stall-ms", AS_NUMBER(struct faults, stall_ms, 0, MAX_MS),
            "hold all calls for this time, then run them"),
    SETTING("forget", AS_FLAG(struct faults, forget), "forget all partitions, once and immediately"),
    SETTING("drop-connections", AS_FLAG(struct faults, drop_connections),
            "close all connections, once and immediately"),
    SETTING("linger-ms", AS_NUMBER(struct faults, linger_ms, 0, MAX_MS),
            "time that removed partitions stay in state REMOVED and keep their IDs and IPUs"),
    SETTING("quirks", SETTING_OTHER, "behaviour of other controllers, each true or false"),
    SETTING("calls", SETTING_OTHER, "list of rules for calls"),
    SETTING("partitions", SETTING_OTHER, "list of rules for partition operations"),
    SETTING("hardware", SETTING_OTHER, "list of failed agents and IPUs"),
    {0},
};

const struct setting fault_quirk_settings[] = {
    SETTING("unknown-status", AS_FLAG(struct fault_quirks, unknown_status),
            "every error has the status UNKNOWN"),
    SETTING("blocking-operations", AS_FLAG(struct fault_quirks, blocking_operations),
            "create, reset and remove respond when the operation is complete"),
    SETTING("remove-unknown-succeeds", AS_FLAG(struct fault_quirks, remove_unknown_succeeds),
            "removing a partition that does not exist succeeds"),
    SETTING("create-existing-succeeds", AS_FLAG(struct fault_quirks, create_existing_succeeds),
            "creating a partition that already exists succeeds and changes nothing"),
    SETTING("reset-stays-active", AS_FLAG(struct fault_quirks, reset_stays_active),
            "a partition that is being reset is ACTIVE, not PENDING"),
    SETTING("list-hides-pending", AS_FLAG(struct fault_quirks, list_hides_pending),
            "lists omit partitions that are PENDING"),
    {0},
};

const struct setting fault_call_settings[] = {
    SETTING("method", AS_TEXT(struct fault_call, method),
            "pattern with * and ?, such as Create*; default: every method"),
    SETTING("partition", AS_TEXT(struct fault_call, partition),
            "pattern for the partition ID; default: every call, also without a partition"),
    COUNTS(struct fault_call),
    SETTING("latency-ms", AS_NUMBER(struct fault_call, latency.ms, 0, MAX_MS), "delay before the call runs"),
    SETTING("latency-up-to-ms", AS_NUMBER(struct fault_call, latency.up_to, 0, MAX_MS),
            "upper limit of a random delay"),
    SETTING("late-ms", AS_NUMBER(struct fault_call, late.ms, 0, MAX_MS),
            "delay between running the call and its response"),
    SETTING("late-up-to-ms", AS_NUMBER(struct fault_call, late.up_to, 0, MAX_MS),
            "upper limit of a random delay"),
    SETTING("status", AS_WORD(struct fault_call, status, statuses),
            "reject the call with this gRPC status, such as UNAVAILABLE"),
    SETTING("message", AS_TEXT(struct fault_call, message), "message of the status"),
    SETTING("drop", AS_FLAG(struct fault_call, drop), "close the connection instead of responding"),
    SETTING("takes-effect", AS_FLAG(struct fault_call, takes_effect),
            "with status or drop: run the call anyway"),
    {0},
};

const struct setting fault_partition_settings[] = {
    SETTING("partition", AS_TEXT(struct fault_partition, partition),
            "pattern for the partition ID; default: every partition"),
    SETTING("on", AS_WORD(struct fault_partition, on, moments),
            "operation that fails: create, reset or remove (unless forced); now: fail immediately",
            .fallback = "create"),
    COUNTS(struct fault_partition),
    SETTING("error", AS_TEXT(struct fault_partition, error), "error in the status of the partition"),
    {0},
};

const struct setting fault_hardware_settings[] = {
    SETTING("agent", AS_TEXT(struct fault_hardware, agent),
            "pattern for the agent name; the agent must exist"),
    SETTING("ipu", AS_NUMBER(struct fault_hardware, ipu, 0, VIPU_AGENT_IPUS - 1),
            "one IPU, by its number on the board (IPU# of gc-info); default: all IPUs of the agent"),
    SETTING("error", AS_TEXT(struct fault_hardware, error), "error in the status of its partitions"),
    SETTING("for-ms", AS_NUMBER(struct fault_hardware, for_ms, 0, MAX_MS),
            "time until it works again; default: until the faults are replaced"),
    {0},
};

const struct fault_call fault_call_plain = {.count = {0, FAULTS_ALWAYS, 100}};
const struct fault_partition fault_partition_plain = {.on = FAULT_CREATE, .count = {0, FAULTS_ALWAYS, 100}};
const struct fault_hardware fault_hardware_plain = {.ipu = FAULTS_ALWAYS, .for_ms = FAULTS_ALWAYS};
const struct faults faults_plain = {.seed = 1};
