#include "operator/api/pod/pod_common.h"

#include "base/core/mem.h"
#include "operator/api/names.h"

/* ---- words of JSON ---- */

cJSON *pod_common_array(cJSON *object, const char *key)
{
    cJSON *array = json_at_mut(object, key);

    return cJSON_IsArray(array) ? array : json_put_array(object, key);
}

cJSON *pod_common_object(cJSON *object, const char *key)
{
    cJSON *child = json_at_mut(object, key);

    return cJSON_IsObject(child) ? child : json_put_object(object, key);
}

void pod_common_default_str(cJSON *object, const char *key, const char *value)
{
    if (cJSON_IsObject(object) &&
        !cJSON_GetObjectItemCaseSensitive(object, key)) /* a key, not a path: label keys contain slashes */
        json_put_str(object, key, value);
}

/* ---- ipu-launch ---- */

cJSON *pod_common_mount(cJSON *container, const char *volume, const char *path, bool read_only)
{
    cJSON *mount = json_push_take(pod_common_array(container, "volumeMounts"), json_object());

    json_put_str(mount, "name", volume);
    json_put_str(mount, "mountPath", path);
    if (read_only)
        json_put_bool(mount, "readOnly", true);
    return mount;
}

void pod_common_wrap(cJSON *container, const char *verb, const cJSON *command)
{
    cJSON *wrapped = json_array();

    json_push_str(wrapped, IPU_LAUNCH_PROGRAM);
    json_push_str(wrapped, verb);
    if (cJSON_IsArray(command) && command->child)
        json_push_str(wrapped, "--");
    JSON_EACH (word, command)
        json_push_take(wrapped, json_dup(word));
    json_put_take(container, "command", wrapped);
}

/* Gives the init container the resources of the first container. The two never run at the same time, so that
 * the pod's total and its QoS class stay the same, and a LimitRange or quota that accepts the pod without the
 * init container accepts it with it. */
static void copy_resources(cJSON *container, const cJSON *first)
{
    static const char *const kinds[] = {"requests", "limits"};
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage"};

    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        const cJSON *asked = json_at(json_at(first, "resources"), kinds[k]);

        for (size_t n = 0; n < COUNT_OF(names); n++) {
            const cJSON *amount = json_at(asked, names[n]);

            if (amount)
                json_put_take(pod_common_object(pod_common_object(container, "resources"), kinds[k]),
                              names[n], json_dup(amount));
        }
    }
}

/* Meets the Pod Security Standard "restricted". */
static cJSON *launcher_container(const cJSON *first, const struct pod_spec_options *options)
{
    cJSON *container = json_object();
    cJSON *args, *context, *capabilities;

    json_put_str(container, "name", NAME_LAUNCHER_PART);
    json_put_str(container, "image", options->launcher_image);
    json_put_str(container, "imagePullPolicy", options->launcher_pull_policy);
    args = json_put_array(container, "args");
    json_push_str(args, "install");
    json_push_str(args, IPU_LAUNCH_DIR);
    pod_common_mount(container, NAME_LAUNCHER_PART, IPU_LAUNCH_DIR, false);
    copy_resources(container, first);
    context = json_put_object(container, "securityContext");
    json_put_i64(context, "runAsUser", 65532);
    json_put_bool(context, "runAsNonRoot", true);
    json_put_bool(context, "allowPrivilegeEscalation", false);
    json_put_bool(context, "readOnlyRootFilesystem", true);
    capabilities = json_put_object(context, "capabilities");
    json_push_str(json_put_array(capabilities, "drop"), "ALL");
    json_put_str(json_put_object(context, "seccompProfile"), "type", "RuntimeDefault");
    return container;
}

static void put_launcher_first(cJSON *spec, const struct pod_spec_options *options)
{
    const cJSON *first = json_at(spec, "containers")->child;

    cJSON_InsertItemInArray(pod_common_array(spec, "initContainers"), 0, launcher_container(first, options));
}

