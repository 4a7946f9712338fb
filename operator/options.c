#include "options.h"

#include <stddef.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "operator/api/queue/queue_priority.h"
#include "operator/pool/claims.h"
#include "operator/vipucontroller/controller_status.h"

#define CONFIG_MAX_BYTES ((size_t)1024 * 1024)

#define AT(field) offsetof(struct options, field)

static const struct opt ROWS[] = {
    OPT_VALUE(
        "config", OPT_STR, AT(config_file), "FILE",
        "YAML file with the V-IPU controllers: vipuControllers, as \"host:port:label=value,...\" or a list",
        .env = "IPU_OPERATOR_CONFIG"),
    OPT_VALUE(
        "credentials", OPT_STR, AT(credentials), "DIR",
        "Directory with the Secrets of V-IPU controllers, in one subdirectory per Secret: files user-id, "
        "access-key, ca.crt, client.crt and client.key, and job-user-id and job-access-key or "
        "partition-secret "
        "for job pods. Reloaded when they change",
        .fallback = "/etc/vipu-credentials"),
    OPT_VALUE(
        "namespace", OPT_STR, AT(ns), "NAME",
        "Namespace of the operator's records and lease; default: namespace of the pod or of the context",
        .env = "IPU_OPERATOR_NAMESPACE"),
    OPT_VALUE("watch-namespace", OPT_STR, AT(watch_ns), "NAME",
              "Watch only this namespace, without access to nodes; default: all namespaces"),
    OPT_VALUE("kubeconfig", OPT_STR, AT(kubeconfig), "FILE",
              "Kubeconfig file; default: service account of the pod, then KUBECONFIG, then ~/.kube/config"),
    OPT_VALUE("context", OPT_STR, AT(context), "NAME", "Context of the kubeconfig"),
    OPT_VALUE("lease-name", OPT_STR, AT(lease_name), "NAME", "Name of the leader election Lease",
              .fallback = "ipu-operator"),
    OPT_VALUE("pod-name", OPT_STR, AT(pod_name), "NAME",
              "Name of this process in events (reportingInstance); default: ipu-operator", .env = "POD_NAME"),
    OPT_VALUE("pod-address", OPT_STR, AT(pod_address), "ADDRESS",
              "Address of this pod, at which standbys reach the leader; default: standbys do not forward "
              "requests to the leader",
              .env = "POD_IP"),
    OPT_VALUE("launcher-image", OPT_STR, AT(launcher_image), "IMAGE",
              "Image with ipu-launch, which an init container copies into job pods",
              .env = "IPU_OPERATOR_LAUNCHER_IMAGE",
              .fallback = "docker.io/ipu-operator/ipu-launch:" IPU_OPERATOR_VERSION),
    OPT_VALUE("launcher-pull-policy", OPT_STR, AT(launcher_pull_policy), "POLICY",
              "Pull policy of the launcher image: Always, IfNotPresent or Never", .fallback = "IfNotPresent"),
    OPT_VALUE("pull-secrets", OPT_STR, AT(pull_secrets), "NAMES",
              "Comma-separated names of image pull secrets for job pods"),
    OPT_SWITCH("host-network", AT(host_network),
               "Run job pods in the network of their node, unless their template says otherwise",
               .fallback = "false"),
    OPT_SWITCH(
        "network-policy", AT(network_policy),
        "Create a NetworkPolicy that allows only traffic between the pods of a job, for jobs with a launcher",
        .fallback = "true"),
    OPT_VALUE("mpi-network", OPT_STR, AT(mpi_network), "NETWORK",
              "Network for MPI between pods, as a CIDR such as 10.0.0.0/8 or as an interface name; default: "
              "selected by MPI"),
    OPT_VALUE("health-port", OPT_U32, AT(health_port), "PORT",
              "Port for /healthz, /readyz and the pages; 0 selects a free port", .fallback = "8081", .min = 0,
              .max = 65535),
    OPT_VALUE("metrics", OPT_STR, AT(metrics), "HOW",
              "How to serve /metrics: secure (TLS with authorization), plain (on the health port, without "
              "either) or off",
              .fallback = "secure"),
    OPT_VALUE("metrics-port", OPT_U32, AT(metrics_port), "PORT",
              "Port for /metrics in secure mode, and for the pages over TLS; 0 selects a free port",
              .fallback = "8443", .min = 0, .max = 65535),
    OPT_VALUE("metrics-hosts", OPT_STR, AT(metrics_hosts), "NAMES",
              "Comma-separated host names for the generated /metrics certificate", .fallback = "localhost"),
    OPT_VALUE("metrics-certificate", OPT_STR, AT(metrics_certificate), "DIRECTORY",
              "Directory with tls.crt and tls.key for /metrics, reloaded when they change; default: a "
              "generated certificate"),
    OPT_VALUE("admission", OPT_STR, AT(admission), "NAME",
              "Serve the admission webhooks. Name of both webhook configurations, whose caBundle the "
              "operator updates, and of the Secret with the certificate; default: no webhooks"),
    OPT_VALUE("admission-certificate", OPT_STR, AT(admission_certificate), "SECRET",
              "Secret with the webhook certificate (tls.crt, tls.key and ca.crt) if another program such as "
              "cert-manager creates and renews it; default: the operator does, in its own Secret"),
    OPT_VALUE("admission-hosts", OPT_STR, AT(admission_hosts), "NAMES",
              "Comma-separated host names by which the API server reaches the webhooks",
              .fallback = "localhost"),
    OPT_VALUE("admission-port", OPT_U32, AT(admission_port), "PORT",
              "Port for the admission webhooks; 0 selects a free port", .fallback = "9443", .min = 0,
              .max = 65535),
    OPT_VALUE("progress", OPT_STR, AT(progress), "SECRET",
              "Serve reports of progress of the programs of jobs. Name of an existing Secret in which the "
              "operator keeps the certificate; default: programs cannot report"),
    OPT_VALUE("progress-hosts", OPT_STR, AT(progress_hosts), "NAMES",
              "Comma-separated host names of the progress server; pods use the first",
              .fallback = "localhost"),
    OPT_VALUE("progress-port", OPT_U32, AT(progress_port), "PORT",
              "Port for reports of progress; 0 selects a free port", .fallback = "8444", .min = 0,
              .max = 65535),
    OPT_VALUE("live-page", OPT_STR, AT(live_page), "NAMES",
              "Serve the live page to everybody with a token of the cluster. Comma-separated host names by "
              "which browsers reach it; default: no page"),
    OPT_VALUE("live-page-certificate", OPT_STR, AT(live_page_certificate), "DIRECTORY",
              "Directory with tls.crt and tls.key for the live page, reloaded when they change; default: a "
              "generated certificate"),
    OPT_VALUE("live-page-port", OPT_U32, AT(live_page_port), "PORT",
              "Port for the live page; 0 selects a free port", .fallback = "8445", .min = 0, .max = 65535),
    OPT_VALUE("history", OPT_STR, AT(history), "CONFIGMAP",
              "Name of the ConfigMap in which the operator keeps how long jobs ran and what namespaces have "
              "used; default: a restarted operator learns it again"),
    OPT_VALUE("log-level", OPT_STR, AT(log_level), "LEVEL", "Minimum log level: debug, info, warn or error",
              .fallback = "info"),
    OPT_VALUE("log-format", OPT_STR, AT(log_format), "FORMAT", "Log format: text or json",
              .fallback = "text"),
    OPT_VALUE("partition-prefix", OPT_STR, AT(partition_prefix), "TEXT",
              "Prefix of partition IDs; must be unique per V-IPU controller", .fallback = "p"),
    OPT_VALUE(
        "queue-priority-classes", OPT_STR, AT(priority_classes), "NAMES",
        "Comma-separated names of the PriorityClasses that order the queue for IPUs; \"*\": all. Those of "
        "the system never do",
        .fallback = QUEUE_PRIORITY_ALL),
    OPT_VALUE("queue-max-waiting-instances-per-namespace", OPT_U32, AT(max_waiting_per_namespace), "NUMBER",
              "Instances of the jobs of a namespace that may wait in the queue for IPUs; 0: any number",
              .fallback = "100000", .max = INT32_MAX),
    OPT_VALUE("queue-max-waiting-instances", OPT_U32, AT(max_waiting), "NUMBER",
              "Instances of all jobs that may wait in the queue for IPUs; 0: any number",
              .fallback = "1000000", .max = INT32_MAX),
    OPT_VALUE("queue-quotas", OPT_STR, AT(queue_quotas), "NAMESPACE=IPUS",
              "IPUs that the jobs of a namespace may hold at a time, comma-separated; \"*\": of each other "
              "namespace; 0: any number; default: any number"),
    OPT_VALUE("queue-instance-quotas", OPT_STR, AT(queue_instance_quotas), "NAMESPACE=INSTANCES",
              "Instances of the jobs of a namespace that may be in the queue for IPUs at a time, "
              "comma-separated; those behind wait outside; \"*\": of each other namespace; 0: any number; "
              "default: any number"),
    OPT_VALUE("queue-share-half-life-seconds", OPT_U32, AT(share_half_life_s), "SECONDS",
              "Jobs of namespaces that have used fewer IPU-seconds for their weight come first in their "
              "priority, and a half of what was used counts after so many seconds; 0: by age alone",
              .fallback = "0", .max = INT32_MAX),
    OPT_VALUE(
        "queue-share-weights", OPT_STR, AT(queue_share_weights), "NAMESPACE=WEIGHT",
        "Weights of the shares of namespaces, comma-separated; \"*\": of each other namespace; default: 1"),
    OPT_VALUE("queue-guard-after-seconds", OPT_U32, AT(guard_after_s), "SECONDS",
              "Seconds of waiting after which a job comes first in its priority, whatever its namespace has "
              "used; 0: never",
              .fallback = "0", .max = INT32_MAX),
    {.flag = "queue-policy",
     .type = OPT_CHOICE,
     .offset = AT(queue_policy),
     .arg = "POLICY",
     .help = "Which jobs may pass the first that waits for a V-IPU controller: none (strict), those that run "
             "elsewhere or end in time by their deadlines (bounded), or by their past run times (predicted)",
     .choices = CLAIMS_POLICIES,
     .fallback = "bounded"},
    OPT_VALUE("queue-reservations", OPT_U32, AT(reservations), "NUMBER",
              "Waiting jobs of a V-IPU controller for which a block of IPUs is kept free", .fallback = "1",
              .min = 1, .max = FORECAST_DEPTH_MAX),
    OPT_VALUE("queue-close-after-seconds", OPT_U32, AT(close_after_s), "SECONDS",
              "Seconds after which no other job starts in a kept block if it is not known when that is free",
              .fallback = "259200", .min = 0, .max = INT32_MAX),
    OPT_VALUE("queue-max-slide-seconds", OPT_U32, AT(max_slide_s), "SECONDS",
              "Seconds after the promised start of a job after which no other job starts in its block",
              .fallback = "1800", .min = 0, .max = INT32_MAX),
    OPT_SWITCH("queue-preemption", AT(preempts),
               "Let jobs whose PriorityClass has preemptionPolicy PreemptLowerPriority have the IPUs of jobs "
               "of lower priority that agree by an annotation",
               .fallback = "false"),
    OPT_VALUE("queue-preemption-exempt-seconds", OPT_U32, AT(exempt_s), "SECONDS",
              "Seconds for which an instance keeps its IPUs before it can be preempted", .fallback = "600",
              .min = 0, .max = INT32_MAX),
    OPT_VALUE("hold-seconds", OPT_U32, AT(hold_s), "SECONDS",
              "Seconds to hold a partition whose processes may still be running", .fallback = "300", .min = 0,
              .max = 86400),
    OPT_VALUE(
        "requeue-seconds", OPT_U32, AT(requeue_s), "SECONDS",
        "Seconds that the pods of an instance may fail to start before a job that waits for its IPUs gets "
        "them and the instance returns to the queue",
        .fallback = "60", .min = 0, .max = 86400),
    OPT_VALUE("partition-failure-seconds", OPT_U32, AT(partition_failure_s), "SECONDS",
              "Seconds that a running instance may have a failed or missing partition before its restart "
              "policy applies. V-IPU recovers by resets, and poprun re-creates partitions",
              .fallback = "30", .min = 0, .max = 86400),
    {.flag = "vipu-controllers-visibility",
     .type = OPT_CHOICE,
     .offset = AT(controller_visibility),
     .arg = "WHAT",
     .help = "What VIPUControllers tell about partitions: names (of the jobs), namespaces or sizes",
     .choices = CONTROLLER_VISIBILITIES,
     .fallback = "namespaces"},
    OPT_SWITCH("hide-vipu-controller-addresses", AT(hide_controller_addresses),
               "Leave the addresses of V-IPU controllers out of the names and statuses of VIPUControllers",
               .fallback = "false"),
    {0},
};

