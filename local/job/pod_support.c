#include "local/job/pod_support.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/suggest.h"
#include "base/io/file.h"
#include "operator/api/field.h"
#include "operator/api/pod/pod_overlay.h"

/* The same with both engines. */
#define BOTH(path_, how_, why_)                                                                              \
    {                                                                                                        \
        path_,                                                                                               \
        {                                                                                                    \
            {how_, why_}, {how_, why_},                                                                      \
        }                                                                                                    \
    }
#define HONOURED(path_) BOTH(path_, SUPPORT_HONOURED, NULL)
#define APPROXIMATED(path_, why_) BOTH(path_, SUPPORT_APPROXIMATED, why_)
#define IGNORED(path_, why_) BOTH(path_, SUPPORT_IGNORED, why_)
#define REJECTED(path_, why_) BOTH(path_, SUPPORT_REJECTED, why_)
/* Otherwise: what a process of this machine has of it, and what a container of podman. */
#define AS_PROCESS(path_, how_, why_)                                                                        \
    {                                                                                                        \
        path_,                                                                                               \
        {                                                                                                    \
            {                                                                                                \
                SUPPORT_##how_, why_                                                                         \
            }
#define AS_IMAGE(how_, why_)                                                                                 \
    {                                                                                                        \
        SUPPORT_##how_, why_                                                                                 \
    }                                                                                                        \
    }                                                                                                        \
    }

