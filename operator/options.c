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
         "Folder with the Secrets of V-IPU controllers, one folder for each, named like it: files user-id, "
         "access-key and ca.crt; job-user-id and job-access-key for job pods. Changes are noticed"},
    {.flag = "namespace",
     .env = "IPU_OPERATOR_NAMESPACE",
     .type = OPT_STR,
     .offset = AT(ns),
     .arg = "NAME",
     .help = "Namespace of the operator's own records and lease; default: the pod's, or the context's"},
    {.flag = "watch-namespace",
     .type = OPT_STR,
     .offset = AT(watch_ns),
     .arg = "NAME",
     .help =
         "Run the jobs of this namespace alone, without looking at nodes, so that no right is needed beyond "
         "it; default: all namespaces"},
    {.flag = "kubeconfig",
     .type = OPT_STR,
     .offset = AT(kubeconfig),
     .arg = "FILE",
     .help = "How to reach the API server; default: the pod's service account, then KUBECONFIG, then "
             "~/.kube/config"},
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
     .help = "Lease that says which of several operators is at work"},
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
     .help = "Address at which replicas reach each other: standbys ask the leader what only it knows; "
             "default: they "
             "do not"},
    {.flag = "launcher-image",
     .env = "IPU_OPERATOR_LAUNCHER_IMAGE",
     .type = OPT_STR,
     .offset = AT(launcher_image),
     .fallback = "docker.io/ipu-operator/ipu-launch:" IPU_OPERATOR_VERSION,
     .arg = "IMAGE",
     .help = "Image with ipu-launch, copied into job pods by an init container"},
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
     .help = "Names of image pull secrets that job pods get, separated by commas"},
    {.flag = "host-network",
     .type = OPT_FLAG,
     .offset = AT(host_network),
     .fallback = "false",
     .help = "Job pods use their node's network, unless their template says otherwise"},
    {.flag = "network-policy",
     .type = OPT_FLAG,
     .offset = AT(network_policy),
     .fallback = "true",
     .help = "Pods of a job with a launcher get a NetworkPolicy that lets in each other alone"},
    {.flag = "mpi-network",
     .type = OPT_STR,
     .offset = AT(mpi_network),
     .arg = "NETWORK",
     .help =
         "Network that MPI uses between pods, as 10.0.0.0/8 or as the name of an interface; default: MPI's "
         "choice"},
    {.flag = "health-port",
     .type = OPT_U32,
     .offset = AT(health_port),
     .fallback = "8081",
     .arg = "PORT",
     .help = "Port of /healthz and /readyz; 0 picks a free one",
     .min = 0,
     .max = 65535},
    {.flag = "metrics",
     .type = OPT_STR,
     .offset = AT(metrics),
     .fallback = "secure",
     .arg = "HOW",
     .help = "Who may read /metrics: secure (over TLS, and only whom the cluster allows to), plain "
             "(everybody, on "
             "the health port) or off"},
    {.flag = "metrics-port",
     .type = OPT_U32,
     .offset = AT(metrics_port),
     .fallback = "8443",
     .arg = "PORT",
     .help = "Port of the secure /metrics; 0 picks a free one",
     .min = 0,
     .max = 65535},
    {.flag = "metrics-hosts",
     .type = OPT_STR,
     .offset = AT(metrics_hosts),
     .fallback = "localhost",
     .arg = "NAMES",
     .help = "Names in the certificate that the operator makes for /metrics, separated by commas"},
    {.flag = "metrics-certificate",
     .type = OPT_STR,
     .offset = AT(metrics_certificate),
     .arg = "FOLDER",
     .help =
         "Folder with tls.crt and tls.key for /metrics, read again when they change; default: the operator "
         "makes its own"},
    {.flag = "admission",
     .type = OPT_STR,
     .offset = AT(admission),
     .arg = "NAME",
     .help =
         "Serve the admission webhooks: name of both webhook configurations, whose CA is kept up to date, "
         "and of the Secret with the certificate; default: no webhooks"},
    {.flag = "admission-certificate",
     .type = OPT_STR,
     .offset = AT(admission_certificate),
     .arg = "SECRET",
     .help = "Secret with the webhooks' certificate (tls.crt, tls.key and ca.crt), if somebody else makes "
             "and renews it, such as cert-manager; default: the operator does, in a Secret of its own"},
    {.flag = "admission-hosts",
     .type = OPT_STR,
     .offset = AT(admission_hosts),
     .fallback = "localhost",
     .arg = "NAMES",
     .help = "Names by which the API server reaches the webhooks, separated by commas"},
    {.flag = "admission-port",
     .type = OPT_U32,
     .offset = AT(admission_port),
     .fallback = "9443",
     .arg = "PORT",
     .help = "Port of the admission webhooks; 0 picks a free one",
     .min = 0,
     .max = 65535},
    {.flag = "log-level",
     .type = OPT_STR,
     .offset = AT(log_level),
     .fallback = "info",
     .arg = "LEVEL",
     .help = "Least level that is logged: debug, info, warn or error"},
    {.flag = "log-format",
     .type = OPT_STR,
     .offset = AT(log_format),
     .fallback = "text",
     .arg = "FORMAT",
     .help = "text or json"},
    {.flag = "partition-prefix",
     .type = OPT_STR,
     .offset = AT(partition_prefix),
     .fallback = "p",
     .arg = "TEXT",
     .help = "First part of every partition id; tells installations apart that share a V-IPU controller"},
    {.flag = "hold-seconds",
     .type = OPT_U32,
     .offset = AT(hold_s),
     .fallback = "300",
     .arg = "SECONDS",
     .help = "How long IPUs are kept from others when a process may still run on them",
     .min = 0,
     .max = 86400},
    {.flag = "trouble-seconds",
     .type = OPT_U32,
     .offset = AT(trouble_s),
     .fallback = "30",
     .arg = "SECONDS",
     .help = "How long a running instance may have a partition that is in error or gone before its restart "
             "policy "
             "is asked; V-IPU resets by itself, and poprun makes partitions anew",
     .min = 0,
     .max = 86400},
    {0},
};

