/* vipu/client/client.h in the simulator: calls travel to the controllers in memory. */
#include "vipu/client/client.h"

#include <assert.h>

#include "base/core/mem.h"
#include "fakes/loop.h"
#include "fakes/net.h"
#include "vipu/server/controller/hardware.h"
#include "vipu/server/controller/tenancy.h"

enum method { LIST, AGENTS, CREATE, REMOVE, RESET, STATUS, VERSION };

struct vipu_client {
    struct loop *loop;
    char *target;
    int64_t deadline_ms;
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
    struct vipu_call *first;
};

struct vipu_call {
    struct vipu_client *client;
    struct vipu_call *prev, *next;
    enum method method;
    union {
        vipu_done_fn done;
        vipu_text_fn text;
        vipu_partitions_fn partitions;
        vipu_count_fn count;
        vipu_status_fn status;
    } fn;
    void *ctx;
    struct planned *end; /* its deadline, or how it ends in the next turn */
    struct vipu_result result;
    struct rpc_message *rpc_message; /* on the way */
};

/* A call on its way, and then its response. It lives on if the call is cancelled. */
struct rpc_message {
    struct rpc_message *prev, *next;
    struct vipu_call *call;
    struct sim_vipu *side;
    enum method method;
    char *id, *allocation, *cluster;
    struct vipu_ipu *ipus;
    char *record;                          /* see struct vipu_order */
    struct vipu_requirements requirements; /* what it points to is owned */
    bool flag;                             /* force, or relocatable */
    struct delivery delivery;
    unsigned planned;
    /* the answer */
    struct err err;
    struct str reason; /* why not, whole */
    struct vipu_partitions partitions;
    struct vipu_status status;
    uint32_t total_ipus;
};

bool vipu_result_is_unknown(const struct vipu_result *result)
{
    enum err_kind kind = result->err.kind;

    return result->sent && (kind == ERR_TIMEOUT || kind == ERR_IO || kind == ERR_INTERNAL);
}

/* ---- rpc_messages ---- */

static void rpc_message_free(struct rpc_message *message)
{
    *(message->prev ? &message->prev->next : &net->rpc_messages) = message->next;
    if (message->next)
        message->next->prev = message->prev;
    if (message->call)
        message->call->rpc_message = NULL;
    vipu_partitions_release(&message->partitions);
    vipu_status_release(&message->status);
    str_release(&message->reason);
    mem_free(message->id);
    mem_free(message->allocation);
    mem_free(message->cluster);
    mem_free(message->ipus);
    mem_free(message->record);
    mem_free(message);
}

static void rpc_message_plan(struct rpc_message *message, int64_t delay_ms, const struct host *host,
                             clock_fn fn)
{
    message->planned++;
    clock_plan(delay_ms, host, fn, message);
}

static void rpc_message_done(struct rpc_message *message)
{
    if (--message->planned == 0)
        rpc_message_free(message);
}

void net_drop_rpc_messages(struct net *of)
{
    while (of->rpc_messages)
        rpc_message_free(of->rpc_messages);
}

/* ---- the end of a call ---- */

static void call_free(struct vipu_call *call)
{
    *(call->prev ? &call->prev->next : &call->client->first) = call->next;
    if (call->next)
        call->next->prev = call->prev;
    if (call->rpc_message)
        call->rpc_message->call = NULL;
    clock_cancel(call->end);
    mem_free(call);
}

static void end(struct vipu_call *call, struct rpc_message *message)
{
    struct vipu_call over = *call;
    struct vipu_partitions no_partitions = {0};
    struct vipu_status no_status = {0};
    bool is_good = over.result.err.kind == ERR_NONE;

    net->news += !is_good || (net->lists_are_news && over.method == LIST);
    over.result.reason = is_good                          ? ""
                         : message && message->reason.len ? str_text(&message->reason)
                                                          : over.result.err.msg;
    call_free(call);
    switch (over.method) {
    case LIST:
        over.fn.partitions(over.ctx, &over.result, is_good ? &message->partitions : &no_partitions);
        break;
    case AGENTS:
        over.fn.count(over.ctx, &over.result, is_good ? message->total_ipus : 0);
        break;
    case CREATE:
        over.fn.text(over.ctx, &over.result, is_good ? message->id : "");
        break;
    case REMOVE:
    case RESET:
        over.fn.done(over.ctx, &over.result);
        break;
    case STATUS:
        over.fn.status(over.ctx, &over.result, is_good ? &message->status : &no_status);
        break;
    case VERSION:
        over.fn.text(over.ctx, &over.result, is_good ? "1.18.0" : "");
        break;
    }
}