/* The longest path that fits decides. Paths of containers[] are those of initContainers[] as well. */
const struct pod_support_row pod_support_rows[] = {
    HONOURED("containers[].name"),
    AS_PROCESS("containers[].image", APPROXIMATED,
               "the programs and files of this machine are used; --bind adds others"),
    AS_IMAGE(HONOURED, NULL),
    AS_PROCESS("containers[].imagePullPolicy", IGNORED, "no image is pulled"),
    AS_IMAGE(HONOURED, NULL),
    HONOURED("containers[].command"),
    HONOURED("containers[].args"),
    HONOURED("containers[].env[].name"),
    HONOURED("containers[].env[].value"),
    HONOURED("containers[].env[].valueFrom.configMapKeyRef"),
    HONOURED("containers[].env[].valueFrom.secretKeyRef"),
    HONOURED("containers[].env[].valueFrom.fieldRef"),
    REJECTED("containers[].env[].valueFrom.resourceFieldRef", "write the value"),
    REJECTED("containers[].env[].valueFrom.fileKeyRef", "write the value"),
    HONOURED("containers[].envFrom"),
    HONOURED("containers[].workingDir"),
    HONOURED("containers[].volumeMounts"),
    IGNORED("containers[].volumeMounts[].mountPropagation", "later mounts are not passed on"),
    REJECTED("containers[].volumeDevices", "there are no block devices; use a hostPath volume"),
    HONOURED("containers[].restartPolicy"),
    HONOURED("containers[].terminationMessagePath"),
    HONOURED("containers[].terminationMessagePolicy"),
    APPROXIMATED("containers[].startupProbe",
                 "a command is repeated every 100 ms until it succeeds; others pass"),
    APPROXIMATED("containers[].readinessProbe", "as startupProbe"),
    IGNORED("containers[].livenessProbe", "no container is restarted"),
    REJECTED("containers[].lifecycle", "start the command from the container's own"),
    APPROXIMATED("containers[].ports", "ports of this machine; with several pods they are rejected"),
    AS_PROCESS("containers[].resources.limits.memory", APPROXIMATED,
               "holds where the user of ipu-run can make control groups"),
    AS_IMAGE(APPROXIMATED, "holds where podman can set it"),
    AS_PROCESS("containers[].resources", IGNORED, "processes may use the whole machine, except for memory"),
    AS_IMAGE(APPROXIMATED, "limits of cpu and memory hold where podman can set them"),
    AS_PROCESS("containers[].securityContext", IGNORED, "processes run as the user of ipu-run"),
    AS_IMAGE(APPROXIMATED, "runAsUser and runAsGroup are honoured, the rest is podman's default"),
    REJECTED("containers[].stdin", "standard input is empty"),
    REJECTED("containers[].stdinOnce", "standard input is empty"),
    REJECTED("containers[].tty", "output is not a terminal"),
    HONOURED("restartPolicy"),
    HONOURED("terminationGracePeriodSeconds"),
    HONOURED("activeDeadlineSeconds"),
    HONOURED("hostname"),
    HONOURED("subdomain"),
    HONOURED("hostAliases"),
    APPROXIMATED("hostNetwork", "all pods use this machine's network, whatever is given"),
    HONOURED("volumes[].name"),
    APPROXIMATED("volumes[].emptyDir", "a directory of the run, without limit of size"),
    HONOURED("volumes[].configMap"),
    HONOURED("volumes[].secret"),
    HONOURED("volumes[].hostPath"),
    HONOURED("volumes[].downwardAPI"),
    HONOURED("volumes[].projected.sources[].configMap"),
    HONOURED("volumes[].projected.sources[].secret"),
    HONOURED("volumes[].projected.sources[].downwardAPI"),
    IGNORED("volumes[].projected.defaultMode", "files have mode 0644"),
    REJECTED("volumes[]", "replace it by a hostPath volume, or by --bind"),
    IGNORED("affinity", "there is one node"),
    IGNORED("nodeSelector", "there is one node"),
    IGNORED("nodeName", "there is one node"),
    IGNORED("tolerations", "there is one node"),
    IGNORED("topologySpreadConstraints", "there is one node"),
    IGNORED("schedulerName", "there is one node"),
    IGNORED("runtimeClassName", "pods are processes"),
    IGNORED("overhead", "pods are processes"),
    IGNORED("resources", "processes may use the whole machine"),
    HONOURED("priorityClassName"),
    IGNORED("preemptionPolicy", "no pod is evicted"),
    AS_PROCESS("imagePullSecrets", IGNORED, "no image is pulled"),
    AS_IMAGE(IGNORED, "podman login gives the access"),
    AS_PROCESS("securityContext", IGNORED, "processes run as the user of ipu-run"),
    AS_IMAGE(APPROXIMATED, "runAsUser and runAsGroup are honoured, the rest is podman's default"),
    IGNORED("serviceAccountName", "there is no API server for pods"),
    IGNORED("serviceAccount", "there is no API server for pods"),
    IGNORED("automountServiceAccountToken", "there is no API server for pods"),
    IGNORED("enableServiceLinks", "there are no Services"),
    IGNORED("dnsPolicy", "names are resolved as on this machine"),
    IGNORED("dnsConfig", "names are resolved as on this machine"),
    IGNORED("setHostnameAsFQDN", "the host name is the short one"),
    AS_PROCESS("shareProcessNamespace", IGNORED, "processes see all of this machine's"),
    AS_IMAGE(IGNORED, "each container sees its own processes"),
    AS_PROCESS("hostPID", IGNORED, "processes see all of this machine's"),
    AS_IMAGE(IGNORED, "each container sees its own processes"),
    AS_PROCESS("hostIPC", IGNORED, "processes share this machine's"),
    AS_IMAGE(IGNORED, "each container has its own"),
    AS_PROCESS("hostUsers", IGNORED, "processes run as the user of ipu-run"),
    AS_IMAGE(IGNORED, "podman maps the users"),
    IGNORED("os", "it is this machine's"),
    IGNORED("readinessGates", "no other program sets them"),
    REJECTED("schedulingGates", "no other program removes them"),
    {0},
};

const char *pod_support_name(enum pod_support_kind how)
{
    static const char *const names[] = {"honoured", "approximated", "ignored", "rejected"};

    return names[how];
}

char *pod_support_line(enum pod_support_kind how, const char *what, const char *why)
{
    return mem_printf("%-13s %-36s  %s", pod_support_name(how), what, why);
}

/* A path without the numbers of items, and with one name for the two lists of containers. */
static char *pattern_of(const char *path)
{
    struct str out = {0};

    if (str_has_prefix(path, "initContainers")) {
        str_addc(&out, 'c');
        path += strlen("initC");
    }
    for (bool is_inside = false; *path; path++) {
        is_inside = is_inside && *path != ']';
        if (!is_inside)
            str_addc(&out, *path);
        is_inside = is_inside || *path == '[';
    }
    return str_take(&out);
}

