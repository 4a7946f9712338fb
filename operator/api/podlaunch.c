#include "operator/api/podlaunch.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/podaccess.h"
#include "operator/api/podoverlay.h"
#include "operator/api/podparts.h"

#define RUN_DIR "/var/run/ipu-launch"

/* MPI keeps files of its own, also where the root file system is read-only. */
static void add_scratch(cJSON *spec, cJSON *container)
{
    cJSON *volume = json_push_take(podparts_array(spec, "volumes"), json_object());

    json_put_str(volume, "name", NAME_SCRATCH_VOLUME);
    json_put_str(json_put_object(volume, "emptyDir"), "sizeLimit", "64Mi");
    podparts_mount(container, NAME_SCRATCH_VOLUME, RUN_DIR "/tmp", false);
}

/* ---- the agent in a worker ---- */

static void add_agent_port(cJSON *container, const struct podspec_place *place, bool host_network)
{
    cJSON *port = json_push_take(podparts_array(container, "ports"), json_object());

    json_put_str(port, "name", AGENT_PORT_NAME);
    json_put_i64(port, "containerPort", place->agent_port);
    if (host_network) /* the scheduler keeps it unique on its node */
        json_put_i64(port, "hostPort", place->agent_port);
    json_put_str(port, "protocol", "TCP");
}

/* A node has more networks than the one that its pods are known by. */
static void add_agent_address(cJSON *env)
{
    cJSON *item = json_push_take(env, json_object());

    json_put_str(item, "name", "IPU_JOB_AGENT_ADDRESS");
    json_put_str(json_put_object(json_put_object(item, "valueFrom"), "fieldRef"), "fieldPath",
                 "status.podIP");
}

/* Asked every second until the first answer, and never again: a training run is not disturbed. */
static void add_agent_probe(cJSON *container)
{
    bool has_startup = json_at(container, "startupProbe") != NULL;
    const char *kind = has_startup ? "readinessProbe" : "startupProbe";
    cJSON *probe, *command;

    if (json_at(container, kind))
        return;
    probe = json_put_object(container, kind);
    command = json_put_array(json_put_object(probe, "exec"), "command");
    json_push_str(command, PODPARTS_LAUNCHER_PROGRAM);
    json_push_str(command, "agent-ready");
    json_put_i64(probe, "periodSeconds", has_startup ? 10 : 1);
    json_put_i64(probe, "timeoutSeconds", 10);
    json_put_i64(probe, "failureThreshold", has_startup ? 3 : 300);
}

static cJSON *add_keys_volume(cJSON *spec, const struct job *job, uint32_t instance,
                              const struct podspec_place *place)
{
    AUTO(mem) char *name = name_keys_secret(job->name, job->uid, true, instance, place->start);
    cJSON *volume = json_push_take(podparts_array(spec, "volumes"), json_object());
    cJSON *secret;

    json_put_str(volume, "name", NAME_KEYS_VOLUME);
    secret = json_put_object(volume, "secret");
    json_put_str(secret, "secretName", name);
    json_put_i64(secret, "defaultMode", 0444); /* whoever the container runs as; nobody else mounts it */
    return secret;
}

/* Nothing of ours in a job's pods talks to the API server. */
static void leave_token_out(cJSON *spec)
{
    if (!json_at(spec, "automountServiceAccountToken") && !json_at(spec, "serviceAccountName"))
        json_put_bool(spec, "automountServiceAccountToken", false);
}

void podlaunch_fill_worker(cJSON *spec, struct podenv *env, const struct job *job, uint32_t instance,
                           uint32_t worker, const struct podspec_place *place)
{
    cJSON *container = json_at_mut(spec, "containers")->child;
    struct podenv ours = {.list = env->list};
    bool host_network = json_bool(spec, "hostNetwork", false);
    cJSON *item;

    podenv_add_start(env, job, place);
    podenv_add_number(&ours, "IPU_JOB_AGENT_PORT", place->agent_port);
    if (host_network)
        add_agent_address(ours.list);
    podparts_wrap(container, "agent", json_at(container, "command"));
    add_agent_port(container, place, host_network);
    add_agent_probe(container);
    json_put_str(podparts_mount(container, NAME_KEYS_VOLUME, RUN_DIR "/key", true), "subPath", "key");
    add_scratch(spec, container);
    item =
        json_push_take(json_put_array(add_keys_volume(spec, job, instance, place), "items"), json_object());
    json_put_strf(item, "key", "%u", worker);
    json_put_str(item, "path", "key");
    leave_token_out(spec);
}

bool podlaunch_uses_host_network(const struct job *job, const struct podspec_options *options)
{
    struct err err = {0};
    AUTO(json) cJSON *from = job_template(job, &err);

    return json_bool(from, "spec/hostNetwork", options->host_network);
}

