/* The types of the public V-IPU user API: partitions, requirements, states, and the enumerations with the
 * texts that tables and commands use. Plain data, without rules (see shape.h) or placement (see
 * allocator.h).
 *
 * Strings inside these structs are owned by them and never NULL after a decode or copy; the release
 * functions free the contents, accept NULL and zeroed structs, and leave a zeroed struct behind. To transfer
 * ownership, copy the struct and zero the original. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"

#define VIPU_ILD_IPUS 64u  /* an IPU-Link domain holds at most this many IPUs */
#define VIPU_AGENT_IPUS 4u /* an IPU-Machine, and so an agent, has this many */
#define VIPU_DEFAULT_PORT 8090u

/* The numbers are those of the protocol. Unknown values survive a round trip and are shown as UNDEFINED. */
enum vipu_ready_state {
    VIPU_READY_UNDEFINED = 0,
    VIPU_READY_PENDING = 1,
    VIPU_READY_ACTIVE = 2,
    VIPU_READY_REMOVED = 3,
    VIPU_READY_ERROR = 4,
};

enum vipu_operation_state {
    VIPU_OPERATION_UNDEFINED = 0,
    VIPU_OPERATION_IDLE = 1,
    VIPU_OPERATION_CREATING = 2,
    VIPU_OPERATION_REMOVING = 3,
    VIPU_OPERATION_RESETTING = 4,
    VIPU_OPERATION_FAILED = 5,
};

enum vipu_routing {
    VIPU_ROUTING_UNDEFINED = 0, /* in a request: the controller chooses */
    VIPU_ROUTING_DNC = 1,
    VIPU_ROUTING_SWNC = 2,
    VIPU_ROUTING_BTNC = 3,
    VIPU_ROUTING_RINGSWNC = 4,
};

enum vipu_gateway_routing {
    VIPU_GATEWAY_UNDEFINED = 0,
    VIPU_GATEWAY_RING = 2, /* the public enumeration has no value 1 */
    VIPU_GATEWAY_SWRING = 3,
};

enum vipu_sync_type {
    VIPU_SYNC_UNDEFINED = 0,
    VIPU_SYNC_GS2_DEFAULT = 1,
    VIPU_SYNC_GS2_INDEPENDENT_RAILS = 2,
    VIPU_SYNC_POD_NATIVE_DEFAULT = 3,
    VIPU_SYNC_POD_NATIVE_REPLICATED_PIPELINE = 4,
};

struct vipu_ipu {
    uint32_t domain_topology_id; /* physical IPU-Link domain in the cluster */
    uint32_t domain_routing_id;  /* logical domain in the partition */
    uint32_t topology_id;        /* physical IPU in its domain */
    uint32_t routing_id;         /* logical IPU */
};

struct vipu_partition {
    char *id;
    char *cluster_id;
    char *allocation_id;
    char *ipuof_server_version;
    uint32_t size; /* number of IPUs: the length of ipus */
    uint32_t num_gcds;
    uint32_t num_replicas;
    uint32_t num_ilds;
    bool reconfigurable;
    enum vipu_ready_state ready_state;
    enum vipu_sync_type sync_type;
    enum vipu_routing routing;
    enum vipu_gateway_routing gateway_routing;
    struct vipu_ipu *ipus; /* size entries */
};

struct vipu_partitions {
    struct vipu_partition *items;
    size_t count;
};

/* The requirements of a create request. Zero and NULL mean "not given". Everything is borrowed: the caller
 * keeps it alive for the call it is passed to. */
/* With this before its id, a partition is a user of its own in secure mode, who may use nothing else. */
#define VIPU_PARTITION_USER "partition:"

struct vipu_requirements {
    const char *id;
    uint32_t size;
    const char *cluster_id;
    const char *allocation_id;
    enum vipu_routing routing;
    enum vipu_gateway_routing gateway_routing;
    enum vipu_sync_type sync_type;
    uint32_t num_ilds;     /* default 1 */
    uint32_t num_gcds;     /* default 1 */
    uint32_t num_replicas; /* over all GCDs; default num_gcds */
    bool reconfigurable;
    bool disable_auto_reset;
    bool relocatable;
    const struct vipu_ipu *ipus; /* explicit placement, or NULL */
    size_t ipu_count;
    const char *access_key; /* of the partition's own user; NULL or "": it has none */
};

struct vipu_status {
    char *partition_id;
    enum vipu_ready_state ready_state;
    enum vipu_operation_state operation_state;
    char **errors;
    size_t error_count;
    uint32_t max_auto_reset_retries;
    uint32_t auto_reset_retry_count;
    int64_t last_auto_reset_unix_s; /* 0: never */
};

void vipu_partition_release(struct vipu_partition *partition);
void vipu_partitions_release(struct vipu_partitions *list);
DEFINE_AUTO(vipu_partitions);
void vipu_status_release(struct vipu_status *status);
DEFINE_AUTO(vipu_status);
struct vipu_partition vipu_partition_copy(const struct vipu_partition *from); /* deep copy */
const struct vipu_partition *vipu_partitions_find(const struct vipu_partitions *list, const char *id);

/* Texts. Unknown numbers read "UNDEFINED". */
const char *vipu_ready_state_name(enum vipu_ready_state state);           /* "ACTIVE", as in tables */
const char *vipu_operation_state_name(enum vipu_operation_state state);   /* "CREATING" */
const char *vipu_routing_name(enum vipu_routing routing);                 /* "RINGSWNC" */
const char *vipu_gateway_routing_name(enum vipu_gateway_routing routing); /* "DEFAULT", "RING", "SWRING" */
const char *vipu_sync_type_name(enum vipu_sync_type type);                /* "c2-compatible" */
/* The reverse, case-insensitive; false if the text is unknown. */
bool vipu_routing_parse(const char *text, enum vipu_routing *ret);
bool vipu_gateway_routing_parse(const char *text, enum vipu_gateway_routing *ret);
bool vipu_sync_type_parse(const char *text, enum vipu_sync_type *ret);