static bool is_below(const char *pattern, const char *path)
{
    size_t len = strlen(path);

    return strncmp(pattern, path, len) == 0 &&
           (!pattern[len] || strchr(".[", pattern[len]) || path[len - 1] == ']');
}

static const struct pod_support_row *find_row(const char *pattern)
{
    const struct pod_support_row *best = NULL;

    for (const struct pod_support_row *row = pod_support_rows; row->path; row++)
        if (is_below(pattern, row->path) && (!best || strlen(row->path) > strlen(best->path)))
            best = row;
    return best;
}

/* Whether rows say something of what is below this path. */
static bool is_divided(const char *pattern)
{
    for (const struct pod_support_row *row = pod_support_rows; row->path; row++)
        if (is_below(row->path, pattern) && strlen(row->path) > strlen(pattern))
            return true;
    return false;
}

/* Of what is divided: whether it is a list, and not an object. */
static bool is_list(const char *pattern)
{
    for (const struct pod_support_row *row = pod_support_rows; row->path; row++)
        if (str_has_prefix(row->path, pattern) && row->path[strlen(pattern)] == '[')
            return true;
    return false;
}

struct check {
    const struct object *job;
    const char *where; /* the pod's spec, in the job */
    enum engine engine;
    bool is_strict;
    struct strv *notes, *problems;
};

static void report(const struct check *check, const char *path, const char *what)
{
    AUTO(mem) char *problem = mem_printf("%s.%s: %s", check->where, path, what);

    object_add_problem(check->job, problem, check->problems);
}

/* By validation, or here: of a value of the wrong type, nothing else is told. */
static bool is_reported(const struct check *check, const char *path)
{
    AUTO(mem) char *place = mem_printf("%s.%s: ", check->where, path);

    for (size_t i = 0; i < check->problems->count; i++)
        if (strstr(check->problems->items[i], place))
            return true;
    return false;
}

static void note(const struct check *check, const struct pod_support_row *row, const char *path)
{
    const struct pod_support *support = &row->of[check->engine];
    AUTO(mem) char *line = pod_support_line(support->how, row->path, support->why);
    AUTO(mem) char *problem = mem_printf("%s; %s", pod_support_name(support->how), support->why);

    if (check->is_strict && support->how == SUPPORT_IGNORED)
        report(check, path, problem);
    else if (!strv_has(check->notes, line))
        strv_push(check->notes, line);
}

/* k8s.io/api/core/v1, VolumeSource and VolumeProjection: what the row volumes[] rejects. */
static const char REJECTED_VOLUMES[] =
    "awsElasticBlockStore azureDisk azureFile cephfs cinder clusterTrustBundle csi ephemeral fc flexVolume "
    "flocker gcePersistentDisk gitRepo glusterfs image iscsi nfs persistentVolumeClaim photonPersistentDisk "
    "podCertificate portworxVolume quobyte rbd scaleIO serviceAccountToken storageos vsphereVolume";

/* The fields beside this one, from the rows. */
static void list_siblings(const char *pattern, struct strv *siblings)
{
    const char *dot = strrchr(pattern, '.');
    size_t len = dot ? (size_t)(dot + 1 - pattern) : 0;

    for (const struct pod_support_row *row = pod_support_rows; row->path; row++)
        if (strncmp(row->path, pattern, len) == 0)
            strv_push_take(siblings, mem_strndup(row->path + len, strcspn(row->path + len, ".[")));
    if (str_has_prefix(pattern, "volumes[]."))
        strv_split(REJECTED_VOLUMES, ' ', siblings);
}

static void report_unknown(const struct check *check, const char *path, const char *pattern)
{
    const char *dot = strrchr(pattern, '.');
    struct suggest suggest = suggest_init(dot ? dot + 1 : pattern);
    AUTO(strv) struct strv siblings = {0};
    AUTO(mem) char *what = NULL;

    list_siblings(pattern, &siblings);
    for (size_t i = 0; i < siblings.count; i++)
        suggest_candidate(&suggest, siblings.items[i]);
    if (suggest_best(&suggest))
        what = mem_printf("Forbidden: unknown field; did you mean %s?", suggest_best(&suggest));
    report(check, path, what ? what : "Forbidden: unknown field");
}