static void end_as_said(void *ctx)
{
    struct vipu_call *call = ctx;

    call->end = NULL;
    end(call, NULL);
}

static void end_soon(struct vipu_call *call, enum err_kind kind, bool sent, const char *why)
{
    clock_cancel(call->end);
    err_set(&call->result.err, kind, "%s", why);
    call->result.sent = sent;
    call->end = clock_plan(0, loop_host(call->client->loop), end_as_said, call);
}

static void deliver(void *ctx)
{
    struct rpc_message *message = ctx;
    struct vipu_call *call = message->call;

    message->call = NULL;
    if (call) {
        call->rpc_message = NULL;
        call->result = (struct vipu_result){.err = message->err, .sent = true};
        end(call, message);
    }
    rpc_message_done(message);
}

static void lose(void *ctx)
{
    struct rpc_message *message = ctx;
    struct vipu_call *call = message->call;

    message->call = NULL;
    if (call) {
        call->rpc_message = NULL;
        end_soon(call, ERR_IO, true, "the connection broke");
    }
    rpc_message_done(message);
}

/* ---- at the controller ---- */

static void list(struct rpc_message *message)
{
    const struct controller *core = &message->side->core;

    vipu_partitions_release(&message->partitions);
    message->partitions.items = mem_alloc((core->count + 1) * sizeof(struct vipu_partition));
    CONTROLLER_EACH (entry, core)
        message->partitions.items[message->partitions.count++] = vipu_partition_copy(&entry->partition);
}

static void count_ipus(struct rpc_message *message)
{
    const struct vipu_clusters *clusters = &message->side->config.clusters;

    message->total_ipus = 0;
    for (size_t i = 0; i < clusters->count; i++) {
        for (size_t d = 0; d < clusters->items[i].domain_count; d++)
            message->total_ipus += clusters->items[i].domains[d].machine_count * VIPU_AGENT_IPUS;
    }
}

static void create(struct rpc_message *message)
{
    AUTO(strv) struct strv problems = {0};
    struct vipu_requirements want = message->requirements;

    if (message->side->chooses) {
        want.ipus = NULL;
        want.ipu_count = 0;
    }
    if (tenancy_create(&message->side->core, NULL, &want, clock_now_ms(), &problems, &message->err))
        return;
    for (size_t i = 0; i < problems.count; i++)
        str_addf(&message->reason, "%s%s", i ? "; " : "", problems.items[i]);
    if (problems.count)
        err_set(&message->err, message->err.kind, "%s", str_text(&message->reason));
}

static void tell_status(struct rpc_message *message)
{
    const struct controller_partition *entry =
        controller_find(&message->side->core, message->id, &message->err);
    struct vipu_status status;

    if (!entry)
        return;
    status = controller_status(&message->side->core, entry);
    vipu_status_release(&message->status);
    message->status = status;
    message->status.partition_id = mem_strdup(status.partition_id);
    message->status.errors = mem_alloc((status.error_count + 1) * sizeof(char *));
    for (size_t i = 0; i < status.error_count; i++)
        message->status.errors[i] = mem_strdup(status.errors[i]);
}

static void carry_out(struct rpc_message *message)
{
    static const enum vipu_write writes[] = {
        [CREATE] = VIPU_CREATE, [REMOVE] = VIPU_REMOVE, [RESET] = VIPU_RESET};
    struct controller *core = &message->side->core;

    message->err = (struct err){0};
    str_clear(&message->reason);
    sim_vipu_step(message->side);
    if (message->method == CREATE || message->method == REMOVE || message->method == RESET)
        net->on_vipu_write(net->ctx, message->side,
                           &(struct vipu_order){.write = writes[message->method],
                                                .id = message->id,
                                                .record = message->record,
                                                .is_abandoned = !message->call});
    switch (message->method) {
    case LIST:
        list(message);
        break;
    case AGENTS:
        count_ipus(message);
        break;
    case CREATE:
        create(message);
        break;
    case REMOVE:
        (void)!controller_remove(core, message->id, message->flag, clock_now_ms(), &message->err);
        break;
    case RESET:
        (void)!controller_reset(core, message->id, message->flag, clock_now_ms(), &message->err);
        break;
    case STATUS:
        tell_status(message);
        break;
    case VERSION:
        break;
    }
}

