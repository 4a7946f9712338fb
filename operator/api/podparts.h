/* The parts that all pods of a job share, and the words they are built with: owner, labels, ipu-launch with
 * its volume and init container, network and placement. Pure. For operator/api/podspec*.c alone. */
#pragma once

#include "operator/api/podspec.h"

#define PODPARTS_LAUNCHER_DIR "/opt/ipu-launcher"
#define PODPARTS_LAUNCHER_PROGRAM PODPARTS_LAUNCHER_DIR "/ipu-launch"

/* What is found at the key if it is of that type; else a new one is put there. Borrowed. */
cJSON *podparts_array(cJSON *object, const char *key);
cJSON *podparts_object(cJSON *object, const char *key);
void podparts_default_str(cJSON *object, const char *key, const char *value); /* unless the key is there */

struct podparts_name {
    const char *pod, *role, *container;
    uint32_t instance;
};
void podparts_put_metadata(cJSON *pod, const struct job *job, const struct podparts_name *name,
                           const struct podspec_place *place, const cJSON *from);
void podparts_put_owner(cJSON *metadata, const struct job *job);
void podparts_put_labels(cJSON *labels, const struct job *job, const char *role);

cJSON *podparts_mount(cJSON *container, const char *volume, const char *path, bool read_only);
/* The container's command becomes "ipu-launch VERB -- COMMAND", or "ipu-launch VERB" without one. */
void podparts_wrap(cJSON *container, const char *verb, const cJSON *command);
void podparts_add_launcher(cJSON *spec, const struct podspec_options *options);
void podparts_keep_last_words(cJSON *containers);
void podparts_put_network(cJSON *spec, const struct podspec_options *options);
void podparts_place(cJSON *spec, const struct podspec_place *place);
void podparts_add_pull_secrets(cJSON *spec, const char *const *names);