const struct opts_spec OPTIONS_SPEC = {
    .program = "ipu-operator",
    .usage = "ipu-operator [options]\n"
             "       ipu-operator partitions | release PARTITION | adopt PARTITION --job NAMESPACE/NAME\n"
             "       ipu-operator self-check | apply-crd | before-uninstall",
    .about = "Runs IPUJobs: creates a partition of IPUs on a V-IPU controller for each instance, starts its "
             "pods, and releases the partition at the end. Needs the CustomResourceDefinition of IPUJobs "
             "(kubectl apply -f crds/ of the chart) and, in a cluster, the roles of the chart ipu-operator.",
    .rows = ROWS,
};

static void check_word(const char *flag, const char *value, const char *const *known, struct strv *problems)
{
    for (const char *const *k = known; *k; k++) {
        if (str_eq(*k, value))
            return;
    }
    strv_pushf(problems, "--%s: unknown value \"%s\"; see --help", flag, value);
}

/* In the order of enum options_metrics. */
static const char *const METRICS_WORDS[] = {"secure", "plain", "off", NULL};

enum options_metrics options_metrics(const struct options *options)
{
    enum options_metrics how = METRICS_SECURE;

    while (how < METRICS_OFF && !str_eq(options->metrics, METRICS_WORDS[how]))
        how++;
    return how;
}

