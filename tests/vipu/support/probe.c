/* Drives vipu/client for tests/vipu: each argument is a step, each call prints one line when it ends:
 *
 *     <number> <what> <kind> code=<gRPC status> sent=<yes|no> unknown=<yes|no> <answer or message>
 *
 * Steps: version, list, whole (a list, all of its first partition), attrs, count, status:ID, create:ID:SIZE,
 * request:ID (a create with every field), huge:BYTES (a create with so long an id), remove:ID, force:ID,
 * reset:ID, relocate:ID, ipuof:ID, ipuof:ID:GCD, each with @MS for a deadline that is to be met; wait (for
 * all calls), gate (for a line on stdin), abort, cancel (the last call), deny and allow (writes), to:PORT
 * (another controller from here on). N*STEP repeats a call. Before all others may stand in-flight:N, user:ID,
 * key:KEY, tls, and ca:FILE. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/client/client.h"

enum { CLIENTS_MAX = 16 };

struct probe {
    struct loop *loop;
    struct vipu_client_options options;
    struct vipu_client *clients[CLIENTS_MAX];
    size_t client_count;
    struct vipu_client *client; /* the last of them */
    struct vipu_call *last;
    struct ticket *last_ticket;
    unsigned started, pending;
    bool is_waiting;
    bool may_write;
};

struct ticket {
    struct probe *probe;
    unsigned number;
    char *what;
};

static const char *kind_of(const struct err *err)
{
    static const char *const kinds[] = {
        [ERR_NONE] = "ok",       [ERR_INVALID] = "invalid",   [ERR_NOT_FOUND] = "not-found",
        [ERR_EXISTS] = "exists", [ERR_CONFLICT] = "conflict", [ERR_GONE] = "gone",
        [ERR_DENIED] = "denied", [ERR_BUSY] = "busy",         [ERR_TIMEOUT] = "timeout",
        [ERR_IO] = "io",         [ERR_INTERNAL] = "internal",
    };

    return kinds[err->kind];
}

static void end(struct ticket *ticket, const struct vipu_result *result, const char *answer)
{
    struct probe *probe = ticket->probe;
    bool ok = result->err.kind == ERR_NONE;

    printf("%u %s %s code=%d sent=%s unknown=%s %s\n", ticket->number, ticket->what, kind_of(&result->err),
           ok ? 0 : result->err.code, result->sent ? "yes" : "no",
           vipu_result_is_unknown(result) ? "yes" : "no", ok ? answer : result->err.msg);
    fflush(stdout);
    mem_free(ticket->what);
    mem_free(ticket);
    if (--probe->pending == 0 && probe->is_waiting)
        loop_stop(probe->loop);
}

static void on_done(void *ctx, const struct vipu_result *result)
{
    end(ctx, result, "done");
}

static void on_text(void *ctx, const struct vipu_result *result, const char *text)
{
    end(ctx, result, text);
}

static void on_partitions(void *ctx, const struct vipu_result *result, struct vipu_partitions *list)
{
    AUTO(str) struct str text = {0};

    str_addf(&text, "%zu partitions", list->count);
    for (size_t i = 0; i < list->count && i < 3; i++)
        str_addf(&text, " %s:%u:%s", list->items[i].id, list->items[i].size,
                 vipu_ready_state_name(list->items[i].ready_state));
    end(ctx, result, str_text(&text));
}

static void on_length(void *ctx, const struct vipu_result *result, const char *text)
{
    AUTO(mem) char *length = mem_printf("%zu", strlen(text));

    end(ctx, result, length);
}

static void on_whole(void *ctx, const struct vipu_result *result, struct vipu_partitions *list)
{
    static const struct vipu_partition none = {0};
    const struct vipu_partition *p = list->count ? list->items : &none;
    AUTO(str) struct str text = {0};

    str_addf(&text, "%s cluster=%s allocation=%s version=%s gcds=%u replicas=%u ilds=%u reconfigurable=%d",
             p->id, p->cluster_id, p->allocation_id, p->ipuof_server_version, p->num_gcds, p->num_replicas,
             p->num_ilds, p->reconfigurable);
    str_addf(&text, " ready=%d sync=%d routing=%d gateway=%d ipus=", (int)p->ready_state, (int)p->sync_type,
             (int)p->routing, (int)p->gateway_routing);
    for (uint32_t i = 0; i < p->size; i++)
        str_addf(&text, "%s%u/%u/%u/%u", i ? "," : "", p->ipus[i].domain_topology_id,
                 p->ipus[i].domain_routing_id, p->ipus[i].topology_id, p->ipus[i].routing_id);
    end(ctx, result, str_text(&text));
}

static void on_agents(void *ctx, const struct vipu_result *result, struct vipu_agents *agents)
{
    AUTO(mem) char *text = mem_printf("%zu agents %u IPUs", agents->count, agents->total_ipus);

    end(ctx, result, text);
}

static void on_count(void *ctx, const struct vipu_result *result, uint32_t count)
{
    AUTO(mem) char *text = mem_printf("%u IPUs", count);

    end(ctx, result, text);
}