static void add_launcher_volume(cJSON *spec)
{
    cJSON *volume = json_push_take(pod_common_array(spec, "volumes"), json_object());

    json_put_str(volume, "name", NAME_LAUNCHER_PART);
    json_put_str(json_put_object(volume, "emptyDir"), "sizeLimit", "64Mi");
}

void pod_common_add_launcher(cJSON *spec, const struct pod_spec_options *options)
{
    put_launcher_first(spec, options);
    add_launcher_volume(spec);
}

/* ---- the pod ---- */

/* The kubelet copies the end of a failed container's log into the pod's status, and the operator from there
 * into the job's. */
void pod_common_set_termination_message_policy(cJSON *containers)
{
    for (cJSON *container = containers->child; container; container = container->next)
        pod_common_default_str(container, "terminationMessagePolicy", "FallbackToLogsOnError");
}

void pod_common_put_network(cJSON *spec, const struct pod_spec_options *options)
{
    if (options->host_network && !json_at(spec, "hostNetwork"))
        json_put_bool(spec, "hostNetwork", true);
    if (json_bool(spec, "hostNetwork", false))
        pod_common_default_str(spec, "dnsPolicy", "ClusterFirstWithHostNet");
}

void pod_common_limit_grace(cJSON *spec, const struct partition_placement *place)
{
    if (place->keeps_grace && job_pod_grace_s(spec) > place->grace_s)
        json_put_i64(spec, "terminationGracePeriodSeconds", place->grace_s);
}

void pod_common_set_node_selector(cJSON *spec, const struct partition_placement *place)
{
    if (place->node_label)
        pod_common_default_str(pod_common_object(spec, "nodeSelector"), place->node_label, place->node_value);
}

void pod_common_add_pull_secrets(cJSON *spec, const char *const *names)
{
    for (; names && *names; names++)
        json_put_str(json_push_take(pod_common_array(spec, "imagePullSecrets"), json_object()), "name",
                     *names);
}

void pod_common_put_owner(cJSON *metadata, const struct job *job)
{
    cJSON *owner = json_push_take(json_put_array(metadata, "ownerReferences"), json_object());

    json_put_str(owner, "apiVersion", API_GROUP_VERSION);
    json_put_str(owner, "kind", API_KIND);
    json_put_str(owner, "name", job->name);
    json_put_str(owner, "uid", job->uid);
    json_put_bool(owner, "controller", true);
    json_put_bool(owner, "blockOwnerDeletion", true);
}

/* Label values have at most 63 characters, like the longest job name that works. */
void pod_common_put_labels(cJSON *labels, const struct job *job, const char *role)
{
    json_put_str(labels, LABEL_JOB_NAME, job->name);
    json_put_str(labels, LABEL_ROLE, role);
}

static cJSON *dup_object(const cJSON *object)
{
    return cJSON_IsObject(object) ? json_dup(object) : json_object();
}

void pod_common_put_metadata(cJSON *pod, const struct job *job, const struct pod_common_name *name,
                             const struct partition_placement *place, const cJSON *from)
{
    cJSON *metadata = json_put_object(pod, "metadata");
    cJSON *labels = json_put_take(metadata, "labels", dup_object(json_at(from, "labels")));
    cJSON *annotations = json_put_take(metadata, "annotations", dup_object(json_at(from, "annotations")));

    json_put_str(metadata, "name", name->pod);
    json_put_str(metadata, "namespace", job->ns);
    pod_common_put_labels(labels, job, name->role);
    json_put_strf(labels, LABEL_INSTANCE, "%u", name->instance);
    json_put_str(annotations, ANNOTATION_PARTITION, place->partition);
    json_put_strf(annotations, ANNOTATION_RUN, "%u", place->run);
    json_put_strf(annotations, ANNOTATION_REVISION, "%016llx", (unsigned long long)job->revision);
    if (!cJSON_GetObjectItemCaseSensitive(annotations, ANNOTATION_DEFAULT_CONTAINER))
        json_put_str(annotations, ANNOTATION_DEFAULT_CONTAINER, name->container);
    pod_common_put_owner(metadata, job);
}
