#include "vipu/server/config/faults_settings.h"

#include "vipu/model/partition.h"

#define MAX_MS 600000u
#define MAX_TIMES 1000000000u

/* By gRPC's numbers; "OK" is none. */
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
     .help = "how many matches are spared first"},                                                           \
        {.key = "times",                                                                                     \
         .kind = NUMBER(type, count.times, 0, MAX_TIMES),                                                    \
         .help = "how often the rule strikes then; without it, always"},                                     \
    {                                                                                                        \
        .key = "chance", .kind = NUMBER(type, count.chance, 0, 100), .fallback = "100",                      \
        .help = "how likely it strikes then, in percent"                                                     \
    }

const struct setting faults_settings[] = {
    {.key = "seed",
     .kind = NUMBER(struct faults, seed, 0, UINT32_MAX),
     .fallback = "1",
     .help = "where the dice for chances and random times start: the same seed, the same faults"},
    {.key = "stall",
     .kind = FLAG(struct faults, stall),
     .help = "calls wait, neither carried out nor answered, until the faults are replaced"},
    {.key = "stall-ms",
     .kind = NUMBER(struct faults, stall_ms, 0, MAX_MS),
     .help = "calls wait so long from now on, and are carried out then"},
    {.key = "forget",
     .kind = FLAG(struct faults, forget),
     .help = "every partition is lost, once and now, without a trace"},
    {.key = "drop-connections",
     .kind = FLAG(struct faults, drop_connections),
     .help = "every connection is closed, once and now"},
    {.key = "linger-ms",
     .kind = NUMBER(struct faults, linger_ms, 0, MAX_MS),
     .help = "removed partitions stay so long in state REMOVED, and keep their ids and IPUs"},
    {.key = "quirks",
     .kind = SETTING_OTHER,
     .help = "what other controllers may do differently, each true or false"},
    {.key = "calls", .kind = SETTING_OTHER, .help = "list of rules for calls"},
    {.key = "partitions", .kind = SETTING_OTHER, .help = "list of rules for what partitions go through"},
    {.key = "hardware", .kind = SETTING_OTHER, .help = "list of agents and IPUs that do not work"},
    {0},
};

const struct setting fault_quirk_settings[] = {
    {.key = "unknown-status",
     .kind = FLAG(struct fault_quirks, unknown_status),
     .help = "every refusal has the status UNKNOWN"},
    {.key = "blocking-operations",
     .kind = FLAG(struct fault_quirks, blocking_operations),
     .help = "create, reset and remove answer when it is done"},
    {.key = "remove-unknown-succeeds",
     .kind = FLAG(struct fault_quirks, remove_unknown_succeeds),
     .help = "removing a partition that is not there succeeds"},
    {.key = "create-existing-succeeds",
     .kind = FLAG(struct fault_quirks, create_existing_succeeds),
     .help = "creating a partition that is there already succeeds, and changes nothing"},
    {.key = "reset-stays-active",
     .kind = FLAG(struct fault_quirks, reset_stays_active),
     .help = "a partition that is being reset says ACTIVE, not PENDING"},
    {.key = "list-hides-pending",
     .kind = FLAG(struct fault_quirks, list_hides_pending),
     .help = "lists leave out partitions that are PENDING"},
    {0},
};

const struct setting fault_call_settings[] = {
    {.key = "method",
     .kind = TEXT(struct fault_call, method),
     .help = "pattern with * and ?, such as Create*; without it, every method"},
    {.key = "partition",
     .kind = TEXT(struct fault_call, partition),
     .help = "pattern of the partition's id; without it every call, also those that name none"},
    COUNTS(struct fault_call),
    {.key = "latency-ms",
     .kind = NUMBER(struct fault_call, latency.ms, 0, MAX_MS),
     .help = "the call waits so long before it is carried out"},
    {.key = "latency-up-to-ms",
     .kind = NUMBER(struct fault_call, latency.up_to, 0, MAX_MS),
     .help = "at random between the two"},
    {.key = "late-ms",
     .kind = NUMBER(struct fault_call, late.ms, 0, MAX_MS),
     .help = "it is carried out at once, and answered so much later"},
    {.key = "late-up-to-ms",
     .kind = NUMBER(struct fault_call, late.up_to, 0, MAX_MS),
     .help = "at random between the two"},
    {.key = "status",
     .kind = WORD(struct fault_call, status, statuses),
     .help = "it is refused with this gRPC status, such as UNAVAILABLE"},
    {.key = "message",
     .kind = TEXT(struct fault_call, message),
     .help = "the text that goes with the status"},
    {.key = "drop",
     .kind = FLAG(struct fault_call, drop),
     .help = "its connection is closed instead of an answer"},
    {.key = "takes-effect",
     .kind = FLAG(struct fault_call, takes_effect),
     .help = "with status or drop: it is carried out all the same"},
    {0},
};

const struct setting fault_partition_settings[] = {
    {.key = "partition",
     .kind = TEXT(struct fault_partition, partition),
     .help = "pattern of its id; without it, every partition"},
    {.key = "on",
     .kind = WORD(struct fault_partition, on, moments),
     .fallback = "create",
     .help = "what fails: create, reset or remove (unless forced); now: it fails as it stands"},
    COUNTS(struct fault_partition),
    {.key = "error", .kind = TEXT(struct fault_partition, error), .help = "the sentence in its status"},
    {0},
};

const struct setting fault_hardware_settings[] = {
    {.key = "agent",
     .kind = TEXT(struct fault_hardware, agent),
     .help = "pattern of the agent's name; it must be there"},
    {.key = "ipu",
     .kind = NUMBER(struct fault_hardware, ipu, 0, VIPU_AGENT_IPUS - 1),
     .help =
         "one IPU by its number on the board (IPU# of gc-info); without it, the agent with all of its IPUs"},
    {.key = "error",
     .kind = TEXT(struct fault_hardware, error),
     .help = "the sentence in the status of its partitions"},
    {.key = "for-ms",
     .kind = NUMBER(struct fault_hardware, for_ms, 0, MAX_MS),
     .help = "when it works again, from now; without it, when the faults are replaced"},
    {0},
};

const struct fault_call fault_call_plain = {.count = {0, FAULTS_ALWAYS, 100}};
const struct fault_partition fault_partition_plain = {.on = FAULT_CREATE, .count = {0, FAULTS_ALWAYS, 100}};
const struct fault_hardware fault_hardware_plain = {.ipu = FAULTS_ALWAYS, .for_ms = FAULTS_ALWAYS};
const struct faults faults_plain = {.seed = 1};
