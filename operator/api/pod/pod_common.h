/* What all pods of a job share, and JSON helpers: owner, labels, ipu-launch with its volume and init
 * container, network and placement. Pure. Only for operator/api/pod/pod_spec*.c. */
#pragma once

#include "operator/api/pod/pod_spec.h"

#define IPU_LAUNCH_DIR "/opt/ipu-launcher"
#define IPU_LAUNCH_PROGRAM IPU_LAUNCH_DIR "/ipu-launch"

/* The value of the key if it has that type; otherwise a new one is created there. Borrowed. */
cJSON *pod_common_array(cJSON *object, const char *key);
cJSON *pod_common_object(cJSON *object, const char *key);
void pod_common_default_str(cJSON *object, const char *key, const char *value); /* unless the key exists */

struct pod_common_name {
    const char *pod, *role, *container;
    uint32_t instance;
};
void pod_common_put_metadata(cJSON *pod, const struct job *job, const struct pod_common_name *name,
                             const struct partition_placement *place, const cJSON *from);
void pod_common_put_owner(cJSON *metadata, const struct job *job);
void pod_common_put_labels(cJSON *labels, const struct job *job, const char *role);

cJSON *pod_common_mount(cJSON *container, const char *volume, const char *path, bool read_only);
/* The container's command becomes "ipu-launch VERB -- COMMAND", or "ipu-launch VERB" without one. */
void pod_common_wrap(cJSON *container, const char *verb, const cJSON *command);
void pod_common_add_launcher(cJSON *spec, const struct pod_spec_options *options);
void pod_common_set_termination_message_policy(cJSON *containers);
void pod_common_put_network(cJSON *spec, const struct pod_spec_options *options);
void pod_common_limit_grace(cJSON *spec, const struct partition_placement *place);
void pod_common_set_node_selector(cJSON *spec, const struct partition_placement *place);
void pod_common_add_pull_secrets(cJSON *spec, const char *const *names);
