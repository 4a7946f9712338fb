#include "operator/api/pod/pod_launcher.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/pod/pod_secrets.h"
#include "operator/api/pod/pod_overlay.h"
#include "operator/api/pod/pod_common.h"
#include "operator/api/pod/pod_progress.h"

#define RUN_DIR "/var/run/ipu-launch"
#define SCRATCH_DIR RUN_DIR "/tmp"
#define HOSTS_FILE "/etc/hosts"

/* MPI writes temporary files, also if the root file system is read-only. */
static void add_scratch(cJSON *spec, cJSON *container)
{
    cJSON *volume = json_push_take(pod_common_array(spec, "volumes"), json_object());

    json_put_str(volume, "name", NAME_SCRATCH_VOLUME);
    json_put_str(json_put_object(volume, "emptyDir"), "sizeLimit", "64Mi");
    pod_common_mount(container, NAME_SCRATCH_VOLUME, SCRATCH_DIR, false);
}

/* ---- the agent in a worker ---- */

static void add_agent_port(cJSON *container, const struct partition_placement *place, bool host_network)
{
    cJSON *port = json_push_take(pod_common_array(container, "ports"), json_object());

    json_put_str(port, "name", AGENT_PORT_NAME);
    json_put_i64(port, "containerPort", place->agent_port);
    if (host_network) /* the scheduler keeps it unique on its node */
        json_put_i64(port, "hostPort", place->agent_port);
    json_put_str(port, "protocol", "TCP");
}

/* Runs every second until it first succeeds, and then never again: it must not disturb training. */
static void add_agent_probe(cJSON *container)
{
    bool has_startup = json_at(container, "startupProbe") != NULL;
    const char *kind = has_startup ? "readinessProbe" : "startupProbe";
    cJSON *probe, *command;

    if (json_at(container, kind))
        return;
    probe = json_put_object(container, kind);
    command = json_put_array(json_put_object(probe, "exec"), "command");
    json_push_str(command, IPU_LAUNCH_PROGRAM);
    json_push_str(command, "agent-ready");
    json_put_i64(probe, "periodSeconds", has_startup ? 10 : 1);
    json_put_i64(probe, "timeoutSeconds", 10);
    json_put_i64(probe, "failureThreshold", has_startup ? 3 : 300);
}

static cJSON *add_keys_volume(cJSON *spec, const struct job *job, uint32_t instance,
                              const struct partition_placement *place)
{
    AUTO(mem) char *name = name_keys_secret(job->name, job->uid, true, instance, place->start);
    cJSON *volume = json_push_take(pod_common_array(spec, "volumes"), json_object());
    cJSON *secret;

    json_put_str(volume, "name", NAME_KEYS_VOLUME);
    secret = json_put_object(volume, "secret");
    json_put_str(secret, "secretName", name);
    json_put_i64(secret, "defaultMode",
                 0444); /* readable by any user of the container; no other container mounts it */
    return secret;
}

/* The programs that the operator adds to a job's pods do not use the API server. */
static void leave_token_out(cJSON *spec)
{
    if (!json_at(spec, "automountServiceAccountToken") && !json_at(spec, "serviceAccountName"))
        json_put_bool(spec, "automountServiceAccountToken", false);
}

void pod_launcher_fill_worker(cJSON *spec, struct pod_env *env, const struct job *job, uint32_t instance,
                              uint32_t worker, const struct partition_placement *place)
{
    cJSON *container = json_at_mut(spec, "containers")->child;
    struct pod_env ours = {.list = env->list};
    bool host_network = json_bool(spec, "hostNetwork", false);
    cJSON *item;

    pod_env_add_start(env, job, place);
    pod_env_add_number(&ours, "IPU_JOB_AGENT_PORT", place->agent_port);
    pod_common_wrap(container, "agent", json_at(container, "command"));
    add_agent_port(container, place, host_network);
    add_agent_probe(container);
    json_put_str(pod_common_mount(container, NAME_KEYS_VOLUME, RUN_DIR "/key", true), "subPath", "key");
    add_scratch(spec, container);
    item =
        json_push_take(json_put_array(add_keys_volume(spec, job, instance, place), "items"), json_object());
    json_put_strf(item, "key", "%u", worker);
    json_put_str(item, "path", "key");
    leave_token_out(spec);
}

