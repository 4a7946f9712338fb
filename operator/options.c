#include "options.h"

#include <stddef.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/log.h"

#define CONFIG_MAX_BYTES ((size_t)1024 * 1024)

#define AT(field) offsetof(struct options, field)

static const struct opt ROWS[] = {
    {.flag = "config",
     .env = "IPU_OPERATOR_CONFIG",
     .type = OPT_STR,
     .offset = AT(config_file),
     .arg = "FILE",
     .help =
         "YAML file with the V-IPU controllers: vipuControllers, as \"host:port:label=value,...\" or a list"},
    {.flag = "credentials",
     .type = OPT_STR,
     .offset = AT(credentials),
     .fallback = "/etc/vipu-credentials",
     .arg = "DIR",
     .help =
         "Directory with the Secrets of V-IPU controllers, in one subdirectory per Secret: files user-id, "
         "access-key and ca.crt, and job-user-id and job-access-key for job pods. Reloaded when they change"},
    {.flag = "namespace",
     .env = "IPU_OPERATOR_NAMESPACE",
     .type = OPT_STR,
     .offset = AT(ns),
     .arg = "NAME",
     .help =
         "Namespace of the operator's records and lease; default: namespace of the pod or of the context"},
    {.flag = "watch-namespace",
     .type = OPT_STR,
     .offset = AT(watch_ns),
     .arg = "NAME",
     .help = "Watch only this namespace, without access to nodes; default: all namespaces"},
    {.flag = "kubeconfig",
     .type = OPT_STR,
     .offset = AT(kubeconfig),
     .arg = "FILE",
     .help = "Kubeconfig file; default: service account of the pod, then KUBECONFIG, then ~/.kube/config"},
    {.flag = "context",
     .type = OPT_STR,
     .offset = AT(context),
     .arg = "NAME",
     .help = "Context of the kubeconfig"},
    {.flag = "lease-name",
     .type = OPT_STR,
     .offset = AT(lease_name),
     .fallback = "ipu-operator",
     .arg = "NAME",
     .help = "Name of the leader election Lease"},
    {.flag = "pod-name",
     .env = "POD_NAME",
     .type = OPT_STR,
     .offset = AT(pod_name),
     .arg = "NAME",
     .help = "Name of this process in events (reportingInstance); default: ipu-operator"},
    {.flag = "pod-address",
     .env = "POD_IP",
     .type = OPT_STR,
     .offset = AT(pod_address),
     .arg = "ADDRESS",
     .help = "Address of this pod, at which standbys reach the leader; default: standbys do not forward "
             "requests to the leader"},
    {.flag = "launcher-image",
     .env = "IPU_OPERATOR_LAUNCHER_IMAGE",
     .type = OPT_STR,
     .offset = AT(launcher_image),
     .fallback = "docker.io/ipu-operator/ipu-launch:" IPU_OPERATOR_VERSION,
     .arg = "IMAGE",
     .help = "Image with ipu-launch, which an init container copies into job pods"},
    {.flag = "launcher-pull-policy",
     .type = OPT_STR,
     .offset = AT(launcher_pull_policy),
     .fallback = "IfNotPresent",
     .arg = "POLICY",
     .help = "Pull policy of the launcher image: Always, IfNotPresent or Never"},
    {.flag = "pull-secrets",
     .type = OPT_STR,
     .offset = AT(pull_secrets),
     .arg = "NAMES",
     .help = "Comma-separated names of image pull secrets for job pods"},
    {.flag = "host-network",
     .type = OPT_FLAG,
     .offset = AT(host_network),
     .fallback = "false",
     .help = "Run job pods in the network of their node, unless their template says otherwise"},
    {.flag = "network-policy",
     .type = OPT_FLAG,
     .offset = AT(network_policy),
     .fallback = "true",
     .help = "Create a NetworkPolicy that allows only traffic between the pods of a job, for jobs with a "
             "launcher"},
    {.flag = "mpi-network",
     .type = OPT_STR,
     .offset = AT(mpi_network),
     .arg = "NETWORK",
     .help = "Network for MPI between pods, as a CIDR such as 10.0.0.0/8 or as an interface name; default: "
             "selected by MPI"},
    {.flag = "health-port",
     .type = OPT_U32,
     .offset = AT(health_port),
     .fallback = "8081",
     .arg = "PORT",
     .help = "Port for /healthz and /readyz; 0 selects a free port",
     .min = 0,
     .max = 65535},
    {.flag = "metrics",
     .type = OPT_STR,
     .offset = AT(metrics),
     .fallback = "secure",
     .arg = "HOW",
     .help = "How to serve /metrics: secure (TLS with authorization), plain (on the health port, without "
             "either) or off"},
    {.flag = "metrics-port",
     .type = OPT_U32,
     .offset = AT(metrics_port),
     .fallback = "8443",
     .arg = "PORT",
     .help = "Port for /metrics in secure mode; 0 selects a free port",
     .min = 0,
     .max = 65535},
    {.flag = "metrics-hosts",
     .type = OPT_STR,
     .offset = AT(metrics_hosts),
     .fallback = "localhost",
     .arg = "NAMES",
     .help = "Comma-separated host names for the generated /metrics certificate"},
    {.flag = "metrics-certificate",
     .type = OPT_STR,
     .offset = AT(metrics_certificate),
     .arg = "FOLDER",
     .help = "Directory with tls.crt and tls.key for /metrics, reloaded when they change; default: a "
             "generated certificate"},
    {.flag = "admission",
     .type = OPT_STR,
     .offset = AT(admission),
     .arg = "NAME",
     .help = "Serve the admission webhooks. Name of both webhook configurations, whose caBundle the operator "
             "updates, and of the Secret with the certificate; default: no webhooks"},
    {.flag = "admission-certificate",
     .type = OPT_STR,
     .offset = AT(admission_certificate),
     .arg = "SECRET",
     .help = "Secret with the webhook certificate (tls.crt, tls.key and ca.crt) if another program such as "
             "cert-manager creates and renews it; default: the operator does, in its own Secret"},
    {.flag = "admission-hosts",
     .type = OPT_STR,
     .offset = AT(admission_hosts),
     .fallback = "localhost",
     .arg = "NAMES",
     .help = "Comma-separated host names by which the API server reaches the webhooks"},
    {.flag = "admission-port",
     .type = OPT_U32,
     .offset = AT(admission_port),
     .fallback = "9443",
     .arg = "PORT",
     .help = "Port for the admission webhooks; 0 selects a free port",
     .min = 0,
     .max = 65535},
    {.flag = "log-level",
     .type = OPT_STR,
     .offset = AT(log_level),
     .fallback = "info",
     .arg = "LEVEL",
     .help = "Minimum log level: debug, info, warn or error"},
    {.flag = "log-format",
     .type = OPT_STR,
     .offset = AT(log_format),
     .fallback = "text",
     .arg = "FORMAT",
     .help = "Log format: text or json"},
    {.flag = "partition-prefix",
     .type = OPT_STR,
     .offset = AT(partition_prefix),
     .fallback = "p",
     .arg = "TEXT",
     .help = "Prefix of partition IDs; must be unique per V-IPU controller"},
    {.flag = "hold-seconds",
     .type = OPT_U32,
     .offset = AT(hold_s),
     .fallback = "300",
     .arg = "SECONDS",
     .help = "Seconds to hold a partition whose processes may still be running",
     .min = 0,
     .max = 86400},
    {.flag = "trouble-seconds",
     .type = OPT_U32,
     .offset = AT(trouble_s),
     .fallback = "30",
     .arg = "SECONDS",
     .help = "Seconds that a running instance may have a failed or missing partition before its restart "
             "policy applies. V-IPU recovers by resets, and poprun re-creates partitions",
     .min = 0,
     .max = 86400},
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

static void check(const struct options *o, struct strv *problems)
{
    static const char *const policies[] = {"Always", "IfNotPresent", "Never", NULL};
    static const char *const formats[] = {"text", "json", NULL};
    enum log_level level;

    check_word("launcher-pull-policy", o->launcher_pull_policy, policies, problems);
    check_word("log-format", o->log_format, formats, problems);
    check_word("metrics", o->metrics, METRICS_WORDS, problems);
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
    AUTO(strv) struct strv words = {0};
    enum opts_result result = opts_parse(&OPTIONS_SPEC, argc, argv, env, false, ret, &words, problems);

    if (result == OPTS_HELP || result == OPTS_VERSION)
        return result;
    for (size_t i = 0; i < words.count; i++)
        strv_pushf(problems, "unexpected argument \"%s\"; see --help", words.items[i]);
    check(ret, problems);
    read_config(ret, problems);
    return problems->count ? OPTS_BAD : OPTS_RUN;
}

void options_release(struct options *options)
{
    pool_config_release(&options->controllers);
    opts_release(&OPTIONS_SPEC, options);
}