static bool is_rejected_volume(const char *pattern)
{
    AUTO(strv) struct strv names = {0};

    strv_split(REJECTED_VOLUMES, ' ', &names);
    return strv_has(&names, strrchr(pattern, '.') + 1);
}

static void check_field(const struct check *check, const cJSON *node, const char *path);

static void check_children(const struct check *check, const cJSON *node, const char *path)
{
    int index = 0;

    JSON_EACH (child, node) {
        AUTO(mem)
        char *below = cJSON_IsArray(node) ? mem_printf("%s[%d]", path, index++)
                                          : mem_printf("%s%s%s", path, *path ? "." : "", json_key(child));

        /* Written in a path, such a key would be read as another field's place. */
        if (!cJSON_IsObject(node) || !strpbrk(json_key(child), ".["))
            check_field(check, child, below);
        else if (str_has_suffix(path, ".resources.limits")) /* example.com/device */
            note(check, find_row("containers[].resources"), below);
        else
            report(check, below, "Forbidden: unknown field");
    }
}

static void check_field(const struct check *check, const cJSON *node, const char *path)
{
    AUTO(mem) char *pattern = pattern_of(path);
    const struct pod_support_row *row = find_row(pattern);

    if (cJSON_IsNull(node))
        return;
    if (is_divided(pattern)) {
        if (is_list(pattern) ? cJSON_IsArray(node) : cJSON_IsObject(node))
            check_children(check, node, path);
        else if (!is_reported(check, path))
            report(check, path,
                   is_list(pattern) ? "Invalid value: must be a list" : "Invalid value: must be an object");
    } else if (!row || (str_eq(row->path, "volumes[]") && !is_rejected_volume(pattern))) {
        report_unknown(check, path, pattern);
    } else if (row->of[check->engine].how == SUPPORT_REJECTED) {
        AUTO(mem) char *what = mem_printf("not possible without a cluster; %s", row->of[check->engine].why);

        report(check, path, what);
    } else if (row->of[check->engine].how != SUPPORT_HONOURED) {
        note(check, row, path);
    }
}

/* NULL: it is no list. */
static const cJSON *items_of(const cJSON *spec, const char *list)
{
    const cJSON *items = json_at(spec, list);

    return cJSON_IsArray(items) ? items : NULL;
}

/* What an image would do without a command is not known here. */
static void check_commands(const struct check *check, const cJSON *spec, const char *list,
                           bool may_first_lack)
{
    int index = 0;

    JSON_EACH (container, items_of(spec, list)) {
        const cJSON *command = json_at(container, "command");
        bool may_lack = may_first_lack && index == 0 && !json_at(container, "args");
        AUTO(mem) char *path = mem_printf("%s[%d].command", list, index++);

        may_lack = may_lack || check->engine == ENGINE_PODMAN;
        if (!may_lack && !(cJSON_IsArray(command) && command->child) && !is_reported(check, path))
            report(check, path, "Required value: the image's own command is known with --engine podman only");
    }
}

/* Processes need no image, but a cluster does. */
static void check_images(const struct check *check, const cJSON *spec, const char *list, bool may_first_lack)
{
    AUTO(mem)
    char *line =
        pod_support_line(SUPPORT_IGNORED, "containers[].image is missing", "a cluster would reject the job");
    int index = 0;

    JSON_EACH (container, items_of(spec, list)) {
        bool may_lack = may_first_lack && index == 0;
        AUTO(mem) char *path = mem_printf("%s[%d].image", list, index++);

        if (may_lack || *json_str(container, "image", ""))
            continue;
        if (check->is_strict || check->engine == ENGINE_PODMAN)
            report(check, path, "Required value");
        else if (!strv_has(check->notes, line))
            strv_push(check->notes, line);
    }
}

static void check_pull_policies(const struct check *check, const cJSON *spec, const char *list)
{
    static const char *const policies[] = {"Always", "IfNotPresent", "Never"};
    int index = 0;

    JSON_EACH (container, items_of(spec, list)) {
        const cJSON *policy = field_at(container, "imagePullPolicy");
        const char *text = policy && cJSON_IsString(policy) ? policy->valuestring : "";
        AUTO(mem) char *path = mem_printf("%s[%d].imagePullPolicy", list, index++);
        AUTO(mem)
        char *what = mem_printf("Unsupported value: \"%.60s\": supported values: \"Always\", "
                                "\"IfNotPresent\", \"Never\"",
                                text);
        bool is_known = !policy;

        for (size_t i = 0; i < COUNT_OF(policies); i++)
            is_known = is_known || str_eq(text, policies[i]);
        if (!is_known)
            report(check, path, what);
    }
}

