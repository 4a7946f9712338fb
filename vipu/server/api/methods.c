#include "vipu/server/api/methods.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "vipu/server/api/extension.h"
#include "vipu/server/api/listing.h"
#include "vipu/server/api/login.h"
#include "vipu/server/calls/fault_injector.h"
#include "vipu/server/calls/rpc.h"
#include "vipu/server/config/access_keys.h"
#include "vipu/server/config/faults_doc.h"
#include "vipu/server/controller/hardware.h"
#include "vipu/server/controller/tenancy.h"
#include "vipu/server/storage/group_commit.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/grpc/request.h"
#include "vipu/wire/messages/descriptors.h"
#include "vipu/wire/messages/health.h"
#include "vipu/wire/messages/reflection.h"
#include "vipu/wire/messages/replies.h"
#include "vipu/wire/messages/requests.h"

#define LIST_MAX_BYTES ((size_t)64 << 20)

struct methods {
    struct loop *loop;
    const struct server_config *config;
    struct controller *controller;
    struct metrics *metrics;
    struct fault_injector *injector;
    struct group_commit *commit;
    struct login login;
    struct grpc_server *grpc; /* NULL: not there yet */
    void (*idle_fn)(void *ctx);
    void *idle_ctx;
};

static const struct fault_quirks *quirks_of(const struct methods *m)
{
    return &fault_injector_faults(m->injector)->quirks;
}

/* The reply is sent when the change is on disk. */
static void answer_when_saved(struct methods *m, struct rpc *rpc, const char *id, struct str *reply_take)
{
    bool blocks = quirks_of(m)->blocking_operations;

    group_commit_reply_take(m->commit, rpc, blocks ? id : NULL, reply_take);
}

static void reply(struct rpc *rpc, const struct str *message)
{
    if (message->full)
        rpc_reject(rpc, GRPC_RESOURCE_EXHAUSTED, "response too large");
    else
        rpc_reply(rpc, str_slice(message));
}

static bool get_version(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                        struct err *err)
{
    AUTO(str) struct str out = {0};

    if (!wire_get_version_request(message, arena, err))
        return false;
    wire_put_version(m->config->version, &out);
    reply(rpc, &out);
    return true;
}

static bool list_partitions(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                            struct err *err)
{
    AUTO(str) struct str out = {.max = LIST_MAX_BYTES};
    const char *allocation_id;

    if (!wire_get_list(message, arena, &allocation_id, err))
        return false;
    if (*allocation_id && !tenancy_check_allocation(m->controller, rpc->user, allocation_id, err))
        return false;
    listing_put_partitions(m->controller, rpc->user, quirks_of(m), allocation_id, &out);
    reply(rpc, &out);
    return true;
}

static bool list_ipu_attributes(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                                struct err *err)
{
    AUTO(str) struct str out = {.max = LIST_MAX_BYTES};
    struct wire_names names;

    if (!wire_get_attributes_request(message, arena, &names, err))
        return false;
    listing_put_agents(m->controller, rpc->user, &names, &out);
    reply(rpc, &out);
    return true;
}

static bool reject_create(struct rpc *rpc, const struct strv *problems, const struct err *err)
{
    AUTO(str) struct str all = {.max = GRPC_TEXT_MAX};

    for (size_t i = 0; i < problems->count; i++)
        str_addf(&all, "%s%s", i ? "; " : "", problems->items[i]);
    rpc_reject(rpc, grpc_status_of_kind(err->kind), problems->count ? str_text(&all) : err->msg);
    return true;
}

/* Nothing for a partition without a user of its own. */
static bool hash_key(const char *key, struct str *ret, struct err *err)
{
    return !*key || access_key_hash(key, ret, err);
}

static void set_key_hash(struct methods *m, const char *id, const struct str *hash)
{
    if (hash->len)
        controller_set_key_hash(m->controller, id, str_text(hash));
}

static bool create_partition(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                             struct err *err)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str out = {0}, hash = {0};
    struct vipu_requirements requirements;

    if (!wire_get_create(message, arena, &requirements, err) || !tenancy_check_owner(rpc->user, err) ||
        !hash_key(requirements.access_key, &hash, err))
        return false;
    wire_put_partition_id(requirements.id, &out);
    if (tenancy_create(m->controller, rpc->user, &requirements, loop_now_ms(m->loop), &problems, err)) {
        set_key_hash(m, requirements.id, &hash);
        log_info("partition is being created", KV("partition", requirements.id),
                 KVF("ipus", "%u", requirements.size));
        answer_when_saved(m, rpc, requirements.id, &out);
        return true;
    }
    if (err->kind != ERR_EXISTS || !quirks_of(m)->create_existing_succeeds)
        return reject_create(rpc, &problems, err);
    reply(rpc, &out);
    return true;
}