static bool has_mount_at(const cJSON *container, const char *path)
{
    JSON_EACH (mount, json_at(container, "volumeMounts")) {
        if (str_eq(json_str(mount, "mountPath", NULL), path))
            return true;
    }
    return false;
}

void pod_launcher_add_hosts_file(cJSON *spec)
{
    cJSON *container = json_at_mut(spec, "containers")->child;
    cJSON *installer = json_at_mut(spec, "initContainers")->child;

    if (has_mount_at(container, HOSTS_FILE))
        return;
    json_push_str(json_at_mut(installer, "args"), SCRATCH_DIR "/hosts");
    pod_common_mount(installer, NAME_SCRATCH_VOLUME, SCRATCH_DIR, false);
    json_put_str(pod_common_mount(container, NAME_SCRATCH_VOLUME, HOSTS_FILE, false), "subPath", "hosts");
}

bool pod_launcher_uses_host_network(const struct job *job, const struct pod_spec_options *options)
{
    struct err err = {0};
    AUTO(json) cJSON *from = job_template(job, &err);

    return json_bool(from, "spec/hostNetwork", options->host_network);
}

/* ---- the launcher's container ---- */

/* Small, because it only waits; with limits if the workers have some, because a quota may require them. */
static void put_resources(cJSON *container, const cJSON *worker)
{
    static const struct {
        const char *name, *request, *limit;
    } rows[] = {{"cpu", "100m", "1"}, {"memory", "128Mi", "1Gi"}};
    const cJSON *limits = json_at(worker, "resources/limits");
    cJSON *resources;

    if (json_at(container, "resources"))
        return;
    resources = json_put_object(container, "resources");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        json_put_str(pod_common_object(resources, "requests"), rows[i].name, rows[i].request);
        if (json_at(limits, rows[i].name))
            json_put_str(pod_common_object(resources, "limits"), rows[i].name, rows[i].limit);
    }
}

/* ---- what it has to know ---- */

static char *host_name(const struct job *job, uint32_t instance, uint32_t worker)
{
    return name_worker_host(job->name, job->uid, instance * job->spec.workers_per_instance + worker);
}

static void add_host_text(struct str *text, const char *name, const struct pod_launcher_host *host)
{
    bool is_v6 = strchr(host->ip, ':') != NULL;

    str_addf(text, "%s%s=%s%s%s:%u", text->len ? "," : "", name, is_v6 ? "[" : "", host->ip, is_v6 ? "]" : "",
             host->port);
}

static void add_env(cJSON *spec, cJSON *container, const struct job *job, uint32_t instance,
                    const struct pod_launcher_host *hosts, const struct partition_placement *place,
                    const struct pod_spec_options *options)
{
    const cJSON *env_from = json_at(container, "envFrom");
    struct pod_env ours = {.list = pod_common_array(container, "env")};
    struct pod_env env = {.list = ours.list, .by_default = cJSON_IsArray(env_from) && env_from->child};
    AUTO(str) struct str text = {0};

    for (uint32_t w = 0; w < job->spec.workers_per_instance; w++) {
        AUTO(mem) char *name = host_name(job, instance, w);

        add_host_text(&text, name, &hosts[w]);
    }
    pod_env_add_partition(&env, place);
    pod_env_add_python(&env);
    pod_secrets_mount(spec, &env, job, instance, place);
    pod_progress_mount(spec, &env, options);
    pod_env_add_instance(&env, job, instance);
    pod_env_add_mpi(&env);
    pod_env_add_start(&env, job, place);
    pod_env_add(&ours, "IPU_JOB_HOSTS", str_text(&text));
    pod_env_add_number(&env, "IPU_JOB_SLOTS", job_slots(&job->spec));
    pod_env_add(&ours, "IPU_JOB_NETWORK", options->mpi_network);
}

