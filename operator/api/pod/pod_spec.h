/* Makes worker pods and the Service of a job's workers from its template. Pure: what the template says stays,
 * byte for byte where we do not know it; what is added is named in docs/environment.md. */
#pragma once

#include "operator/api/job/job.h"

struct pod_spec_options {
    const char *launcher_image;
    const char *launcher_pull_policy;
    const char *const *pull_secrets; /* names, NULL-terminated, or NULL */
    bool host_network;
    bool network_policy;     /* pods of a job with a launcher are reached by each other alone */
    const char *mpi_network; /* for MPI between pods: an interface or a network such as 10.0.0.0/8; or NULL */
};

/* Where the partition is and what it looks like. */
struct partition_placement {
    const char *partition; /* id */
    uint32_t run;          /* of the record */
    const char *vipu_host;
    uint16_t vipu_port;
    const char *node_label; /* key, or NULL: pods may run anywhere */
    const char *node_value;
    bool reconfigurable;
    const char *target_options; /* JSON text for POPLAR_TARGET_OPTIONS, or NULL */
    uint32_t start;             /* of the record */
    uint16_t agent_port;        /* of the workers' agents, with a launcher */
    bool vipu_tls;              /* the controller is asked with TLS; these two are in the start's Secret: */
    bool has_vipu_user, has_vipu_ca;
};

/* Worker `worker` of `instance`. ERR_INVALID when the template cannot be turned into a pod. Yours. */
MUST_USE cJSON *pod_spec_worker(const struct job *job, uint32_t instance, uint32_t worker,
                                const struct partition_placement *place,
                                const struct pod_spec_options *options, struct err *err);
/* What the API server says of such a pod, in the words of the job: where a field stands in
 * spec.workers.template or, of a launcher, in spec.launcher.template. Yours. */
char *pod_spec_translate_message(const char *message, bool is_launcher);
/* The headless Service that gives workers stable names; endpoints.h says who is behind them. Yours. */
cJSON *pod_spec_service(const struct job *job);