static bool remove_partition(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                             struct err *err)
{
    struct wire_partition_request request;

    if (!wire_get_remove(message, arena, &request, err) || !tenancy_check_owner(rpc->user, err))
        return false;
    if (!tenancy_find(m->controller, rpc->user, request.partition_id, err) ||
        !controller_remove(m->controller, request.partition_id, request.flag, loop_now_ms(m->loop), err)) {
        if (err->kind != ERR_NOT_FOUND || !quirks_of(m)->remove_unknown_succeeds)
            return false;
        reply(rpc, &(struct str){0});
        return true;
    }
    log_info("partition is being removed", KV("partition", request.partition_id));
    answer_when_saved(m, rpc, request.partition_id, &(struct str){0});
    return true;
}

static bool reset_partition(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                            struct err *err)
{
    AUTO(str) struct str hash = {0};
    struct wire_partition_request request;

    if (!wire_get_reset(message, arena, &request, err) ||
        (*request.access_key && !tenancy_check_owner(rpc->user, err)) ||
        !hash_key(request.access_key, &hash, err) ||
        !tenancy_find(m->controller, rpc->user, request.partition_id, err) ||
        !controller_reset(m->controller, request.partition_id, request.flag, loop_now_ms(m->loop), err))
        return false;
    set_key_hash(m, request.partition_id, &hash);
    log_info("partition is being reset", KV("partition", request.partition_id));
    answer_when_saved(m, rpc, request.partition_id, &(struct str){0});
    return true;
}

static bool get_status(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                       struct err *err)
{
    AUTO(str) struct str out = {0};
    struct wire_partition_request request;
    struct vipu_status status;
    const struct controller_partition *entry;

    if (!wire_get_status_request(message, arena, &request, err) ||
        !(entry = tenancy_find(m->controller, rpc->user, request.partition_id, err)))
        return false;
    status = controller_status(m->controller, entry);
    status.ready_state = listing_state(entry, quirks_of(m));
    wire_put_status(&status, &out);
    reply(rpc, &out);
    return true;
}

static bool reject_inactive(const struct controller_partition *entry, struct err *err)
{
    const char *id = entry->partition.id;

    if (entry->errors.count == 0)
        return err_set(err, ERR_CONFLICT, "partition %s is %s, not ACTIVE", id,
                       vipu_ready_state_name(entry->partition.ready_state));
    return err_set(err, ERR_CONFLICT, "partition %s is %s, not ACTIVE: %s; try \"vipu reset partition %s\"",
                   id, vipu_ready_state_name(entry->partition.ready_state), entry->errors.items[0], id);
}

static bool get_ipuof(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                      struct err *err)
{
    AUTO(vipu_ipuof_config) struct vipu_ipuof_config config = {0};
    AUTO(str) struct str out = {0};
    struct wire_ipuof_request request;
    const struct controller_partition *entry;

    if (!wire_get_ipuof_request(message, arena, &request, err) ||
        !(entry = tenancy_find(m->controller, rpc->user, request.partition_id, err)))
        return false;
    if (entry->partition.ready_state != VIPU_READY_ACTIVE)
        return reject_inactive(entry, err);
    if (!hardware_ipuof(entry->cluster, &entry->partition, request.has_gcd ? (int64_t)request.gcd : -1,
                        &config, err))
        return false;
    wire_put_ipuof(&config, &out);
    reply(rpc, &out);
    return true;
}

static bool list_allocations(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                             struct err *err)
{
    AUTO(str) struct str out = {.max = LIST_MAX_BYTES};

    if (!wire_get_nothing(message, arena, err))
        return false;
    extension_put_allocations(m->controller->clusters, rpc->user, &out);
    reply(rpc, &out);
    return true;
}

static bool list_clusters(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                          struct err *err)
{
    AUTO(str) struct str out = {.max = LIST_MAX_BYTES};

    if (!wire_get_nothing(message, arena, err))
        return false;
    extension_put_clusters(m->controller->clusters, rpc->user, &out);
    reply(rpc, &out);
    return true;
}

