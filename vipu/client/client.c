#include "vipu/client/client.h"

#include "base/core/mem.h"
#include "vipu/wire/grpc/channel.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/messages/replies.h"
#include "vipu/wire/messages/requests.h"

#define SILENCE_MS 4000u
#define MAX_LIST_BYTES ((size_t)64 << 20)
#define MAX_REPLY_BYTES ((size_t)4 << 20)

struct vipu_client {
    struct channel *channel;
    int64_t deadline_ms;
};

/* The context of the channel's call. */
struct vipu_call {
    struct channel_call *wire;
    int64_t begun_us;
    union {
        vipu_done_fn done;
        vipu_text_fn text;
        vipu_partitions_fn partitions;
        vipu_agents_fn agents;
        vipu_count_fn count;
        vipu_status_fn status;
        vipu_ipuof_fn ipuof;
        vipu_message_fn message;
    } fn;
    void *ctx;
};

bool vipu_result_is_unknown(const struct vipu_result *result)
{
    enum err_kind kind = result->err.kind;

    return result->sent && (kind == ERR_TIMEOUT || kind == ERR_IO || kind == ERR_INTERNAL);
}

static struct channel_credentials access_of(const struct vipu_endpoint *endpoint)
{
    return (struct channel_credentials){
        .user_id = endpoint->user_id,
        .access_key = endpoint->access_key,
        .tls = endpoint->tls,
        .files = {.certificate = endpoint->cert_file, .key = endpoint->key_file, .ca = endpoint->ca_file},
    };
}

struct vipu_client *vipu_client_new(struct loop *loop, const struct vipu_client_options *options)
{
    struct vipu_client *client = NEW(struct vipu_client);
    struct channel_options o = {
        .host = options->endpoint.host,
        .port = options->endpoint.port ? options->endpoint.port : VIPU_DEFAULT_PORT,
        .user_agent = options->user_agent ? options->user_agent : "ipu-operator/" IPU_OPERATOR_VERSION,
        .max_in_flight = options->max_in_flight ? options->max_in_flight : VIPU_CLIENT_MAX_IN_FLIGHT,
        .idle_timeout_ms = SILENCE_MS,
        .access = access_of(&options->endpoint),
        .may_send = options->may_send,
        .may_send_ctx = options->may_send_ctx,
    };

    client->channel = channel_new(loop, &o);
    client->deadline_ms =
        options->default_deadline_ms ? options->default_deadline_ms : VIPU_CLIENT_DEADLINE_MS;
    return client;
}

void vipu_client_free(struct vipu_client *client)
{
    if (!client)
        return;
    channel_free(client->channel);
    mem_free(client);
}

void vipu_client_abort(struct vipu_client *client)
{
    channel_abort(client->channel);
}

void vipu_client_set_credentials(struct vipu_client *client, const struct vipu_endpoint *endpoint)
{
    const struct channel_credentials access = access_of(endpoint);

    channel_set_credentials(client->channel, &access);
}

void vipu_client_reject_calls(struct vipu_client *client, const struct err *why)
{
    channel_reject_calls(client->channel, why);
}

const char *vipu_client_target(const struct vipu_client *client)
{
    return channel_target(client->channel);
}

static struct vipu_result result_of(const struct vipu_call *call, const struct channel_reply *reply)
{
    return (struct vipu_result){.err = reply->err,
                                .sent = reply->sent,
                                .took_us = loop_clock_us() - call->begun_us,
                                .reason = reply->reason};
}

static void on_text(struct vipu_call *call, const struct channel_reply *reply,
                    bool (*decode)(struct slice bytes, char **ret, struct err *err))
{
    struct vipu_result result = result_of(call, reply);
    AUTO(mem) char *text = NULL;

    if (result.err.kind == ERR_NONE && !decode(reply->message, &text, &result.err))
        result.err.code = GRPC_INTERNAL;
    call->fn.text(call->ctx, &result, text ? text : "");
}

static void on_version(void *ctx, const struct channel_reply *reply)
{
    on_text(ctx, reply, wire_get_version);
}

static void on_created(void *ctx, const struct channel_reply *reply)
{
    on_text(ctx, reply, wire_get_partition_id);
}

