#include "operator/api/podspec.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"

#define LAUNCHER_VOLUME "ipu-launcher"
#define LAUNCHER_DIR "/opt/ipu-launcher"
#define LAUNCHER_PROGRAM LAUNCHER_DIR "/ipu-launch"

/* ---- environment ---- */

struct env {
    cJSON *list;     /* the container's env array */
    bool by_default; /* travel as IPU_DEFAULT_X: envFrom may set X, and only ipu-launch can see that */
};

static bool env_has(const cJSON *list, const char *name)
{
    JSON_EACH (item, list) {
        if (str_eq(json_str(item, "name", ""), name))
            return true;
    }
    return false;
}

/* A value the user has set is never overwritten. */
static void env_add(struct env *env, const char *name, const char *value)
{
    cJSON *item;

    if (!value || env_has(env->list, name))
        return;
    item = json_push_take(env->list, json_object());
    json_put_strf(item, "name", "%s%s", env->by_default ? "IPU_DEFAULT_" : "", name);
    json_put_str(item, "value", value);
}

static void env_add_number(struct env *env, const char *name, uint32_t value)
{
    AUTO(mem) char *text = mem_printf("%u", value);

    env_add(env, name, text);
}

static void env_add_partition(struct env *env, uint32_t worker, const struct podspec_place *place)
{
    env_add(env, "IPUOF_VIPU_API_HOST", place->vipu_host);
    env_add_number(env, "IPUOF_VIPU_API_PORT", place->vipu_port);
    env_add(env, "IPUOF_VIPU_API_PARTITION_ID", place->partition);
    env_add(env, "IPUOF_VIPU_API_TIMEOUT", "120");
    if (!place->reconfigurable)
        env_add_number(env, "IPUOF_VIPU_API_GCD_ID", worker);
    env_add(env, "IPUOF_LOG_LEVEL", "WARN");
}

static uint32_t local_replicas(const struct job_spec *spec)
{
    return spec->replicas_per_worker ? spec->replicas_per_worker : 1;
}

static char *master_address(const struct job *job, uint32_t instance)
{
    AUTO(mem) char *pod = name_worker_pod(job->name, instance * job->spec.workers_per_instance);
    AUTO(mem) char *service = name_worker_service(job->name);

    return mem_printf("%s.%s.%s.svc", pod, service, job->ns);
}

/* What ipu-launch makes the PopDist and rank variables from: the contract of launcher/inpod/shape.h. */
static void env_add_shape(struct env *env, const struct job *job, uint32_t instance, uint32_t worker,
                          const struct podspec_place *place)
{
    const struct job_spec *spec = &job->spec;
    struct env plain = {.list = env->list}; /* ours alone: there is nothing of the user's to respect */

    env_add_number(&plain, "IPU_JOB_IPUS_PER_INSTANCE", spec->ipus_per_instance);
    env_add_number(&plain, "IPU_JOB_INSTANCES", spec->instances);
    env_add_number(&plain, "IPU_JOB_INSTANCE_INDEX", instance);
    env_add_number(&plain, "IPU_JOB_WORKERS", spec->workers_per_instance);
    env_add_number(&plain, "IPU_JOB_WORKER_INDEX", worker);
    if (spec->replicas_per_worker)
        env_add_number(&plain, "IPU_JOB_REPLICAS_PER_WORKER", spec->replicas_per_worker);
    if (job_has_several_workers(spec)) {
        AUTO(mem) char *master = master_address(job, instance);

        env_add(&plain, "IPU_JOB_TARGET_OPTIONS", place->target_options);
        env_add(&plain, "IPU_JOB_MASTER_ADDR", master);
        env_add_number(&plain, "IPU_JOB_MASTER_PORT", name_master_port(job->uid, instance));
    }
}

/* A container that keeps its image's entry point has no ipu-launch in front: the pod spec carries the
 * results. A test holds this against what `ipu-launch env` makes of env_add_shape. */