/* ---- the launcher's container ---- */

/* Little, because it only waits; with limits where the workers have some, as quotas may ask for them. */
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
        json_put_str(podparts_object(resources, "requests"), rows[i].name, rows[i].request);
        if (json_at(limits, rows[i].name))
            json_put_str(podparts_object(resources, "limits"), rows[i].name, rows[i].limit);
    }
}

/* ---- what it has to know ---- */

static char *host_name(const struct job *job, uint32_t instance, uint32_t worker)
{
    return name_worker_host(job->name, job->uid, instance * job->spec.workers_per_instance + worker);
}

static void add_host_text(struct str *text, const char *name, const struct podlaunch_host *host)
{
    bool is_v6 = strchr(host->ip, ':') != NULL;

    str_addf(text, "%s%s=%s%s%s:%u", text->len ? "," : "", name, is_v6 ? "[" : "", host->ip, is_v6 ? "]" : "",
             host->port);
}

static void add_env(cJSON *spec, cJSON *container, const struct job *job, uint32_t instance,
                    const struct podlaunch_host *hosts, const struct podspec_place *place,
                    const struct podspec_options *options)
{
    const cJSON *env_from = json_at(container, "envFrom");
    struct podenv ours = {.list = podparts_array(container, "env")};
    struct podenv env = {.list = ours.list, .by_default = cJSON_IsArray(env_from) && env_from->child};
    AUTO(str) struct str text = {0};

    for (uint32_t w = 0; w < job->spec.workers_per_instance; w++) {
        AUTO(mem) char *name = host_name(job, instance, w);

        add_host_text(&text, name, &hosts[w]);
    }
    podenv_add_partition(&env, place);
    podaccess_show(spec, &env, job, instance, place);
    podenv_add_instance(&env, job, instance);
    podenv_add_start(&env, job, place);
    podenv_add(&ours, "IPU_JOB_HOSTS", str_text(&text));
    podenv_add(&ours, "IPU_JOB_NETWORK", options->mpi_network);
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

/* The names work without a DNS. In the node's network they stay unknown: there a worker's address can be the
 * launcher's own, and mpirun would take that worker for its own host. */
static void add_aliases(cJSON *spec, const struct job *job, uint32_t instance,
                        const struct podlaunch_host *hosts)
{
    if (json_bool(spec, "hostNetwork", false))
        return;
    for (uint32_t w = 0; w < job->spec.workers_per_instance; w++) {
        AUTO(mem) char *name = host_name(job, instance, w);

        json_push_str(podparts_array(alias_of(podparts_array(spec, "hostAliases"), hosts[w].ip), "hostnames"),
                      name);
    }
}

/* ---- the launcher pod ---- */

static cJSON *make_spec(const struct job *job, uint32_t instance, const cJSON *worker, const cJSON *launcher,
                        const struct podlaunch_host *hosts, const struct podspec_place *place,
                        const struct podspec_options *options)
{
    cJSON *spec = podoverlay_spec(worker, launcher);
    cJSON *container = json_at_mut(spec, "containers")->child;

    put_resources(container, json_at(worker, "containers")->child);
    podparts_put_network(spec, options);
    add_env(spec, container, job, instance, hosts, place, options);
    podparts_wrap(container, "run", json_at(launcher, "command"));
    podparts_mount(container, NAME_LAUNCHER_PART, PODPARTS_LAUNCHER_DIR, true);
    podparts_add_launcher(spec, options);
    add_keys_volume(spec, job, instance, place);
    podparts_mount(container, NAME_KEYS_VOLUME, RUN_DIR "/keys", true);
    add_scratch(spec, container);
    add_aliases(spec, job, instance, hosts);
    podparts_keep_last_words(podparts_array(spec, "initContainers"));
    podparts_keep_last_words(podparts_array(spec, "containers"));
    podparts_place(spec, place);
    podparts_add_pull_secrets(spec, options->pull_secrets);
    leave_token_out(spec);
    json_put_str(spec, "restartPolicy", "Never");
    return spec;
}

cJSON *podlaunch_pod(const struct job *job, uint32_t instance, const struct podlaunch_host *hosts,
                     const struct podspec_place *place, const struct podspec_options *options,
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
    podparts_put_metadata(
        pod, job,
        &(struct podparts_name){.pod = name,
                                .role = ROLE_LAUNCHER,
                                .container = json_str(json_at(spec, "containers")->child, "name", ""),
                                .instance = instance},
        place, json_at(launcher, "template/metadata"));
    json_put_strf(json_at_mut(pod, "metadata/annotations"), ANNOTATION_SEAT, "%u",
                  job->spec.workers_per_instance);
    json_put_take(pod, "spec", spec);
    return pod;
}