static bool get_capacity(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                         struct err *err)
{
    AUTO(str) struct str out = {0};
    struct wire_place place;

    if (!wire_get_capacity_request(message, arena, &place, err) ||
        !extension_put_capacity(m->controller, rpc->user, &place, &out, err))
        return false;
    reply(rpc, &out);
    return true;
}

static bool has_service(const char *service)
{
    AUTO(strv) struct strv services = {0};

    descriptors_services(&services);
    return strv_has(&services, service);
}

/* The empty name is the whole server. */
static bool check_health(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                         struct err *err)
{
    AUTO(str) struct str out = {0};
    const char *service;

    (void)m;
    if (!wire_get_health_request(message, arena, &service, err))
        return false;
    if (*service && !has_service(service))
        return err_set(err, ERR_NOT_FOUND, "service \"%s\" not found", service);
    wire_put_serving(&out);
    reply(rpc, &out);
    return true;
}

/* The call stays open, but its status never changes: the server ends with its connections. */
static bool watch_health(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                         struct err *err)
{
    AUTO(str) struct str out = {0};
    const char *service;

    (void)m;
    if (!wire_get_health_request(message, arena, &service, err))
        return false;
    if (*service && !has_service(service))
        wire_put_service_unknown(&out);
    else
        wire_put_serving(&out);
    reply(rpc, &out);
    return true;
}

static bool reflect(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                    struct err *err)
{
    AUTO(str) struct str out = {0};

    (void)m;
    if (!wire_answer_reflection(message, arena, &out, err))
        return false;
    reply(rpc, &out);
    return true;
}

/* False, without a reply, if the call is rejected; err says why. */
typedef bool (*method_fn)(struct methods *m, struct rpc *rpc, struct slice message, struct arena *arena,
                          struct err *err);

static const struct {
    const char *path;
    method_fn fn;
    enum grpc_method_kind kind;
} table[] = {
    {"/virmgrpc.VersionService/GetVersion", get_version, GRPC_UNARY},
    {"/virmgrpc.UserService/ListPartitions", list_partitions, GRPC_UNARY},
    {"/virmgrpc.UserService/ListIPUAttributes", list_ipu_attributes, GRPC_UNARY},
    {"/virmgrpc.UserService/CreatePartition", create_partition, GRPC_UNARY},
    {"/virmgrpc.UserService/RemovePartition", remove_partition, GRPC_UNARY},
    {"/virmgrpc.UserService/ResetPartition", reset_partition, GRPC_UNARY},
    {"/virmgrpc.UserService/GetPartitionIpuofConfig", get_ipuof, GRPC_UNARY},
    {"/virmgrpc.UserService/GetPartitionStatus", get_status, GRPC_UNARY},
    {WIRE_EXTENSION "ListAllocations", list_allocations, GRPC_UNARY},
    {WIRE_EXTENSION "ListClusters", list_clusters, GRPC_UNARY},
    {WIRE_EXTENSION "GetCapacity", get_capacity, GRPC_UNARY},
    {WIRE_HEALTH "Check", check_health, GRPC_UNARY},
    {WIRE_HEALTH "Watch", watch_health, GRPC_WATCH},
    {WIRE_REFLECTION "ServerReflectionInfo", reflect, GRPC_EXCHANGE},
};

static size_t find_method(struct slice path)
{
    size_t i = 0;

    if (slice_eq(path, WIRE_REFLECTION_V1ALPHA "ServerReflectionInfo"))
        path = slice_of(WIRE_REFLECTION "ServerReflectionInfo");
    while (i < COUNT_OF(table) && !slice_eq(path, table[i].path))
        i++;
    return i;
}

enum grpc_method_kind methods_kind(struct slice path)
{
    size_t method = find_method(path);

    return method < COUNT_OF(table) ? table[method].kind : GRPC_UNARY;
}

/* The probes have no user. */
static bool is_probe(method_fn fn)
{
    return fn == check_health || fn == watch_health;
}

/* The user is looked up right before the call runs: a reload may have changed the users since the call
 * arrived. */
static bool authenticate(struct methods *m, struct rpc *rpc, struct err *err)
{
    const struct login_attempt attempt = {
        .peer = grpc_server_call_peer(rpc->call),
        .connection = grpc_server_call_connection(rpc->call),
        .user_id = grpc_server_call_user_id(rpc->call),
        .access_key = grpc_server_call_access_key(rpc->call),
        .certificate = grpc_server_call_certificate(rpc->call),
        .now_ms = loop_now_ms(m->loop),
    };

    if (!m->config->secure || is_probe(table[rpc->method].fn))
        return true;
    rpc->user = login_check(&m->login, &attempt, &m->config->users, m->controller, &rpc->holder, err);
    return rpc->user != NULL;
}

