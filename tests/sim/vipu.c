/* vipu/client/client.h in the simulator: calls travel to the controllers in memory. */
#include "vipu/client/client.h"

#include <assert.h>

#include "base/core/mem.h"
#include "loop.h"
#include "net.h"
#include "vipu/server/controller/hardware.h"
#include "vipu/server/controller/tenancy.h"

enum method { LIST, AGENTS, CREATE, REMOVE, RESET, STATUS };

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
    struct parcel *parcel; /* on the way */
};

/* A call on its way, and then its answer. It lives on when nobody waits for it any more. */
struct parcel {
    struct parcel *prev, *next;
    struct vipu_call *call;
    struct vipu_side *side;
    enum method method;
    char *id, *allocation;
    char *record;                          /* see struct vipu_order */
    struct vipu_requirements requirements; /* id and allocation are ours */
    bool flag;                             /* force, or relocatable */
    struct fate fate;
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

/* ---- parcels ---- */

static void parcel_free(struct parcel *parcel)
{
    *(parcel->prev ? &parcel->prev->next : &net->parcels) = parcel->next;
    if (parcel->next)
        parcel->next->prev = parcel->prev;
    if (parcel->call)
        parcel->call->parcel = NULL;
    vipu_partitions_release(&parcel->partitions);
    vipu_status_release(&parcel->status);
    str_release(&parcel->reason);
    mem_free(parcel->id);
    mem_free(parcel->allocation);
    mem_free(parcel->record);
    mem_free(parcel);
}

static void parcel_plan(struct parcel *parcel, int64_t delay_ms, const struct host *host, clock_fn fn)
{
    parcel->planned++;
    clock_plan(delay_ms, host, fn, parcel);
}

static void parcel_done(struct parcel *parcel)
{
    if (--parcel->planned == 0)
        parcel_free(parcel);
}

void net_drop_parcels(struct net *of)
{
    while (of->parcels)
        parcel_free(of->parcels);
}

/* ---- the end of a call ---- */

static void call_free(struct vipu_call *call)
{
    *(call->prev ? &call->prev->next : &call->client->first) = call->next;
    if (call->next)
        call->next->prev = call->prev;
    if (call->parcel)
        call->parcel->call = NULL;
    clock_cancel(call->end);
    mem_free(call);
}

static void end(struct vipu_call *call, struct parcel *parcel)
{
    struct vipu_call over = *call;
    struct vipu_partitions no_partitions = {0};
    struct vipu_status no_status = {0};
    bool is_good = over.result.err.kind == ERR_NONE;

    net->news += !is_good || (net->lists_are_news && over.method == LIST);
    over.result.reason = is_good                        ? ""
                         : parcel && parcel->reason.len ? str_text(&parcel->reason)
                                                        : over.result.err.msg;
    call_free(call);
    switch (over.method) {
    case LIST:
        over.fn.partitions(over.ctx, &over.result, is_good ? &parcel->partitions : &no_partitions);
        break;
    case AGENTS:
        over.fn.count(over.ctx, &over.result, is_good ? parcel->total_ipus : 0);
        break;
    case CREATE:
        over.fn.text(over.ctx, &over.result, is_good ? parcel->id : "");
        break;
    case REMOVE:
    case RESET:
        over.fn.done(over.ctx, &over.result);
        break;
    case STATUS:
        over.fn.status(over.ctx, &over.result, is_good ? &parcel->status : &no_status);
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
    struct parcel *parcel = ctx;
    struct vipu_call *call = parcel->call;

    parcel->call = NULL;
    if (call) {
        call->parcel = NULL;
        call->result = (struct vipu_result){.err = parcel->err, .sent = true};
        end(call, parcel);
    }
    parcel_done(parcel);
}

static void lose(void *ctx)
{
    struct parcel *parcel = ctx;
    struct vipu_call *call = parcel->call;

    parcel->call = NULL;
    if (call) {
        call->parcel = NULL;
        end_soon(call, ERR_IO, true, "the connection broke");
    }
    parcel_done(parcel);
}

/* ---- at the controller ---- */

static void list(struct parcel *parcel)
{
    const struct controller *core = &parcel->side->core;

    vipu_partitions_release(&parcel->partitions);
    parcel->partitions.items = mem_alloc((core->count + 1) * sizeof(struct vipu_partition));
    for (size_t i = 0; i < core->count; i++)
        parcel->partitions.items[parcel->partitions.count++] = vipu_partition_copy(&core->list[i]->partition);
}

static void count_ipus(struct parcel *parcel)
{
    const struct vipu_clusters *clusters = &parcel->side->config.clusters;

    parcel->total_ipus = 0;
    for (size_t i = 0; i < clusters->count; i++) {
        for (size_t d = 0; d < clusters->items[i].domain_count; d++)
            parcel->total_ipus += clusters->items[i].domains[d].machine_count * VIPU_AGENT_IPUS;
    }
}

static void create(struct parcel *parcel)
{
    AUTO(strv) struct strv problems = {0};

    if (tenancy_create(&parcel->side->core, NULL, &parcel->requirements, clock_now_ms(), &problems,
                       &parcel->err))
        return;
    for (size_t i = 0; i < problems.count; i++)
        str_addf(&parcel->reason, "%s%s", i ? "; " : "", problems.items[i]);
    if (problems.count)
        err_set(&parcel->err, parcel->err.kind, "%s", str_text(&parcel->reason));
}

static void tell_status(struct parcel *parcel)
{
    const struct controller_partition *entry = controller_find(&parcel->side->core, parcel->id, &parcel->err);
    struct vipu_status status;

    if (!entry)
        return;
    status = controller_status(&parcel->side->core, entry);
    vipu_status_release(&parcel->status);
    parcel->status = status;
    parcel->status.partition_id = mem_strdup(status.partition_id);
    parcel->status.errors = mem_alloc((status.error_count + 1) * sizeof(char *));
    for (size_t i = 0; i < status.error_count; i++)
        parcel->status.errors[i] = mem_strdup(status.errors[i]);
}

static void carry_out(struct parcel *parcel)
{
    static const enum vipu_write writes[] = {
        [CREATE] = VIPU_CREATE, [REMOVE] = VIPU_REMOVE, [RESET] = VIPU_RESET};
    struct controller *core = &parcel->side->core;

    parcel->err = (struct err){0};
    str_clear(&parcel->reason);
    vipu_side_step(parcel->side);
    if (parcel->method == CREATE || parcel->method == REMOVE || parcel->method == RESET)
        net->on_vipu_write(net->ctx, parcel->side,
                           &(struct vipu_order){
                               .write = writes[parcel->method], .id = parcel->id, .record = parcel->record});
    switch (parcel->method) {
    case LIST:
        list(parcel);
        break;
    case AGENTS:
        count_ipus(parcel);
        break;
    case CREATE:
        create(parcel);
        break;
    case REMOVE:
        (void)!controller_remove(core, parcel->id, parcel->flag, clock_now_ms(), &parcel->err);
        break;
    case RESET:
        (void)!controller_reset(core, parcel->id, parcel->flag, clock_now_ms(), &parcel->err);
        break;
    case STATUS:
        tell_status(parcel);
        break;
    }
}

static void arrive_again(void *ctx)
{
    struct parcel *parcel = ctx;
    struct err first = parcel->err;

    net->news++;
    carry_out(parcel);
    parcel->err = first;
    parcel_done(parcel);
}

static void arrive(void *ctx)
{
    struct parcel *parcel = ctx;
    const struct host *host = parcel->call ? loop_host(parcel->call->client->loop) : NULL;

    if (clock_now_ms() < parcel->side->down_until_ms) {
        lose(parcel);
        return;
    }
    if (clock_now_ms() < parcel->side->stalled_until_ms) {
        parcel_done(parcel);
        return;
    }
    net->news += parcel->call == NULL; /* it comes late: nobody waits for it any more */
    carry_out(parcel);
    if (parcel->fate.twice && parcel->method >= CREATE && parcel->method <= RESET)
        parcel_plan(parcel, parcel->fate.twice_ms, NULL, arrive_again);
    if (parcel->fate.answers)
        parcel_plan(parcel, parcel->fate.back_ms, host, deliver);
    else if (parcel->fate.breaks_ms >= 0)
        parcel_plan(parcel, parcel->fate.breaks_ms, host, lose);
    parcel_done(parcel);
}

/* ---- calls ---- */

static struct vipu_side *find_side(const char *target)
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

static const char *const NAMES[] = {"List", "Attributes", "Create", "Remove", "Reset", "Status"};

/* The parcel has its contents already. */
static void post(struct vipu_call *call, struct parcel *parcel)
{
    struct host *host = loop_host(call->client->loop);

    if (is_write(call->method) && call->client->may_send &&
        !call->client->may_send(call->client->may_send_ctx)) {
        end_soon(call, ERR_DENIED, false, "not sent: this process does not hold the lease");
        parcel_free(parcel);
        return;
    }
    if (clock_now_ms() < parcel->side->down_until_ms) {
        end_soon(call, ERR_IO, false, "connection refused");
        parcel_free(parcel);
        return;
    }
    if (host->is_dead || !net->leaves(net->ctx, host, NAMES[call->method], is_write(call->method))) {
        parcel_free(parcel);
        return;
    }
    parcel->call = call;
    call->parcel = parcel;
    if (is_write(call->method))
        parcel->record = mem_strdup(net->record_of(net->ctx, parcel->id));
    parcel->fate = net_fate(true);
    if (parcel->fate.arrives)
        parcel_plan(parcel, parcel->fate.out_ms, NULL, arrive);
    else if (parcel->fate.breaks_ms >= 0)
        parcel_plan(parcel, parcel->fate.breaks_ms, host, lose);
    else
        parcel_free(parcel);
}

static struct parcel *parcel_new(struct vipu_client *client, enum method method, const char *id)
{
    struct parcel *parcel = NEW(struct parcel);

    parcel->side = find_side(client->target);
    assert(parcel->side);
    parcel->method = method;
    parcel->id = mem_strdup(id);
    parcel->next = net->parcels;
    if (parcel->next)
        parcel->next->prev = parcel;
    net->parcels = parcel;
    return parcel;
}

struct vipu_call *vipu_list_partitions(struct vipu_client *client, const char *allocation_id,
                                       int64_t deadline_ms, vipu_partitions_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, LIST, deadline_ms, ctx);

    assert(!allocation_id || !*allocation_id);
    call->fn.partitions = done;
    post(call, parcel_new(client, LIST, NULL));
    return call;
}

struct vipu_call *vipu_count_ipus(struct vipu_client *client, int64_t deadline_ms, vipu_count_fn done,
                                  void *ctx)
{
    struct vipu_call *call = call_new(client, AGENTS, deadline_ms, ctx);

    call->fn.count = done;
    post(call, parcel_new(client, AGENTS, NULL));
    return call;
}

struct vipu_call *vipu_create_partition(struct vipu_client *client,
                                        const struct vipu_requirements *requirements, int64_t deadline_ms,
                                        vipu_text_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, CREATE, deadline_ms, ctx);
    struct parcel *parcel = parcel_new(client, CREATE, requirements->id);