const struct opts_spec OPTIONS_SPEC = {
    .program = "ipu-operator",
    .usage = "ipu-operator [options]\n"
             "       ipu-operator partitions | release PARTITION | adopt PARTITION --job NAMESPACE/NAME\n"
             "       ipu-operator self-check | apply-crd | before-uninstall",
    .about = "Runs IPUJobs: gives each instance a partition of IPUs from a V-IPU controller, starts its "
             "pods, and gives "
             "the IPUs back when it is over. Needs the IPUJob resource (kubectl apply -f the chart's crds/) "
             "and, in a "
             "cluster, the roles that the chart ipu-operator installs.",
    .rows = ROWS,
};

static void check_word(const char *flag, const char *value, const char *const *known, struct strv *problems)
{
    for (const char *const *k = known; *k; k++) {
        if (str_eq(*k, value))
            return;
    }
    strv_pushf(problems, "--%s: \"%s\" is not known; see --help", flag, value);
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
        strv_pushf(problems, "--log-level: \"%s\" is not known; use debug, info, warn or error",
                   o->log_level);
    if (strspn(o->partition_prefix, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(o->partition_prefix) ||
        !*o->partition_prefix || strlen(o->partition_prefix) > 16 || o->partition_prefix[0] == '-')
        strv_pushf(
            problems,
            "--partition-prefix: must be at most 16 lower-case letters, digits and dashes, beginning with a "
            "letter or digit, got \"%s\"",
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
        strv_pushf(problems, "\"%s\" is no option; see --help", words.items[i]);
    check(ret, problems);
    read_config(ret, problems);
    return problems->count ? OPTS_BAD : OPTS_RUN;
}

void options_release(struct options *options)
{
    pool_config_release(&options->controllers);
    opts_release(&OPTIONS_SPEC, options);
}