static void reject_unknown(struct rpc *rpc)
{
    const char *path = grpc_server_call_path(rpc->call);
    AUTO(mem)
    char *text = *path ? mem_printf("unknown method \"%s\"", path)
                       : mem_printf("unknown method: its name is longer than %u bytes", REQUEST_PATH_MAX);

    rpc_reject(rpc, GRPC_UNIMPLEMENTED, text);
}

/* A fault_injector_fn. */
static void carry_out(void *ctx, struct rpc *rpc, struct slice message)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
    struct methods *m = ctx;
    struct err err;

    if (rpc->method == COUNT_OF(table))
        reject_unknown(rpc);
    else if (!authenticate(m, rpc, &err))
        rpc_reject(rpc, GRPC_UNAUTHENTICATED, err.msg);
    else if (!table[rpc->method].fn(m, rpc, message, &arena, &err))
        rpc_reject(rpc, grpc_status_of_kind(err.kind), err.msg);
}

static const char *name_of(size_t method)
{
    return method < COUNT_OF(table) ? strrchr(table[method].path, '/') + 1 : "other";
}

void methods_answer(void *ctx, struct grpc_server_call *call, struct slice path, struct slice message)
{
    struct methods *m = ctx;
    size_t method = find_method(path);

    fault_injector_handle(m->injector, call, m->metrics, method, name_of(method), message);
}

void methods_settle(struct methods *m)
{
    group_commit_settle(m->commit);
}

void methods_on_idle(struct methods *m, void (*fn)(void *ctx), void *ctx)
{
    m->idle_fn = fn;
    m->idle_ctx = ctx;
}

bool methods_is_busy(const struct methods *m)
{
    return group_commit_is_busy(m->commit);
}

void methods_set_faults_take(struct methods *m, struct faults *faults)
{
    struct faults *in_force = fault_injector_set_faults_take(m->injector, faults);

    if (in_force->forget)
        controller_forget(m->controller);
    in_force->forget = in_force->drop_connections = false;
    controller_set_faults(m->controller, in_force, loop_now_ms(m->loop));
    group_commit_step_soon(m->commit);
}

const struct faults *methods_faults(const struct methods *m)
{
    return fault_injector_faults(m->injector);
}

void methods_users_changed(struct methods *m)
{
    login_end_pauses(&m->login);
}

static void on_busy(void *ctx, bool is_busy)
{
    struct methods *m = ctx;

    fault_injector_set_paused(m->injector, is_busy);
    if (m->grpc)
        grpc_server_set_paused(m->grpc, is_busy);
}

static void on_idle(void *ctx)
{
    struct methods *m = ctx;

    if (m->idle_fn)
        m->idle_fn(m->idle_ctx);
}

void methods_set_server(struct methods *m, struct grpc_server *grpc)
{
    group_commit_flush(m->commit);
    m->grpc = grpc;
}

static void on_time(void *ctx)
{
    fault_injector_step(((struct methods *)ctx)->injector);
}

struct methods *methods_new(struct loop *loop, const struct server_config *config,
                            struct controller *controller, struct store *store, struct metrics *metrics)
{
    struct methods *m = NEW(struct methods);
    const struct group_commit_owner owner = {.loop = loop,
                                             .controller = controller,
                                             .store = store,
                                             .metrics = metrics,
                                             .on_time = on_time,
                                             .time_ctx = m,
                                             .on_busy = on_busy,
                                             .on_idle = on_idle,
                                             .busy_ctx = m};

    *m = (struct methods){.loop = loop, .config = config, .controller = controller, .metrics = metrics};
    m->login.failures = metrics->failed_logins;
    loop_random(&m->login.seed, sizeof(m->login.seed));
    m->injector = fault_injector_new(loop, carry_out, m);
    m->commit = group_commit_new(&owner);
    for (size_t i = 0; i <= COUNT_OF(table); i++) {
        assert(i == COUNT_OF(table) || faults_know_method(name_of(i)));
        metrics_add_method(metrics, name_of(i));
    }
    group_commit_step(m->commit);
    return m;
}

void methods_free(struct methods *m)
{
    if (!m)
        return;
    group_commit_free(m->commit);
    fault_injector_free(m->injector);
    mem_free(m);
}