    assert(!requirements->ipus);
    parcel->allocation = mem_strdup(requirements->allocation_id);
    parcel->requirements = *requirements;
    parcel->requirements.id = parcel->id;
    parcel->requirements.allocation_id = parcel->allocation;
    parcel->requirements.cluster_id = NULL;
    call->fn.text = done;
    post(call, parcel);
    return call;
}

struct vipu_call *vipu_remove_partition(struct vipu_client *client, const char *id, bool force,
                                        int64_t deadline_ms, vipu_done_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, REMOVE, deadline_ms, ctx);
    struct parcel *parcel = parcel_new(client, REMOVE, id);

    parcel->flag = force;
    call->fn.done = done;
    post(call, parcel);
    return call;
}

struct vipu_call *vipu_reset_partition(struct vipu_client *client, const char *id, bool relocatable,
                                       int64_t deadline_ms, vipu_done_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, RESET, deadline_ms, ctx);
    struct parcel *parcel = parcel_new(client, RESET, id);

    parcel->flag = relocatable;
    call->fn.done = done;
    post(call, parcel);
    return call;
}

struct vipu_call *vipu_get_partition_status(struct vipu_client *client, const char *id, int64_t deadline_ms,
                                            vipu_status_fn done, void *ctx)
{
    struct vipu_call *call = call_new(client, STATUS, deadline_ms, ctx);

    call->fn.status = done;
    post(call, parcel_new(client, STATUS, id));
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
        if (call->parcel)
            TAKE(call->parcel)->call = NULL;
        if (call->result.err.kind == ERR_NONE) /* else it is ending already */
            end_soon(call, ERR_IO, true, "the connection was reset");
    }
}

const char *vipu_client_target(const struct vipu_client *client)
{
    return client->target;
}