static cJSON *alias_of(cJSON *aliases, const char *ip)
{
    for (cJSON *alias = aliases->child; alias; alias = alias->next) {
        if (str_eq(json_str(alias, "ip", NULL), ip))
            return alias;
    }
    cJSON *alias = json_push_take(aliases, json_object());
    json_put_str(alias, "ip", ip);
    return alias;
}

/* The names work without DNS. With host networking they are not set: a worker's address can be the
 * launcher's own, and mpirun would take that worker for its own host. */
static void add_aliases(cJSON *spec, const struct job *job, uint32_t instance,
                        const struct pod_launcher_host *hosts)
{
    if (json_bool(spec, "hostNetwork", false))
        return;
    for (uint32_t w = 0; w < job->spec.workers_per_instance; w++) {
        AUTO(mem) char *name = host_name(job, instance, w);

        json_push_str(
            pod_common_array(alias_of(pod_common_array(spec, "hostAliases"), hosts[w].ip), "hostnames"),
            name);
    }
}

/* ---- the launcher pod ---- */

static cJSON *make_spec(const struct job *job, uint32_t instance, const cJSON *worker, const cJSON *launcher,
                        const struct pod_launcher_host *hosts, const struct partition_placement *place,
                        const struct pod_spec_options *options)
{
    cJSON *spec = pod_overlay_spec(worker, launcher);
    cJSON *container = json_at_mut(spec, "containers")->child;

    put_resources(container, json_at(worker, "containers")->child);
    pod_common_put_network(spec, options);
    add_env(spec, container, job, instance, hosts, place, options);
    pod_common_wrap(container, "run", json_at(launcher, "command"));
    pod_common_mount(container, NAME_LAUNCHER_PART, IPU_LAUNCH_DIR, true);
    pod_common_add_launcher(spec, options);
    add_keys_volume(spec, job, instance, place);
    pod_common_mount(container, NAME_KEYS_VOLUME, RUN_DIR "/keys", true);
    add_scratch(spec, container);
    add_aliases(spec, job, instance, hosts);
    pod_common_set_termination_message_policy(pod_common_array(spec, "initContainers"));
    pod_common_set_termination_message_policy(pod_common_array(spec, "containers"));
    pod_common_limit_grace(spec, place);
    pod_common_set_node_selector(spec, place);
    pod_common_add_pull_secrets(spec, options->pull_secrets);
    leave_token_out(spec);
    json_put_str(spec, "restartPolicy", "Never");
    return spec;
}

cJSON *pod_launcher_pod(const struct job *job, uint32_t instance, const struct pod_launcher_host *hosts,
                        const struct partition_placement *place, const struct pod_spec_options *options,
                        struct err *err)
{
    AUTO(json) cJSON *from = job_template(job, err);
    AUTO(json) cJSON *launcher = from ? job_launcher(job, err) : NULL;
    AUTO(mem) char *name = name_launcher_pod(job->name, instance);
    cJSON *pod, *spec;

    if (!launcher)
        return NULL;
    spec = make_spec(job, instance, json_at(from, "spec"), launcher, hosts, place, options);
    pod = json_object();
    json_put_str(pod, "apiVersion", "v1");
    json_put_str(pod, "kind", "Pod");
    pod_common_put_metadata(
        pod, job,
        &(struct pod_common_name){.pod = name,
                                  .role = ROLE_LAUNCHER,
                                  .container = json_str(json_at(spec, "containers")->child, "name", ""),
                                  .instance = instance},
        place, json_at(launcher, "template/metadata"));
    json_put_strf(json_at_mut(pod, "metadata/annotations"), ANNOTATION_POD_INDEX, "%u",
                  job->spec.workers_per_instance);
    pod_progress_annotate(pod, options);
    json_put_take(pod, "spec", spec);
    return pod;
}