static void check_priority_classes(const char *list, struct strv *problems)
{
    AUTO(strv) struct strv names = {0};

    strv_split(list, ',', &names);
    for (size_t i = 0; i < names.count; i++) {
        if (queue_priority_is_of_system(names.items[i]))
            strv_pushf(problems,
                       "--queue-priority-classes: %s is a class of the system, which never orders the queue; "
                       "remove it",
                       names.items[i]);
    }
}

static void check(const struct options *o, struct strv *problems)
{
    static const char *const policies[] = {"Always", "IfNotPresent", "Never", NULL};
    static const char *const formats[] = {"text", "json", NULL};
    enum log_level level;

    check_word("launcher-pull-policy", o->launcher_pull_policy, policies, problems);
    check_word("log-format", o->log_format, formats, problems);
    check_word("metrics", o->metrics, METRICS_WORDS, problems);
    check_priority_classes(o->priority_classes, problems);
    if (o->progress && !*o->progress_hosts)
        strv_push(problems, "--progress-hosts: must name at least one host");
    if (o->live_page && !*o->live_page)
        strv_push(problems, "--live-page: must name at least one host");
    if (o->live_page && o->watch_ns)
        strv_push(problems, "--live-page: checks tokens, which needs permissions in the cluster; remove "
                            "--live-page or --watch-namespace");
    if (!log_parse_level(o->log_level, &level))
        strv_pushf(problems, "--log-level: expected debug, info, warn or error, got \"%s\"", o->log_level);
    if (strspn(o->partition_prefix, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(o->partition_prefix) ||
        !*o->partition_prefix || strlen(o->partition_prefix) > 16 || o->partition_prefix[0] == '-')
        strv_pushf(problems,
                   "--partition-prefix: must be at most 16 lowercase letters, digits and dashes and start "
                   "with a letter or digit, got \"%s\"",
                   o->partition_prefix);
}

static void read_config(struct options *o, struct strv *problems)
{
    AUTO(str) struct str text = {0};
    struct err err = {0};

    if (!o->config_file)
        return;
    if (!file_read(o->config_file, CONFIG_MAX_BYTES, &text, &err)) {
        strv_push(problems, err.msg);
        return;
    }
    pool_config_add_yaml(&o->controllers, str_slice(&text), o->config_file, problems);
}

enum opts_result options_read(int argc, char **argv, const char *(*env)(const char *), struct options *ret,
                              struct strv *problems)
{
    enum opts_result result = opts_parse(&OPTIONS_SPEC, argc, argv, env, false, ret, NULL, problems);

    if (result == OPTS_HELP || result == OPTS_VERSION)
        return result;
    check(ret, problems);
    if (ret->queue_quotas)
        namespace_numbers_read(ret->queue_quotas, "--queue-quotas", &ret->quotas, problems);
    if (ret->queue_instance_quotas)
        namespace_numbers_read(ret->queue_instance_quotas, "--queue-instance-quotas", &ret->instance_quotas,
                               problems);
    if (ret->queue_share_weights)
        namespace_numbers_read(ret->queue_share_weights, "--queue-share-weights", &ret->share_weights,
                               problems);
    read_config(ret, problems);
    return problems->count ? OPTS_BAD : OPTS_RUN;
}

void options_release(struct options *options)
{
    pool_config_release(&options->controllers);
    namespace_numbers_release(&options->quotas);
    namespace_numbers_release(&options->instance_quotas);
    namespace_numbers_release(&options->share_weights);
    opts_release(&OPTIONS_SPEC, options);
}
