#include "operator/reconcile/act/launcher_requests.h"
#include "operator/reconcile/state/partitions.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/names.h"
#include "operator/api/pod/pod_secrets.h"
#include "operator/api/pod/pod_launcher.h"
#include "operator/reconcile/act/responses.h"

static bool is_of_run(const struct pod *pod, const struct job *job, const struct record *record)
{
    return str_eq(pod->job_uid, job->uid) && pod->partition && str_eq(pod->partition, record->name) &&
           pod->run == record->run;
}

/* ---- ports ---- */

struct used_ports {
    bool ports[AGENT_HOST_PORT_COUNT];
};

/* Returns the port, or 0 when it is outside the range of agent ports. */
static uint16_t mark_used(struct used_ports *used_ports, uint16_t port)
{
    if (port < AGENT_HOST_PORT_FIRST || port >= AGENT_HOST_PORT_FIRST + AGENT_HOST_PORT_COUNT)
        return 0;
    used_ports->ports[port - AGENT_HOST_PORT_FIRST] = true;
    return port;
}

/* Ports used by existing pods, and by runs whose pods are not created yet. */
static void find_used_ports(const struct reconciler *r, struct used_ports *used_ports)
{
    void *value;

    for (const struct store_item *i = store_first(watch_store(r->pods)); i; i = store_next(i)) {
        const struct pod *pod = i->view;

        if (!pod_is_terminal(pod))
            mark_used(used_ports, pod->agent_port);
    }
    for (size_t i = 0; map_next(&r->job_caches, &i, NULL, &value);) {
        const struct job_cache *cache = value;

        for (size_t p = 0; map_next(&cache->partitions, &p, NULL, &value);) {
            const struct partition_cache *partition = value;

            for (uint32_t w = 0; w < partition->agent_port_count; w++)
                mark_used(used_ports, partition->agent_ports[w]);
        }
    }
}

/* The next free port from *at on. If all are taken, the scheduler has to find another node. */
static uint16_t allocate_port(struct used_ports *used_ports, uint32_t *at)
{
    for (uint32_t n = 0; n < AGENT_HOST_PORT_COUNT && used_ports->ports[*at]; n++)
        *at = (*at + 1) % AGENT_HOST_PORT_COUNT;
    return mark_used(used_ports, (uint16_t)(AGENT_HOST_PORT_FIRST + *at));
}

/* Pods of this run that an earlier process created keep their ports. */
static void inherit_ports(const struct reconciler *r, const struct job *job, const struct record *record,
                          uint16_t *ports)
{
    for (const struct store_item *i = store_first_of(watch_store(r->pods), job->key); i;
         i = store_next_of(i)) {
        const struct pod *pod = i->view;

        if (is_of_run(pod, job, record) && pod->worker < record->workers)
            ports[pod->worker] = pod->agent_port;
    }
}

static void allocate_ports(const struct reconciler *r, const struct job *job, const struct record *record,
                           struct partition_cache *partition)
{
    AUTO(mem) struct used_ports *used_ports = NEW(struct used_ports);
    uint32_t at = name_master_port(record->job_uid, record->instance) % AGENT_HOST_PORT_COUNT;

    find_used_ports(r, used_ports);
    partition->agent_ports = mem_alloc(record->workers * sizeof(*partition->agent_ports));
    partition->agent_port_count = record->workers;
    inherit_ports(r, job, record, partition->agent_ports);
    for (uint32_t w = 0; w < record->workers; w++) {
        if (!partition->agent_ports[w])
            partition->agent_ports[w] = allocate_port(used_ports, &at);
    }
}

uint16_t launch_port(struct reconciler *r, const struct job *job, const struct record *record,
                     uint32_t worker)
{
    struct job_cache *cache = job_cache_get(r, job->key, job->uid);
    struct partition_cache *partition = job_cache_partition(cache, record->name, loop_now_ms(r->loop));

    if (!pod_launcher_uses_host_network(job, &r->options.pods))
        return AGENT_PORT;
    if (!partition->agent_ports)
        allocate_ports(r, job, record, partition);
    return worker < partition->agent_port_count ? partition->agent_ports[worker] : 0;
}

/* ---- the launcher pod ---- */

cJSON *launch_make_pod(const struct reconciler *r, const struct job *job, uint32_t instance,
                       const struct partition_placement *place, struct err *err)
{
    uint32_t workers = job->spec.workers_per_instance, found = 0;
    AUTO(mem) struct pod_launcher_host *hosts = mem_alloc(workers * sizeof(*hosts));
    const struct record *record = reconciler_record(r, place->partition);

    for (const struct store_item *i = store_first_of(watch_store(r->pods), job->key); i;
         i = store_next_of(i)) {
        const struct pod *pod = i->view;

        if (!is_of_run(pod, job, record) || pod->worker >= workers || !pod->ip || hosts[pod->worker].ip)
            continue;
        hosts[pod->worker] = (struct pod_launcher_host){pod->ip, pod->agent_port};
        found++;
    }
    if (found < workers) {
        err_set(err, ERR_NOT_FOUND, "%u of %u workers of instance %u exist", found, workers, instance);
        return NULL;
    }
    return pod_launcher_pod(job, instance, hosts, place, &r->options.pods, err);
}

cJSON *launch_make_dry_run_pod(const struct reconciler *r, const struct job *job,
                               const struct partition_placement *place, struct err *err)
{
    uint32_t workers = job->spec.workers_per_instance;
    AUTO(mem) struct pod_launcher_host *hosts = mem_alloc(workers * sizeof(*hosts));

    for (uint32_t w = 0; w < workers; w++)
        hosts[w] = (struct pod_launcher_host){"192.0.2.1", place->agent_port};
    return pod_launcher_pod(job, 0, hosts, place, &r->options.pods, err);
}

/* ---- keys and policy ---- */

void launch_send_keys(struct execution *execution, struct op *op, const struct job *job)
{
    const struct record *record = reconciler_record(execution->r, op->name);
    size_t size = (size_t)job->spec.workers_per_instance * POD_SECRETS_KEY_BYTES;
    AUTO(mem) unsigned char *keys = job->spec.has_launcher ? mem_alloc(size) : NULL;
    AUTO(json) cJSON *secret = NULL;
    AUTO(vipu_access) struct vipu_access vipu = {0};

    if (!record)
        return;
    if (keys)
        loop_random(keys, size);
    vipu = vipu_access_of(execution->r, record);
    secret = pod_secrets_build(job, op->instance, record->start, keys,
                               &(struct pod_vipu_credentials){vipu.user_id, vipu.key, vipu.ca_pem});
    execution_send(
        execution, op,
        &(struct kube_request){
            .method = "POST", .resource = &KUBE_SECRETS, .ns = job->ns, .body = secret, .retry_post = true},
        on_response);
}

void launch_send_policy(struct execution *execution, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *policy = network_policy_of_job(job);

    op->text = name_network_policy(job->name);
    execution_send(execution, op,
                   &(struct kube_request){.method = "POST",
                                          .resource = &KUBE_NETWORK_POLICIES,
                                          .ns = job->ns,
                                          .body = policy,
                                          .retry_post = true},
                   on_response);
}
