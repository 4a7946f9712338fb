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

#define NUMBER(type, field, least, most)                                                                     \
    SETTING_NUMBER, .offset = offsetof(type, field), .min = (least), .max = (most)
#define FLAG(type, field) SETTING_FLAG, .offset = offsetof(type, field)
#define TEXT(type, field) SETTING_TEXT, .offset = offsetof(type, field)
#define WORD(type, field, list) SETTING_WORD, .offset = offsetof(type, field), .words = (list)
#define COUNTS(type)                                                                                         \
    {.key = "after",                                                                                         \
     .kind = NUMBER(type, count.after, 0, MAX_TIMES),                                                        \
     .help = "number of matches to skip first"},                                                             \
        {.key = "times",                                                                                     \
         .kind = NUMBER(type, count.times, 0, MAX_TIMES),                                                    \
         .help = "number of matches to apply the rule to after that; default: all"},                         \
    {                                                                                                        \
        .key = "chance", .kind = NUMBER(type, count.chance, 0, 100), .fallback = "100",                      \
        .help = "probability that it applies to such a match, in percent"                                    \
    }

const struct setting faults_settings[] = {
    {.key = "seed",
     .kind = NUMBER(struct faults, seed, 0, UINT32_MAX),
     .fallback = "1",
     .help = "seed of the random generator; the same seed gives the same faults"},
    {.key = "stall",
     .kind = FLAG(struct faults, stall),
     .help = "hold all calls until the faults are replaced"},
    {.key = "stall-ms",
     .kind = NUMBER(struct faults, stall_ms, 0, MAX_MS),
     .help = "hold all calls for this time, then run them"},
    {.key = "forget",
     .kind = FLAG(struct faults, forget),
     .help = "forget all partitions, once and immediately"},
    {.key = "drop-connections",
     .kind = FLAG(struct faults, drop_connections),
     .help = "close all connections, once and immediately"},
    {.key = "linger-ms",
     .kind = NUMBER(struct faults, linger_ms, 0, MAX_MS),
     .help = "time that removed partitions stay in state REMOVED and keep their IDs and IPUs"},
    {.key = "quirks", .kind = SETTING_OTHER, .help = "behaviour of other controllers, each true or false"},
    {.key = "calls", .kind = SETTING_OTHER, .help = "list of rules for calls"},
    {.key = "partitions", .kind = SETTING_OTHER, .help = "list of rules for partition operations"},
    {.key = "hardware", .kind = SETTING_OTHER, .help = "list of failed agents and IPUs"},
    {0},
};

const struct setting fault_quirk_settings[] = {
    {.key = "unknown-status",
     .kind = FLAG(struct fault_quirks, unknown_status),
     .help = "every error has the status UNKNOWN"},
    {.key = "blocking-operations",
     .kind = FLAG(struct fault_quirks, blocking_operations),
     .help = "create, reset and remove respond when the operation is complete"},
    {.key = "remove-unknown-succeeds",
     .kind = FLAG(struct fault_quirks, remove_unknown_succeeds),
     .help = "removing a partition that does not exist succeeds"},
    {.key = "create-existing-succeeds",
     .kind = FLAG(struct fault_quirks, create_existing_succeeds),
     .help = "creating a partition that already exists succeeds and changes nothing"},
    {.key = "reset-stays-active",
     .kind = FLAG(struct fault_quirks, reset_stays_active),
     .help = "a partition that is being reset is ACTIVE, not PENDING"},
    {.key = "list-hides-pending",
     .kind = FLAG(struct fault_quirks, list_hides_pending),
     .help = "lists omit partitions that are PENDING"},
    {0},
};

const struct setting fault_call_settings[] = {
    {.key = "method",
     .kind = TEXT(struct fault_call, method),
     .help = "pattern with * and ?, such as Create*; default: every method"},
    {.key = "partition",
     .kind = TEXT(struct fault_call, partition),
     .help = "pattern for the partition ID; default: every call, also without a partition"},
    COUNTS(struct fault_call),
    {.key = "latency-ms",
     .kind = NUMBER(struct fault_call, latency.ms, 0, MAX_MS),
     .help = "delay before the call runs"},
    {.key = "latency-up-to-ms",
     .kind = NUMBER(struct fault_call, latency.up_to, 0, MAX_MS),
     .help = "upper limit of a random delay"},
    {.key = "late-ms",
     .kind = NUMBER(struct fault_call, late.ms, 0, MAX_MS),
     .help = "delay between running the call and its response"},
    {.key = "late-up-to-ms",
     .kind = NUMBER(struct fault_call, late.up_to, 0, MAX_MS),
     .help = "upper limit of a random delay"},
    {.key = "status",
     .kind = WORD(struct fault_call, status, statuses),
     .help = "reject the call with this gRPC status, such as UNAVAILABLE"},
    {.key = "message", .kind = TEXT(struct fault_call, message), .help = "message of the status"},
    {.key = "drop",
     .kind = FLAG(struct fault_call, drop),
     .help = "close the connection instead of responding"},
    {.key = "takes-effect",
     .kind = FLAG(struct fault_call, takes_effect),
     .help = "with status or drop: run the call anyway"},
    {0},
};

const struct setting fault_partition_settings[] = {
    {.key = "partition",
     .kind = TEXT(struct fault_partition, partition),
     .help = "pattern for the partition ID; default: every partition"},
    {.key = "on",
     .kind = WORD(struct fault_partition, on, moments),
     .fallback = "create",
     .help = "operation that fails: create, reset or remove (unless forced); now: fail immediately"},
    COUNTS(struct fault_partition),
    {.key = "error",
     .kind = TEXT(struct fault_partition, error),
     .help = "error in the status of the partition"},
    {0},
};

const struct setting fault_hardware_settings[] = {
    {.key = "agent",
     .kind = TEXT(struct fault_hardware, agent),
     .help = "pattern for the agent name; the agent must exist"},
    {.key = "ipu",
     .kind = NUMBER(struct fault_hardware, ipu, 0, VIPU_AGENT_IPUS - 1),
     .help = "one IPU, by its number on the board (IPU# of gc-info); default: all IPUs of the agent"},
    {.key = "error",
     .kind = TEXT(struct fault_hardware, error),
     .help = "error in the status of its partitions"},
    {.key = "for-ms",
     .kind = NUMBER(struct fault_hardware, for_ms, 0, MAX_MS),
     .help = "time until it works again; default: until the faults are replaced"},
    {0},
};

const struct fault_call fault_call_plain = {.count = {0, FAULTS_ALWAYS, 100}};
const struct fault_partition fault_partition_plain = {.on = FAULT_CREATE, .count = {0, FAULTS_ALWAYS, 100}};
const struct fault_hardware fault_hardware_plain = {.ipu = FAULTS_ALWAYS, .for_ms = FAULTS_ALWAYS};
const struct faults faults_plain = {.seed = 1};