static bool has_volume(const cJSON *volumes, const char *name)
{
    JSON_EACH (volume, volumes) {
        if (str_eq(json_str(volume, "name", ""), name))
            return true;
    }
    return false;
}

static void check_mounts(const struct check *check, const cJSON *spec, const char *list, const cJSON *volumes)
{
    int container_index = 0;

    JSON_EACH (container, items_of(spec, list)) {
        int index = 0;

        JSON_EACH (mount, json_at(container, "volumeMounts")) {
            const char *name = json_str(mount, "name", "");
            const char *field = json_at(mount, "subPathExpr") ? "subPathExpr" : "subPath";
            const char *sub = json_str(mount, field, "");
            AUTO(mem)
            char *sub_path = mem_printf("%s[%d].volumeMounts[%d].%s", list, container_index, index, field);
            AUTO(mem) char *path = mem_printf("%s[%d].volumeMounts[%d].name", list, container_index, index++);
            AUTO(mem) char *what = mem_printf("Not found: \"%s\"", name);

            if (!has_volume(volumes, name))
                report(check, path, what);
            else if (*sub && !file_path_is_inside(sub))
                report(check, sub_path, "Invalid value: must be a relative path without \"..\"");
        }
        container_index++;
    }
}

/* Of one instance, or of several workers: the first pod would have the port. */
static void check_ports(const struct check *check, const cJSON *spec)
{
    const cJSON *job = json_at(check->job->doc, "spec");
    uint32_t instances = 1, workers = 1;
    int container_index = 0;

    (void)field_count_read(json_at(job, "jobInstances"), &instances);
    (void)field_count_read(json_at(job, "workersPerJobInstance"), &workers);
    JSON_EACH (container, items_of(spec, "containers")) {
        const cJSON *ports = json_at(container, "ports");
        AUTO(mem) char *path = mem_printf("containers[%d].ports", container_index++);

        AUTO(mem)
        char *what =
            mem_printf("not possible without a cluster: several pods would use the same port of this "
                       "machine; run one pod, with%s%s",
                       instances > 1 ? " --set spec.jobInstances=1" : "",
                       workers > 1 ? " --set spec.workersPerJobInstance=1" : "");

        if (ports && ports->child && (instances > 1 || workers > 1))
            report(check, path, what);
    }
}

/* `whole` is what the pod's spec is with what it inherits: a launcher has all that it does not name. */
static void check_pod(const struct check *check, const cJSON *spec, const cJSON *whole, bool may_lack_command)
{
    static const char *const lists[] = {"initContainers", "containers"};
    bool is_launcher = spec != whole;

    check_children(check, spec, "");
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        bool is_main = i == 1;

        check_commands(check, spec, lists[i], is_main && may_lack_command);
        check_images(check, spec, lists[i], is_main && is_launcher);
        check_pull_policies(check, spec, lists[i]);
        check_mounts(check, spec, lists[i], json_at(whole, "volumes"));
    }
}

void pod_support_check(const struct object *job, enum engine engine, bool is_strict, struct strv *notes,
                       struct strv *problems)
{
    struct check check = {.job = job,
                          .engine = engine,
                          .where = "spec.workers.template.spec",
                          .is_strict = is_strict,
                          .notes = notes,
                          .problems = problems};
    const cJSON *launcher = json_at(job->doc, "spec/launcher");
    const cJSON *workers = json_at(job->doc, "spec/workers/template/spec");
    AUTO(json) cJSON *made = NULL;

    check_pod(&check, workers, workers, launcher || json_at(job->doc, "spec/interactive"));
    check_ports(&check, workers);
    if (!json_at(launcher, "template/spec"))
        return;
    check.where = "spec.launcher.template.spec";
    made = pod_overlay_spec(workers, launcher);
    check_pod(&check, json_at(launcher, "template/spec"), made, true);
}
