#include "operator/reconcile/act/launcher_requests.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/names.h"
#include "operator/api/podaccess.h"
#include "operator/api/podlaunch.h"

static const struct record *record_of(const struct reconciler *r, const char *id)
{
    return store_view(watch_store(r->records), r->options.operator_ns, id);
}

static bool is_of_run(const struct pod *pod, const struct job *job, const struct record *record)
{
    return str_eq(pod->job_uid, job->uid) && pod->partition && str_eq(pod->partition, record->name) &&
           pod->run == record->run;
}

/* ---- ports ---- */

struct taken {
    bool ports[AGENT_HOST_PORT_COUNT];
};

/* Returns the port, or 0 when it is none of ours. */
static uint16_t take(struct taken *taken, uint16_t port)
{
    if (port < AGENT_HOST_PORT_FIRST || port >= AGENT_HOST_PORT_FIRST + AGENT_HOST_PORT_COUNT)
        return 0;
    taken->ports[port - AGENT_HOST_PORT_FIRST] = true;
    return port;
}

/* By pods that are there, and by runs whose pods are not yet. */
static void find_taken(const struct reconciler *r, struct taken *taken)
{
    void *value;

    for (const struct store_item *i = store_first(watch_store(r->pods)); i; i = store_next(i)) {
        const struct pod *pod = i->view;

        if (!pod_is_terminal(pod))
            take(taken, pod->agent_port);
    }
    for (size_t i = 0; map_next(&r->memories, &i, NULL, &value);) {
        const struct job_memory *memory = value;

        for (size_t p = 0; map_next(&memory->parts, &p, NULL, &value);) {
            const struct part_memory *part = value;

            for (uint32_t w = 0; w < part->agent_port_count; w++)
                take(taken, part->agent_ports[w]);
        }
    }
}

/* The next free one from *at on; when all are taken, the scheduler finds another node. */
static uint16_t take_free(struct taken *taken, uint32_t *at)
{
    for (uint32_t n = 0; n < AGENT_HOST_PORT_COUNT && taken->ports[*at]; n++)
        *at = (*at + 1) % AGENT_HOST_PORT_COUNT;
    return take(taken, (uint16_t)(AGENT_HOST_PORT_FIRST + *at));
}

/* Pods of this run that a process before this one has made keep theirs. */
static void recall_ports(const struct reconciler *r, const struct job *job, const struct record *record,
                         uint16_t *ports)
{
    for (const struct store_item *i = store_first_of(watch_store(r->pods), job->key); i;
         i = store_next_of(i)) {
        const struct pod *pod = i->view;

        if (is_of_run(pod, job, record) && pod->worker < record->workers)
            ports[pod->worker] = pod->agent_port;
    }
}

static void choose_ports(const struct reconciler *r, const struct job *job, const struct record *record,
                         struct part_memory *part)
{
    AUTO(mem) struct taken *taken = NEW(struct taken);
    uint32_t at = name_master_port(record->job_uid, record->instance) % AGENT_HOST_PORT_COUNT;

    find_taken(r, taken);
    part->agent_ports = mem_alloc(record->workers * sizeof(*part->agent_ports));
    part->agent_port_count = record->workers;
    recall_ports(r, job, record, part->agent_ports);
    for (uint32_t w = 0; w < record->workers; w++) {
        if (!part->agent_ports[w])
            part->agent_ports[w] = take_free(taken, &at);
    }
}

uint16_t launch_port(struct reconciler *r, const struct job *job, const struct record *record,
                     uint32_t worker)
{
    struct job_memory *memory = reconciler_memory(r, job->key, job->uid);
    struct part_memory *part = memory_part(memory, record->name, loop_now_ms(r->loop));

    if (!podlaunch_uses_host_network(job, &r->options.pods))
        return AGENT_PORT;
    if (!part->agent_ports)
        choose_ports(r, job, record, part);
    return worker < part->agent_port_count ? part->agent_ports[worker] : 0;
}

/* ---- the launcher pod ---- */

cJSON *launch_make_pod(const struct reconciler *r, const struct job *job, uint32_t instance,
                       const struct podspec_place *place, struct err *err)
{
    uint32_t workers = job->spec.workers_per_instance, found = 0;
    AUTO(mem) struct podlaunch_host *hosts = mem_alloc(workers * sizeof(*hosts));
    const struct record *record = record_of(r, place->partition);

    for (const struct store_item *i = store_first_of(watch_store(r->pods), job->key); i;
         i = store_next_of(i)) {
        const struct pod *pod = i->view;

        if (!is_of_run(pod, job, record) || pod->worker >= workers || !pod->ip || hosts[pod->worker].ip)
            continue;
        hosts[pod->worker] = (struct podlaunch_host){pod->ip, pod->agent_port};
        found++;
    }
    if (found < workers) {
        err_set(err, ERR_NOT_FOUND, "%u of %u workers of instance %u are there", found, workers, instance);
        return NULL;
    }
    return podlaunch_pod(job, instance, hosts, place, &r->options.pods, err);
}

cJSON *launch_make_trial(const struct reconciler *r, const struct job *job, const struct podspec_place *place,
                         struct err *err)
{
    uint32_t workers = job->spec.workers_per_instance;
    AUTO(mem) struct podlaunch_host *hosts = mem_alloc(workers * sizeof(*hosts));

    for (uint32_t w = 0; w < workers; w++)
        hosts[w] = (struct podlaunch_host){"192.0.2.1", place->agent_port};
    return podlaunch_pod(job, 0, hosts, place, &r->options.pods, err);
}

/* ---- keys and policy ---- */

void launch_send_keys(struct work *work, struct op *op, const struct job *job)
{
    const struct record *record = record_of(work->r, op->name);
    size_t size = (size_t)job->spec.workers_per_instance * PODACCESS_KEY_BYTES;
    AUTO(mem) unsigned char *keys = job->spec.has_launcher ? mem_alloc(size) : NULL;
    AUTO(json) cJSON *secret = NULL;
    struct podaccess_vipu vipu;

    if (!record)
        return;
    if (keys)
        loop_random(keys, size);
    vipu = vipu_access(work->r, record->controller);
    secret = podaccess_secret(job, op->instance, record->start, keys, &vipu);
    work_send(
        work, op,
        &(struct kube_request){
            .method = "POST", .resource = &KUBE_SECRETS, .ns = job->ns, .body = secret, .retry_post = true},
        answer_op);
}

/* Nobody reads it: "exists" is an answer, because its name belongs to this start and it is written whole. One
 * that could be made though pods wait for it had been there before, with other keys. */
void launch_on_keys_created(struct request *request, struct kube_response *res)
{
    struct work *work = request->work;
    struct job_memory *memory = work_memory(work);
    int64_t now = loop_now_ms(work->r->loop);
    bool was_lost = res->err.kind == ERR_NONE && request->op.ready;

    if (memory) {
        struct part_memory *part = memory_part(memory, request->op.name, now);

        part->keys = was_lost ? KEYS_LOST : KEYS_THERE;
        part->keys_at_ms = now;
    }
    work_again_at(work, now);
}

void launch_send_policy(struct work *work, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *policy = podaccess_network_policy(job);

    op->text = name_network_policy(job->name);
    work_send(work, op,
              &(struct kube_request){.method = "POST",
                                     .resource = &KUBE_NETWORK_POLICIES,
                                     .ns = job->ns,
                                     .body = policy,
                                     .retry_post = true},
              answer_op);
}