static void on_done(void *ctx, const struct channel_reply *reply)
{
    struct vipu_call *call = ctx;
    struct vipu_result result = result_of(call, reply);

    if (result.err.kind == ERR_NONE && !wire_get_empty(reply->message, &result.err))
        result.err.code = GRPC_INTERNAL;
    call->fn.done(call->ctx, &result);
}

static void on_partitions(void *ctx, const struct channel_reply *reply)
{
    struct vipu_call *call = ctx;
    struct vipu_result result = result_of(call, reply);
    AUTO(vipu_partitions) struct vipu_partitions list = {0};

    if (result.err.kind == ERR_NONE &&
        !wire_get_partitions(reply->message, WIRE_REPLY_BUDGET, &list, &result.err))
        result.err.code = GRPC_INTERNAL;
    call->fn.partitions(call->ctx, &result, &list);
}

static void on_agents(void *ctx, const struct channel_reply *reply)
{
    struct vipu_call *call = ctx;
    struct vipu_result result = result_of(call, reply);
    AUTO(vipu_agents) struct vipu_agents agents = {0};

    if (result.err.kind == ERR_NONE &&
        !wire_get_agents(reply->message, WIRE_REPLY_BUDGET, &agents, &result.err))
        result.err.code = GRPC_INTERNAL;
    call->fn.agents(call->ctx, &result, &agents);
}

static void on_count(void *ctx, const struct channel_reply *reply)
{
    struct vipu_call *call = ctx;
    struct vipu_result result = result_of(call, reply);
    uint32_t count = 0;

    if (result.err.kind == ERR_NONE && !wire_count_ipus(reply->message, &count, &result.err))
        result.err.code = GRPC_INTERNAL;
    call->fn.count(call->ctx, &result, count);
}

static void on_status(void *ctx, const struct channel_reply *reply)
{
    struct vipu_call *call = ctx;
    struct vipu_result result = result_of(call, reply);
    AUTO(vipu_status) struct vipu_status status = {0};

    if (result.err.kind == ERR_NONE && !wire_get_status(reply->message, &status, &result.err))
        result.err.code = GRPC_INTERNAL;
    call->fn.status(call->ctx, &result, &status);
}

static void on_ipuof(void *ctx, const struct channel_reply *reply)
{
    struct vipu_call *call = ctx;
    struct vipu_result result = result_of(call, reply);
    AUTO(vipu_ipuof_config) struct vipu_ipuof_config config = {0};

    if (result.err.kind == ERR_NONE && !wire_get_ipuof(reply->message, &config, &result.err))
        result.err.code = GRPC_INTERNAL;
    call->fn.ipuof(call->ctx, &result, &config);
}

static void on_message(void *ctx, const struct channel_reply *reply)
{
    struct vipu_call *call = ctx;
    struct vipu_result result = result_of(call, reply);

    call->fn.message(call->ctx, &result, reply->message);
}

static const struct method {
    const char *path;
    channel_done_fn done;
    size_t max_reply;
    bool writes;
} get_version = {"/virmgrpc.VersionService/GetVersion", on_version, MAX_REPLY_BYTES, false},
  list_partitions = {"/virmgrpc.UserService/ListPartitions", on_partitions, MAX_LIST_BYTES, false},
  list_ipu_attributes = {"/virmgrpc.UserService/ListIPUAttributes", on_agents, MAX_LIST_BYTES, false},
  count_ipus = {"/virmgrpc.UserService/ListIPUAttributes", on_count, MAX_LIST_BYTES, false},
  create_partition = {"/virmgrpc.UserService/CreatePartition", on_created, MAX_REPLY_BYTES, true},
  remove_partition = {"/virmgrpc.UserService/RemovePartition", on_done, MAX_REPLY_BYTES, true},
  reset_partition = {"/virmgrpc.UserService/ResetPartition", on_done, MAX_REPLY_BYTES, true},
  get_status = {"/virmgrpc.UserService/GetPartitionStatus", on_status, MAX_REPLY_BYTES, false},
  get_ipuof = {"/virmgrpc.UserService/GetPartitionIpuofConfig", on_ipuof, MAX_REPLY_BYTES, false};

