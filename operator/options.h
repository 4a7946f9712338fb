/* The command line of ipu-operator, checked as a whole. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options/opts.h"
#include "operator/api/queue/namespace_numbers.h"
#include "operator/pool/config.h"

struct options {
    char *config_file, *credentials;
    char *kubeconfig, *context, *ns;
    char *watch_ns; /* NULL: all namespaces */
    char *lease_name, *pod_name, *pod_address;
    char *launcher_image, *launcher_pull_policy, *pull_secrets;
    bool host_network, network_policy;
    char *mpi_network;
    uint32_t health_port;
    char *admission, *admission_certificate, *admission_hosts; /* NULL: no webhooks; its own */
    uint32_t admission_port;
    char *metrics, *metrics_hosts, *metrics_certificate;
    uint32_t metrics_port;
    char *progress, *progress_hosts; /* the Secret of its certificate; NULL: no such server */
    uint32_t progress_port;
    char *live_page, *live_page_certificate; /* its host names; NULL: no such page; its own certificate */
    uint32_t live_page_port;
    char *history; /* ConfigMap; NULL: it is forgotten */
    char *log_level, *log_format;
    char *partition_prefix;
    char *priority_classes;
    uint32_t max_waiting_per_namespace, max_waiting; /* instances; 0: any number */
    char *queue_quotas, *queue_instance_quotas, *queue_share_weights;
    uint32_t share_half_life_s, guard_after_s; /* 0: off */
    struct namespace_numbers share_weights;
    struct namespace_numbers quotas, instance_quotas; /* as read from them */
    int queue_policy;                                 /* enum forecast_policy */
    uint32_t reservations, close_after_s, max_slide_s;
    bool preempts;
    uint32_t exempt_s;
    uint32_t hold_s;
    uint32_t requeue_s;
    uint32_t partition_failure_s;
    int controller_visibility; /* enum controller_visibility */
    bool hide_controller_addresses;
    struct pool_config controllers; /* from the configuration file */
};

extern const struct opts_spec OPTIONS_SPEC;

enum options_metrics { METRICS_SECURE, METRICS_PLAIN, METRICS_OFF };
enum options_metrics options_metrics(const struct options *options);

/* Reads arguments, environment and the configuration file. OPTS_BAD: every mistake is a line in `problems`.
 */
enum opts_result options_read(int argc, char **argv, const char *(*env)(const char *), struct options *ret,
                              struct strv *problems);
void options_release(struct options *options);
