#include "operator/api/pod/pod_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/pod/pod_secrets.h"
#include "operator/api/pod/pod_env.h"
#include "operator/api/pod/pod_launcher.h"
#include "operator/api/pod/pod_common.h"
#include "operator/api/pod/pod_progress.h"

static void fill_main_container(cJSON *spec, const struct job *job, uint32_t instance, uint32_t worker,
                                const struct partition_placement *place,
                                const struct pod_spec_options *options)
{
    cJSON *container = json_at_mut(spec, "containers")->child;
    const cJSON *command = json_at(container, "command"), *env_from = json_at(container, "envFrom");
    bool is_wrapped = job->spec.has_launcher || (cJSON_IsArray(command) && command->child);
    struct pod_env env = {
        .list = pod_common_array(container, "env"),
        .by_default = is_wrapped && cJSON_IsArray(env_from) && env_from->child,
    };

    pod_env_add_partition(&env, place);
    pod_env_add_python(&env);
    pod_env_add_gcd(&env, worker, place);
    pod_env_add_instance(&env, job, instance);
    pod_env_add_worker(&env, job, instance, worker, place);
    pod_env_add_mpi(&env);
    pod_env_add_mpi_agent(&env, IPU_LAUNCH_PROGRAM " remote");
    if (json_bool(spec, "hostNetwork", false) &&
        (job->spec.has_launcher || job_has_several_workers(&job->spec)))
        pod_env_add_address(&env);
    pod_secrets_mount(spec, &env, job, instance, place);
    pod_progress_mount(spec, &env, options);
    pod_common_mount(container, NAME_LAUNCHER_PART, IPU_LAUNCH_DIR, true);
    if (job->spec.has_launcher)
        pod_launcher_fill_worker(spec, &env, job, instance, worker, place);
    else if (is_wrapped)
        pod_common_wrap(container, "run", command);
    else
        pod_env_add_results(&env, job, instance, worker, place);
    if (job->spec.interactive_ttl_s && !is_wrapped && !json_at(container, "args"))
        pod_common_wrap(container, "hold",
                        NULL); /* for kubectl exec: the image's own program is not started */
}

/* Named by the job's Service if there is one. Other pods keep their own names, unless truncation would make
 * them ambiguous. */
static void put_hostname(cJSON *spec, const struct job *job, uint32_t n, const char *pod)
{
    AUTO(mem) char *host = name_worker_host(job->name, job->uid, n);
    AUTO(mem) char *service = name_worker_service(job->name, job->uid);

    if (!job_needs_worker_service(&job->spec) && str_eq(host, pod))
        return;
    pod_common_default_str(spec, "hostname", host);
    if (job_needs_worker_service(&job->spec))
        pod_common_default_str(spec, "subdomain", service);
}

static void fill_spec(cJSON *spec, const struct job *job, uint32_t instance, uint32_t worker,
                      const struct partition_placement *place, const struct pod_spec_options *options,
                      const char *pod)
{
    pod_common_put_network(spec, options);
    fill_main_container(spec, job, instance, worker, place, options);
    pod_common_add_launcher(spec, options);
    if (job->spec.has_launcher)
        pod_launcher_add_hosts_file(spec);
    pod_common_set_termination_message_policy(pod_common_array(spec, "initContainers"));
    pod_common_set_termination_message_policy(pod_common_array(spec, "containers"));
    put_hostname(spec, job, instance * job->spec.workers_per_instance + worker, pod);
    pod_common_limit_grace(spec, place);
    pod_common_set_node_selector(spec, place);
    pod_common_add_pull_secrets(spec, options->pull_secrets);
    json_put_str(spec, "restartPolicy",
                 "Never"); /* the job's restart policy decides, whatever the template says */
}

cJSON *pod_spec_worker(const struct job *job, uint32_t instance, uint32_t worker,
                       const struct partition_placement *place, const struct pod_spec_options *options,
                       struct err *err)
{
    AUTO(json) cJSON *from = job_template(job, err);
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
    pod_common_put_metadata(
        pod, job,
        &(struct pod_common_name){.pod = name,
                                  .role = ROLE_WORKER,
                                  .container = json_str(json_at(spec, "containers")->child, "name", ""),
                                  .instance = instance},
        place, json_at(from, "metadata"));
    json_put_strf(json_at_mut(pod, "metadata/labels"), LABEL_WORKER, "%u", worker);
    if (job->spec.has_launcher)
        json_put_str(json_at_mut(pod, "metadata/annotations"), ANNOTATION_LAUNCHER_IMAGE,
                     options->launcher_image);
    pod_progress_annotate(pod, options);
    fill_spec(spec, job, instance, worker, place, options, name);
    json_put_take(pod, "spec", cJSON_DetachItemViaPointer(from, spec));
    return TAKE(pod);
}

/* As an annotation: in the value of a variable, $(NAME) would be replaced. Where the image's own entry point
 * runs, the init container prints it. */
void pod_spec_add_report(cJSON *pod, const char *report)
{
    const cJSON *command = json_at(json_at(pod, "spec/containers")->child, "command");
    bool is_wrapped =
        cJSON_IsArray(command) && str_eq(cJSON_GetStringValue(command->child), IPU_LAUNCH_PROGRAM);
    cJSON *list = json_at_mut(pod, is_wrapped ? "spec/containers" : "spec/initContainers");
    struct pod_env env = {.list = pod_common_array(list->child, "env")};

    json_put_str(json_at_mut(pod, "metadata/annotations"), ANNOTATION_PREVIOUS_ATTEMPT, report);
    pod_env_add_field(&env, "IPU_JOB_PREVIOUS_ATTEMPT",
                      "metadata.annotations['" ANNOTATION_PREVIOUS_ATTEMPT "']");
}

cJSON *pod_spec_service(const struct job *job)
{
    AUTO(mem) char *name = name_worker_service(job->name, job->uid);
    cJSON *service = json_object();
    cJSON *metadata, *spec;

    json_put_str(service, "apiVersion", "v1");
    json_put_str(service, "kind", "Service");
    metadata = json_put_object(service, "metadata");
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", job->ns);
    pod_common_put_labels(json_put_object(metadata, "labels"), job, ROLE_WORKER);
    pod_common_put_owner(metadata, job);
    spec = json_put_object(service, "spec");
    json_put_str(spec, "clusterIP", "None");
    return service;
}

/* ---- the way back ---- */

/* ipu-launch's own init container precedes the user's. Returns what follows "initContainers[N]". */
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

char *pod_spec_translate_message(const char *message, bool is_launcher)
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
            str_addf(&out, "spec.%s.template.%s", is_launcher ? ROLE_LAUNCHER : "workers", fields[i]);
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