static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    AUTO(mem)
    char *text = mem_printf("%s/%s %zu errors %" PRId64, vipu_ready_state_name(status->ready_state),
                            vipu_operation_state_name(status->operation_state), status->error_count,
                            status->last_auto_reset_unix_s);

    end(ctx, result, text);
}

static void add_attributes(struct str *text, const struct vipu_attribute *attributes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_addf(text, " %s=%s", attributes[i].key, attributes[i].value);
}

static void on_ipuof(void *ctx, const struct vipu_result *result, struct vipu_ipuof_config *config)
{
    AUTO(str) struct str text = {0};

    str_addf(&text, "%zu GCDs", config->gcd_count);
    for (size_t g = 0; g < config->gcd_count; g++) {
        const struct vipu_ipuof_gcd *gcd = &config->gcds[g];

        add_attributes(&text, gcd->attributes, gcd->attribute_count);
        for (size_t i = 0; i < gcd->device_count; i++) {
            const struct vipu_ipuof_device *d = &gcd->devices[i];

            str_addf(&text, " %s:%u:%u:%u:%u:%u:%u:%u:%s:%s:%s", d->ip, d->server_port, d->rdma_port,
                     d->device_id, d->ipulink_segment_id, d->routing_id, d->ipu_arch_id, d->ipu_id,
                     d->chip_id, d->gwsw_version, d->ipum_sw_version);
        }
    }
    end(ctx, result, str_text(&text));
}

/* The part after the n-th colon, up to the next; "" if there is none. Owned by the caller. */
static char *part(const char *step, int n)
{
    const char *from = step;

    while (n-- > 0 && from) {
        from = strchr(from, ':');
        from = from ? from + 1 : NULL;
    }
    return from ? mem_strndup(from, strcspn(from, ":")) : mem_strdup("");
}

static struct vipu_call *create(struct probe *p, const char *id, const char *size, int64_t ms,
                                struct ticket *t)
{
    struct vipu_requirements r = {.id = id};

    if (!parse_u32(size, 0, UINT32_MAX, &r.size))
        exit(2);
    return vipu_create_partition(p->client, &r, ms, on_text, t);
}

static struct vipu_call *huge(struct probe *p, const char *bytes, int64_t ms, struct ticket *t)
{
    uint32_t len;

    if (!parse_u32(bytes, 1, 64 << 20, &len))
        exit(2);
    AUTO(mem) char *id = mem_alloc((size_t)len + 1);
    memset(id, 'x', len);
    return vipu_create_partition(p->client, &(struct vipu_requirements){.id = id, .size = 1}, ms, on_length,
                                 t);
}

/* Every field, each with a value of its own. */
static struct vipu_call *request(struct probe *p, const char *id, int64_t ms, struct ticket *t)
{
    static const struct vipu_ipu ipus[] = {{1, 0, 8, 0}, {1, 0, 9, 1}};
    const struct vipu_requirements r = {
        .id = id,
        .size = 2,
        .cluster_id = "cl7",
        .allocation_id = "al7",
        .routing = VIPU_ROUTING_BTNC,
        .gateway_routing = VIPU_GATEWAY_SWRING,
        .sync_type = VIPU_SYNC_POD_NATIVE_DEFAULT,
        .num_ilds = 5,
        .num_gcds = 6,
        .num_replicas = 7,
        .reconfigurable = true,
        .disable_auto_reset = true,
        .relocatable = true,
        .ipus = ipus,
        .ipu_count = COUNT_OF(ipus),
    };

    return vipu_create_partition(p->client, &r, ms, on_text, t);
}

static struct vipu_call *ipuof(struct probe *p, const char *id, const char *gcd, int64_t ms, struct ticket *t)
{
    int64_t number = -1;

    if (*gcd && !parse_i64(gcd, 0, UINT32_MAX, &number))
        exit(2);
    return vipu_get_ipuof_config(p->client, id, number, ms, on_ipuof, t);
}

static struct vipu_call *call(struct probe *p, const char *step, int64_t ms, struct ticket *t)
{
    AUTO(mem) char *what = part(step, 0);
    AUTO(mem) char *id = part(step, 1);
    AUTO(mem) char *more = part(step, 2);

    if (str_eq(what, "version"))
        return vipu_get_version(p->client, ms, on_text, t);
    if (str_eq(what, "list"))
        return vipu_list_partitions(p->client, id, ms, on_partitions, t);
    if (str_eq(what, "attrs"))
        return vipu_list_ipu_attributes(p->client, ms, on_agents, t);
    if (str_eq(what, "count"))
        return vipu_count_ipus(p->client, ms, on_count, t);
    if (str_eq(what, "status"))
        return vipu_get_partition_status(p->client, id, ms, on_status, t);
    if (str_eq(what, "whole"))
        return vipu_list_partitions(p->client, id, ms, on_whole, t);
    if (str_eq(what, "create"))
        return create(p, id, more, ms, t);
    if (str_eq(what, "huge"))
        return huge(p, id, ms, t);
    if (str_eq(what, "request"))
        return request(p, id, ms, t);
    if (str_eq(what, "remove") || str_eq(what, "force"))
        return vipu_remove_partition(p->client, id, str_eq(what, "force"), ms, on_done, t);
    if (str_eq(what, "reset") || str_eq(what, "relocate"))
        return vipu_reset_partition(p->client, id, str_eq(what, "relocate"), NULL, ms, on_done, t);
    if (str_eq(what, "ipuof"))
        return ipuof(p, id, more, ms, t);
    fprintf(stderr, "no such step: %s\n", step);
    exit(2);
}