static void env_add_results(struct env *env, const struct job *job, uint32_t instance, uint32_t worker,
                            const struct podspec_place *place)
{
    const struct job_spec *spec = &job->spec;
    uint32_t local = local_replicas(spec), total = spec->workers_per_instance * local;

    if (!job_has_popdist(spec))
        return;
    env_add_number(env, "POPDIST_NUM_TOTAL_REPLICAS", total);
    env_add_number(env, "POPDIST_NUM_IPUS_PER_REPLICA", spec->ipus_per_instance / total);
    env_add_number(env, "POPDIST_NUM_LOCAL_REPLICAS", local);
    env_add(env, "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "1");
    env_add_number(env, "POPDIST_REPLICA_INDEX_OFFSET", worker * local);
    env_add(env, "POPDIST_LOCAL_INSTANCE_INDEX", "0");
    if (!job_has_several_workers(spec))
        return;

    AUTO(mem) char *master = master_address(job, instance);

    env_add(env, "POPLAR_TARGET_OPTIONS", place->target_options);
    env_add_number(env, "RANK", worker);
    env_add_number(env, "WORLD_SIZE", spec->workers_per_instance);
    env_add(env, "LOCAL_RANK", "0");
    env_add(env, "MASTER_ADDR", master);
    env_add_number(env, "MASTER_PORT", name_master_port(job->uid, instance));
}

/* ---- containers ---- */

static cJSON *child_array(cJSON *object, const char *key)
{
    cJSON *array = json_at_mut(object, key);

    return cJSON_IsArray(array) ? array : json_put_array(object, key);
}

static cJSON *child_object(cJSON *object, const char *key)
{
    cJSON *child = json_at_mut(object, key);

    return cJSON_IsObject(child) ? child : json_put_object(object, key);
}

static void put_default_str(cJSON *object, const char *key, const char *value)
{
    if (cJSON_IsObject(object) &&
        !cJSON_GetObjectItemCaseSensitive(object, key)) /* a key, not a path: label keys hold slashes */
        json_put_str(object, key, value);
}

static void wrap_command(cJSON *container)
{
    cJSON *wrapped = json_array();

    json_push_str(wrapped, LAUNCHER_PROGRAM);
    json_push_str(wrapped, "run");
    json_push_str(wrapped, "--");
    JSON_EACH (word, json_at(container, "command"))
        json_push_take(wrapped, json_dup(word));
    json_put_take(container, "command", wrapped);
}

/* For kubectl exec: nothing of the image's runs by itself. */
static void hold(cJSON *container)
{
    cJSON *command = json_put_array(container, "command");

    json_push_str(command, LAUNCHER_PROGRAM);
    json_push_str(command, "hold");
}

static void mount_launcher(cJSON *container)
{
    cJSON *mount = json_push_take(child_array(container, "volumeMounts"), json_object());

    json_put_str(mount, "name", LAUNCHER_VOLUME);
    json_put_str(mount, "mountPath", LAUNCHER_DIR);
    json_put_bool(mount, "readOnly", true);
}

static void fill_main_container(cJSON *container, const struct job *job, uint32_t instance, uint32_t worker,
                                const struct podspec_place *place)
{
    const cJSON *command = json_at(container, "command");
    bool has_command = cJSON_IsArray(command) && command->child;
    const cJSON *env_from = json_at(container, "envFrom");
    struct env env = {
        .list = child_array(container, "env"),
        .by_default = has_command && cJSON_IsArray(env_from) && env_from->child,
    };

    env_add_partition(&env, worker, place);
    env_add_shape(&env, job, instance, worker, place);
    mount_launcher(container);
    if (has_command)
        wrap_command(container);
    else
        env_add_results(&env, job, instance, worker, place);
    if (job->spec.interactive_ttl_s && !has_command && !json_at(container, "args"))
        hold(container);
}

/* Restricted pod security admits it, and requests equal to limits keep a Guaranteed pod guaranteed. */
static cJSON *launcher_container(const struct podspec_options *options)
{
    cJSON *container = json_object();
    cJSON *args, *context, *resources, *capabilities, *mount;

    json_put_str(container, "name", LAUNCHER_VOLUME);
    json_put_str(container, "image", options->launcher_image);
    json_put_str(container, "imagePullPolicy", options->launcher_pull_policy);
    args = json_put_array(container, "args");
    json_push_str(args, "install");
    json_push_str(args, LAUNCHER_DIR);
    mount = json_push_take(json_put_array(container, "volumeMounts"), json_object());
    json_put_str(mount, "name", LAUNCHER_VOLUME);
    json_put_str(mount, "mountPath", LAUNCHER_DIR);
    resources = json_put_object(container, "resources");
    for (int i = 0; i < 2; i++) {
        cJSON *amounts = json_put_object(resources, i ? "limits" : "requests");

        json_put_str(amounts, "cpu", "50m");
        json_put_str(amounts, "memory", "32Mi");
    }
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

static void put_launcher_first(cJSON *spec, const struct podspec_options *options)
{
    cJSON *inits = child_array(spec, "initContainers");

    cJSON_InsertItemInArray(inits, 0, launcher_container(options));
}

static void add_launcher_volume(cJSON *spec)
{
    cJSON *volume = json_push_take(child_array(spec, "volumes"), json_object());

    json_put_str(volume, "name", LAUNCHER_VOLUME);
    json_put_str(json_put_object(volume, "emptyDir"), "sizeLimit", "64Mi");
}

/* The end of a failing container's log reaches status through the pod's own status. */
static void keep_last_words(cJSON *containers)
{
    for (cJSON *container = containers->child; container; container = container->next)
        put_default_str(container, "terminationMessagePolicy", "FallbackToLogsOnError");
}

/* ---- the pod ---- */

static void fill_network(cJSON *spec, const struct job *job, const struct podspec_options *options,
                         const char *pod)
{
    if (options->host_network && !json_at(spec, "hostNetwork"))
        json_put_bool(spec, "hostNetwork", true);
    if (json_bool(spec, "hostNetwork", false))
        put_default_str(spec, "dnsPolicy", "ClusterFirstWithHostNet");
    if (job_has_several_workers(&job->spec)) {
        AUTO(mem) char *service = name_worker_service(job->name);

        put_default_str(spec, "hostname", pod);
        put_default_str(spec, "subdomain", service);
    }
}

static void fill_placement(cJSON *spec, const struct podspec_place *place)
{
    if (place->node_label)
        put_default_str(child_object(spec, "nodeSelector"), place->node_label, place->node_value);
}

static void add_pull_secrets(cJSON *spec, const char *const *names)
{
    for (; names && *names; names++)
        json_put_str(json_push_take(child_array(spec, "imagePullSecrets"), json_object()), "name", *names);
}

static void fill_spec(cJSON *spec, const struct job *job, uint32_t instance, uint32_t worker,
                      const struct podspec_place *place, const struct podspec_options *options,
                      const char *pod)
{
    fill_main_container(json_at_mut(spec, "containers")->child, job, instance, worker, place);
    put_launcher_first(spec, options);
    keep_last_words(child_array(spec, "initContainers"));
    keep_last_words(child_array(spec, "containers"));
    add_launcher_volume(spec);
    fill_network(spec, job, options, pod);
    fill_placement(spec, place);
    add_pull_secrets(spec, options->pull_secrets);
    json_put_str(spec, "restartPolicy",
                 "Never"); /* the job's restart policy rules, whatever the template says */
}

static void put_owner(cJSON *metadata, const struct job *job)
{
    cJSON *owner = json_push_take(json_put_array(metadata, "ownerReferences"), json_object());

    json_put_str(owner, "apiVersion", API_GROUP_VERSION);
    json_put_str(owner, "kind", API_KIND);
    json_put_str(owner, "name", job->name);
    json_put_str(owner, "uid", job->uid);
    json_put_bool(owner, "controller", true);
    json_put_bool(owner, "blockOwnerDeletion", true);
}

/* Label values hold at most 63 characters, as long as the longest job name that works. */
static void put_labels(cJSON *labels, const struct job *job)
{
    json_put_str(labels, LABEL_JOB_NAME, job->name);
    json_put_str(labels, LABEL_ROLE, "worker");
}

static void fill_metadata(cJSON *metadata, const cJSON *from, const struct job *job, uint32_t instance,
                          uint32_t worker, const struct podspec_place *place, const char *pod,
                          const char *main_container)
{
    const cJSON *user_labels = json_at(from, "labels"), *user_annotations = json_at(from, "annotations");
    cJSON *labels = json_put_take(metadata, "labels",
                                  cJSON_IsObject(user_labels) ? json_dup(user_labels) : json_object());
    cJSON *annotations =
        json_put_take(metadata, "annotations",
                      cJSON_IsObject(user_annotations) ? json_dup(user_annotations) : json_object());

    json_put_str(metadata, "name", pod);
    json_put_str(metadata, "namespace", job->ns);
    put_labels(labels, job);
    json_put_strf(labels, LABEL_INSTANCE, "%u", instance);
    json_put_strf(labels, LABEL_WORKER, "%u", worker);
    json_put_str(annotations, ANNOTATION_PARTITION, place->partition);
    json_put_strf(annotations, ANNOTATION_RUN, "%u", place->run);
    if (!cJSON_GetObjectItemCaseSensitive(annotations, ANNOTATION_DEFAULT_CONTAINER))
        json_put_str(annotations, ANNOTATION_DEFAULT_CONTAINER, main_container);
    put_owner(metadata, job);
}

cJSON *podspec_worker(const struct job *job, uint32_t instance, uint32_t worker,
                      const struct podspec_place *place, const struct podspec_options *options,
                      struct err *err)
{
    AUTO(json) cJSON *from = json_parse(slice_of(job->template_json), err);
    AUTO(json) cJSON *pod = json_object();
    AUTO(mem) char *name = name_worker_pod(job->name, instance * job->spec.workers_per_instance + worker);
    cJSON *spec;

    if (!from)
        return NULL;
    if (!cJSON_IsArray(json_at(from, "spec/containers")) ||
        !cJSON_IsObject(json_at(from, "spec/containers")->child)) {
        err_set(err, ERR_INVALID,
                "spec.workers.template.spec.containers: at least one container is required");
        return NULL;
    }
    spec = json_at_mut(from, "spec");
    json_put_str(pod, "apiVersion", "v1");
    json_put_str(pod, "kind", "Pod");
    fill_metadata(json_put_object(pod, "metadata"), json_at(from, "metadata"), job, instance, worker, place,
                  name, json_str(json_at(spec, "containers")->child, "name", ""));
    fill_spec(spec, job, instance, worker, place, options, name);
    json_put_take(pod, "spec", cJSON_DetachItemViaPointer(from, spec));
    return TAKE(pod);
}

cJSON *podspec_service(const struct job *job)
{
    AUTO(mem) char *name = name_worker_service(job->name);
    cJSON *service = json_object();
    cJSON *metadata, *spec;

    json_put_str(service, "apiVersion", "v1");
    json_put_str(service, "kind", "Service");
    metadata = json_put_object(service, "metadata");
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", job->ns);
    put_labels(json_put_object(metadata, "labels"), job);
    put_owner(metadata, job);
    spec = json_put_object(service, "spec");
    json_put_str(spec, "clusterIP", "None");
    json_put_bool(spec, "publishNotReadyAddresses",
                  true); /* ranks look for each other before they are ready */
    put_labels(json_put_object(spec, "selector"), job);
    return service;
}

/* ---- the way back ---- */

/* ipu-launch's own init container stands before the user's. Returns what comes after "initContainers[N]". */
static const char *add_init_container(struct str *out, const char *at)
{
    const char *digits = at + strlen("initContainers[");
    char *end;
    unsigned long index = strtoul(digits, &end, 10);

    if (end == digits || *end != ']' || index == 0)
        return at;
    str_addf(out, "initContainers[%lu]", index - 1);
    return end + 1;
}

char *podspec_in_words_of_job(const char *message)
{
    static const char intro[] = " is invalid: ";
    static const char *const fields[] = {"spec.", "metadata.labels", "metadata.annotations"};
    const char *found = strstr(message, intro);
    const char *from = found ? found + strlen(intro) : message;
    struct str out = {0};

    for (const char *p = from; *p;) {
        bool at_start = p == from || strchr(" [,;\"", p[-1]) != NULL;

        for (size_t i = 0; at_start && i < COUNT_OF(fields); i++) {
            if (!str_has_prefix(p, fields[i]))
                continue;
            str_addf(&out, "spec.workers.template.%s", fields[i]);
            p += strlen(fields[i]);
            if (str_has_prefix(p, "initContainers["))
                p = add_init_container(&out, p);
            at_start = false;
        }
        if (*p)
            str_addc(&out, *p++);
    }
    return str_take(&out);
}