static void arrive_again(void *ctx)
{
    struct rpc_message *message = ctx;
    struct err first = message->err;

    net->news++;
    carry_out(message);
    message->err = first;
    rpc_message_done(message);
}

static void arrive(void *ctx)
{
    struct rpc_message *message = ctx;
    const struct host *host = message->call ? loop_host(message->call->client->loop) : NULL;

    if (clock_now_ms() < message->side->down_until_ms) {
        lose(message);
        return;
    }
    if (clock_now_ms() < message->side->stalled_until_ms) {
        rpc_message_done(message);
        return;
    }
    net->news += message->call == NULL; /* it is late: the call was cancelled */
    carry_out(message);
    if (message->delivery.twice && message->method >= CREATE && message->method <= RESET)
        rpc_message_plan(message, message->delivery.twice_ms, NULL, arrive_again);
    if (message->delivery.answers)
        rpc_message_plan(message, message->delivery.back_ms, host, deliver);
    else if (message->delivery.breaks_ms >= 0)
        rpc_message_plan(message, message->delivery.breaks_ms, host, lose);
    rpc_message_done(message);
}

/* ---- calls ---- */

static struct sim_vipu *find_side(const char *target)
{
    for (size_t i = 0; i < net->side_count; i++) {
        if (str_eq(net->sides[i].name, target))
            return &net->sides[i];
    }
    return NULL;
}

static void on_deadline(void *ctx)
{
    struct vipu_call *call = ctx;

    call->end = NULL;
    err_set(&call->result.err, ERR_TIMEOUT, "no answer in time");
    call->result.sent = true;
    end(call, NULL);
}

static struct vipu_call *call_new(struct vipu_client *client, enum method method, int64_t deadline_ms,
                                  void *ctx)
{
    struct vipu_call *call = NEW(struct vipu_call);

    *call = (struct vipu_call){.client = client, .next = client->first, .method = method, .ctx = ctx};
    if (call->next)
        call->next->prev = call;
    client->first = call;
    call->end = clock_plan_timer(deadline_ms ? deadline_ms : client->deadline_ms, loop_host(client->loop),
                                 on_deadline, call);
    return call;
}

static bool is_write(enum method method)
{
    return method == CREATE || method == REMOVE || method == RESET;
}

static const char *const NAMES[] = {"List", "Attributes", "Create", "Remove", "Reset", "Status", "Version"};

/* The rpc_message has its contents already. */
static void post(struct vipu_call *call, struct rpc_message *message)
{
    struct host *host = loop_host(call->client->loop);

    if (is_write(call->method) && call->client->may_send &&
        !call->client->may_send(call->client->may_send_ctx)) {
        end_soon(call, ERR_DENIED, false, "request not sent: this replica is not the leader");
        rpc_message_free(message);
        return;
    }
    if (clock_now_ms() < message->side->down_until_ms) {
        end_soon(call, ERR_IO, false, "connection refused");
        rpc_message_free(message);
        return;
    }
    if (host->is_dead || !net->leaves(net->ctx, host, NAMES[call->method], is_write(call->method))) {
        rpc_message_free(message);
        return;
    }
    message->call = call;
    call->rpc_message = message;
    if (is_write(call->method))
        message->record = mem_strdup(net->record_of(net->ctx, message->id));
    message->delivery = net_delivery(true);
    if (message->delivery.arrives)
        rpc_message_plan(message, message->delivery.out_ms, NULL, arrive);
    else if (message->delivery.breaks_ms >= 0)
        rpc_message_plan(message, message->delivery.breaks_ms, host, lose);
    else
        rpc_message_free(message);
}

static struct rpc_message *rpc_message_new(struct vipu_client *client, enum method method, const char *id)
{
    struct rpc_message *message = NEW(struct rpc_message);

    message->side = find_side(client->target);
    assert(message->side);
    message->method = method;
    message->id = mem_strdup(id);
    message->next = net->rpc_messages;
    if (message->next)
        message->next->prev = message;
    net->rpc_messages = message;
    return message;
}

struct vipu_call *vipu_get_version(struct vipu_client *client, int64_t deadline_ms, vipu_text_fn done,
                                   void *ctx)
{
    struct vipu_call *call = call_new(client, VERSION, deadline_ms, ctx);

    call->fn.text = done;
    post(call, rpc_message_new(client, VERSION, NULL));
    return call;
}