static struct vipu_call *start_call(struct vipu_client *client, const struct method *method,
                                    struct slice message, int64_t deadline_ms, const struct vipu_call *call)
{
    struct channel_request request = {
        .path = method->path,
        .message = message,
        .max_reply = method->max_reply,
        .deadline_ms = deadline_ms > 0 ? deadline_ms : client->deadline_ms,
        .gated = method->writes,
        .ctx = call,
        .ctx_bytes = sizeof(*call),
    };
    struct channel_call *wire = channel_call(client->channel, &request, method->done);
    struct vipu_call *handle = channel_call_ctx(wire);

    handle->wire = wire;
    handle->begun_us = loop_clock_us();
    return handle;
}

struct vipu_call *vipu_get_version(struct vipu_client *client, int64_t deadline_ms, vipu_text_fn done,
                                   void *ctx)
{
    struct str message = {0};

    return start_call(client, &get_version, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.text = done, .ctx = ctx});
}

struct vipu_call *vipu_list_partitions(struct vipu_client *client, const char *allocation_id,
                                       int64_t deadline_ms, vipu_partitions_fn done, void *ctx)
{
    AUTO(str) struct str message = {0};

    wire_put_list(allocation_id, &message);
    return start_call(client, &list_partitions, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.partitions = done, .ctx = ctx});
}

struct vipu_call *vipu_list_ipu_attributes(struct vipu_client *client, int64_t deadline_ms,
                                           vipu_agents_fn done, void *ctx)
{
    struct str message = {0};

    return start_call(client, &list_ipu_attributes, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.agents = done, .ctx = ctx});
}

struct vipu_call *vipu_count_ipus(struct vipu_client *client, int64_t deadline_ms, vipu_count_fn done,
                                  void *ctx)
{
    struct str message = {0};

    return start_call(client, &count_ipus, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.count = done, .ctx = ctx});
}

struct vipu_call *vipu_create_partition(struct vipu_client *client,
                                        const struct vipu_requirements *requirements, int64_t deadline_ms,
                                        vipu_text_fn done, void *ctx)
{
    AUTO(str) struct str message = {0};

    wire_put_create(requirements, &message);
    return start_call(client, &create_partition, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.text = done, .ctx = ctx});
}

struct vipu_call *vipu_remove_partition(struct vipu_client *client, const char *id, bool force,
                                        int64_t deadline_ms, vipu_done_fn done, void *ctx)
{
    AUTO(str) struct str message = {0};

    wire_put_remove(id, force, &message);
    return start_call(client, &remove_partition, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.done = done, .ctx = ctx});
}

struct vipu_call *vipu_reset_partition(struct vipu_client *client, const char *id, bool relocatable,
                                       const char *access_key, int64_t deadline_ms, vipu_done_fn done,
                                       void *ctx)
{
    AUTO(str) struct str message = {0};

    wire_put_reset(id, relocatable, access_key, &message);
    return start_call(client, &reset_partition, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.done = done, .ctx = ctx});
}

struct vipu_call *vipu_get_partition_status(struct vipu_client *client, const char *id, int64_t deadline_ms,
                                            vipu_status_fn done, void *ctx)
{
    AUTO(str) struct str message = {0};

    wire_put_status_request(id, &message);
    return start_call(client, &get_status, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.status = done, .ctx = ctx});
}

struct vipu_call *vipu_get_ipuof_config(struct vipu_client *client, const char *id, int64_t gcd,
                                        int64_t deadline_ms, vipu_ipuof_fn done, void *ctx)
{
    AUTO(str) struct str message = {0};

    wire_put_ipuof_request(&(struct wire_ipuof_request){id, gcd >= 0, (uint32_t)gcd}, &message);
    return start_call(client, &get_ipuof, str_slice(&message), deadline_ms,
                      &(struct vipu_call){.fn.ipuof = done, .ctx = ctx});
}

struct vipu_call *vipu_read_message(struct vipu_client *client, const char *path, struct slice message,
                                    int64_t deadline_ms, vipu_message_fn done, void *ctx)
{
    const struct method method = {path, on_message, MAX_LIST_BYTES, false};

    return start_call(client, &method, message, deadline_ms,
                      &(struct vipu_call){.fn.message = done, .ctx = ctx});
}

void vipu_call_cancel(struct vipu_call *call)
{
    if (call)
        channel_call_cancel(call->wire);
}
