/* Builds worker pods and the Service of a job's workers from its template. Pure: the template is kept,
 * unknown fields byte for byte; docs/environment.md names what is added. */
#pragma once

#include "operator/api/job/job.h"

/* How pods reach the progress server. Either may be NULL: not known yet, and pods do not report. */
struct pod_progress {
    char *url;
    char *ca; /* PEM */
};

struct pod_spec_options {
    const char *launcher_image;
    const char *launcher_pull_policy;
    const char *const *pull_secrets; /* names, NULL-terminated, or NULL */
    bool host_network;
    bool network_policy;     /* pods of a job with a launcher accept connections only from each other */
    const char *mpi_network; /* for MPI between pods: an interface or a network such as 10.0.0.0/8; or NULL */
    const struct pod_progress *progress; /* NULL: there is no such server */
};

/* The address and shape of the partition. */
struct partition_placement {
    const char *partition; /* id */
    uint32_t run;          /* of the record */
    const char *vipu_host;
    uint16_t vipu_port;
    const char *node_label; /* key, or NULL: pods may run on any node */
    const char *node_value;
    bool reconfigurable;
    const char *target_options; /* JSON text for POPLAR_TARGET_OPTIONS, or NULL */
    uint32_t start;             /* of the record */
    bool keeps_grace;           /* the record has a limit: the pods may not take longer to stop than... */
    uint32_t grace_s;           /* ...this, whatever the template says by now */
    uint16_t agent_port;        /* of the workers' agents, with a launcher */
    bool vipu_tls;              /* the controller requires TLS; these two are in the start's Secret: */
    bool has_vipu_user, has_vipu_ca;
};

/* Worker `worker` of `instance`. ERR_INVALID if the template cannot be turned into a pod. Owned by the
 * caller. */
MUST_USE cJSON *pod_spec_worker(const struct job *job, uint32_t instance, uint32_t worker,
                                const struct partition_placement *place,
                                const struct pod_spec_options *options, struct err *err);
/* Gives such a pod, or a launcher pod, the report of the attempt before it, which ipu-launch prints, in the
 * init container if the image runs its own entry point. */
void pod_spec_add_report(cJSON *pod, const char *report);
/* The API server's message about such a pod, with the paths of the job: fields in spec.workers.template or,
 * for a launcher, in spec.launcher.template. Owned by the caller. */
char *pod_spec_translate_message(const char *message, bool is_launcher);
/* The headless Service that gives workers stable names; endpoints.h has its endpoints. Owned by the caller.
 */
cJSON *pod_spec_service(const struct job *job);