static void start(struct probe *p, const char *step)
{
    const char *at = strchr(step, '@');
    AUTO(mem) char *what = mem_strndup(step, at ? (size_t)(at - step) : strlen(step));
    int64_t ms = 0;
    struct ticket *ticket = NEW(struct ticket);

    if (at && !parse_i64(at + 1, 1, 1000000, &ms))
        exit(2);
    *ticket = (struct ticket){p, ++p->started, mem_strdup(what)};
    p->pending++;
    p->last = call(p, what, ms, ticket);
    p->last_ticket = ticket;
}

static void cancel(struct probe *p)
{
    vipu_call_cancel(p->last);
    mem_free(p->last_ticket->what);
    mem_free(p->last_ticket);
    p->pending--;
}

static void wait_for_all(struct probe *p)
{
    p->is_waiting = true;
    if (p->pending)
        loop_run(p->loop);
    p->is_waiting = false;
}

static void on_stdin(uv_poll_t *poll, int status, int events)
{
    char line[64];

    (void)status;
    (void)events;
    if (read(STDIN_FILENO, line, sizeof(line)) >= 0)
        uv_stop(poll->loop);
}

static void gate(struct probe *p)
{
    uv_poll_t poll;

    puts("gate");
    fflush(stdout);
    uv_poll_init(loop_uv(p->loop), &poll, STDIN_FILENO);
    uv_poll_start(&poll, UV_READABLE, on_stdin);
    loop_run(p->loop);
    uv_poll_stop(&poll);
    uv_close((uv_handle_t *)&poll, NULL);
    uv_run(loop_uv(p->loop), UV_RUN_NOWAIT);
}

static void connect_to(struct probe *p, uint32_t port)
{
    if (p->client_count == CLIENTS_MAX)
        exit(2);
    p->options.endpoint.port = port;
    p->client = vipu_client_new(p->loop, &p->options);
    p->clients[p->client_count++] = p->client;
}

static void go_to(struct probe *p, const char *text)
{
    uint32_t port;

    if (!parse_u32(text, 1, 65535, &port))
        exit(2);
    connect_to(p, port);
}

static void step(struct probe *p, const char *word)
{
    const char *star = strchr(word, '*');
    uint32_t times = 1;

    if (star) {
        AUTO(mem) char *count = mem_strndup(word, (size_t)(star - word));

        if (!parse_u32(count, 1, 100000, &times))
            exit(2);
        word = star + 1;
    }
    if (str_eq(word, "wait"))
        wait_for_all(p);
    else if (str_eq(word, "gate"))
        gate(p);
    else if (str_eq(word, "abort"))
        vipu_client_abort(p->client);
    else if (str_eq(word, "cancel"))
        cancel(p);
    else if (str_eq(word, "deny") || str_eq(word, "allow"))
        p->may_write = str_eq(word, "allow");
    else if (str_has_prefix(word, "to:"))
        go_to(p, word + 3);
    else
        while (times-- > 0)
            start(p, word);
}

static bool may_send(void *ctx)
{
    return ((struct probe *)ctx)->may_write;
}

/* False when the word is a step. */
static bool option(struct vipu_client_options *options, const char *word)
{
    if (str_has_prefix(word, "in-flight:"))
        return parse_u32(word + 10, 1, 100000, &options->max_in_flight);
    if (str_has_prefix(word, "user:"))
        options->endpoint.user_id = word + 5;
    else if (str_has_prefix(word, "key:"))
        options->endpoint.access_key = word + 4;
    else if (str_has_prefix(word, "ca:"))
        options->endpoint.ca_file = word + 3;
    else if (str_eq(word, "tls"))
        options->endpoint.tls = true;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct probe probe = {.loop = loop_new(), .may_write = true};
    uint32_t port;
    int first = 3;

    probe.options = (struct vipu_client_options){
        .may_send = may_send, .may_send_ctx = &probe, .default_deadline_ms = 100000};
    if (argc < 3 || !parse_u32(argv[2], 1, 65535, &port))
        return 2;
    probe.options.endpoint.host = argv[1];
    while (first < argc && option(&probe.options, argv[first]))
        first++;
    connect_to(&probe, port);
    for (int i = first; i < argc; i++)
        step(&probe, argv[i]);
    wait_for_all(&probe);
    for (size_t i = 0; i < probe.client_count; i++)
        vipu_client_free(probe.clients[i]);
    loop_free(probe.loop);
    return 0;
}