struct vipu_call *vipu_list_partitions(struct vipu_client *client, const char *allocation_id,
                                       int64_t deadline_ms, vipu_partitions_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, LIST, deadline_ms, ctx);

    assert(!allocation_id || !*allocation_id);
    call->fn.partitions = done;
    post(call, rpc_message_new(client, LIST, NULL));
    return call;
}

struct vipu_call *vipu_count_ipus(struct vipu_client *client, int64_t deadline_ms, vipu_count_fn done,
                                  void *ctx)
{
    struct vipu_call *call = call_new(client, AGENTS, deadline_ms, ctx);

    call->fn.count = done;
    post(call, rpc_message_new(client, AGENTS, NULL));
    return call;
}

struct vipu_call *vipu_create_partition(struct vipu_client *client,
                                        const struct vipu_requirements *requirements, int64_t deadline_ms,
                                        vipu_text_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, CREATE, deadline_ms, ctx);
    struct rpc_message *message = rpc_message_new(client, CREATE, requirements->id);

    message->allocation = mem_strdup(requirements->allocation_id);
    message->cluster = mem_strdup(requirements->cluster_id);
    message->ipus = mem_dup(requirements->ipus, requirements->ipu_count * sizeof(*requirements->ipus));
    message->requirements = *requirements;
    message->requirements.id = message->id;
    message->requirements.allocation_id = message->allocation;
    message->requirements.cluster_id = message->cluster;
    message->requirements.ipus = message->ipus;
    call->fn.text = done;
    post(call, message);
    return call;
}

struct vipu_call *vipu_remove_partition(struct vipu_client *client, const char *id, bool force,
                                        int64_t deadline_ms, vipu_done_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, REMOVE, deadline_ms, ctx);
    struct rpc_message *message = rpc_message_new(client, REMOVE, id);

    message->flag = force;
    call->fn.done = done;
    post(call, message);
    return call;
}

struct vipu_call *vipu_reset_partition(struct vipu_client *client, const char *id, bool relocatable,
                                       const char *access_key, int64_t deadline_ms, vipu_done_fn done,
                                       void *ctx)
{
    struct vipu_call *call = call_new(client, RESET, deadline_ms, ctx);
    struct rpc_message *message = rpc_message_new(client, RESET, id);

    (void)access_key; /* the simulated controllers have no secure mode */
    message->flag = relocatable;
    call->fn.done = done;
    post(call, message);
    return call;
}

struct vipu_call *vipu_get_partition_status(struct vipu_client *client, const char *id, int64_t deadline_ms,
                                            vipu_status_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, STATUS, deadline_ms, ctx);

    call->fn.status = done;
    post(call, rpc_message_new(client, STATUS, id));
    return call;
}

void vipu_call_cancel(struct vipu_call *call)
{
    if (call)
        call_free(call);
}

/* ---- clients ---- */

struct vipu_client *vipu_client_new(struct loop *loop, const struct vipu_client_options *options)
{
    struct vipu_client *client = NEW(struct vipu_client);

    client->loop = loop;
    client->target = mem_printf("%s:%u", options->endpoint.host, options->endpoint.port);
    client->deadline_ms =
        options->default_deadline_ms ? options->default_deadline_ms : VIPU_CLIENT_DEADLINE_MS;
    client->may_send = options->may_send;
    client->may_send_ctx = options->may_send_ctx;
    return client;
}

void vipu_client_free(struct vipu_client *client)
{
    if (!client)
        return;
    while (client->first)
        call_free(client->first);
    mem_free(client->target);
    mem_free(client);
}

/* Controllers of these worlds have no secure mode. */
void vipu_client_set_credentials(struct vipu_client *client, const struct vipu_endpoint *endpoint)
{
    (void)client;
    (void)endpoint;
}

void vipu_client_reject_calls(struct vipu_client *client, const struct err *why)
{
    (void)client;
    (void)why;
}

void vipu_client_abort(struct vipu_client *client)
{
    for (struct vipu_call *call = client->first; call; call = call->next) {
        if (call->rpc_message)
            TAKE(call->rpc_message)->call = NULL;
        if (call->result.err.kind == ERR_NONE) /* else it is ending already */
            end_soon(call, ERR_IO, true, "the connection was reset");
    }
}

const char *vipu_client_target(const struct vipu_client *client)
{
    return client->target;
}
