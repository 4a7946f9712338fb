#include "vipu/wire/grpc/channel.h"

#include <string.h>

#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "vipu/wire/grpc/credentials.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/grpc/h2_client_conn.h"
#include "vipu/wire/transport/dial.h"

#define RETIRED_MAX 4u

static const struct backoff pause_after_failure = {.first_ms = 100, .max_ms = 2000};

struct channel {
    struct loop *loop;
    char *host;
    char *authority;
    char *user_agent;
    char *ca_file, *cert_file, *key_file; /* NULL: none */
    struct credentials credentials;
    struct err rejected; /* why no call may be sent; ERR_NONE: calls may be sent */
    bool is_tls;
    struct tls_context *tls;
    uint32_t port;
    uint32_t max_in_flight, in_flight;
    unsigned idle_timeout_ms;
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
    struct dial
        *dial; /* kept behind a connection without any bytes from the peer: another address may be better */
    bool is_dialling;
    struct loop_timer redial;          /* runs while backing off */
    struct loop_timer handshake_timer; /* how long such a connection is tried */
    unsigned failures;                 /* connections in a row without any bytes from the peer */
    int64_t not_before_ms;
    struct h2_client_conn *conn;                 /* accepts new calls */
    struct h2_client_conn *retired[RETIRED_MAX]; /* finish theirs */
    struct call_list waiting, finished;
    struct loop_timer deliver;
};

static void connect_now(struct channel *channel);

/* Removes the connection from the channel. */
static void call_retire(struct channel_call *call)
{
    loop_timer_stop(&call->deadline);
    call_move(call, NULL);
    call->channel->in_flight--;
}

static void call_free(struct channel_call *call)
{
    response_release(&call->response);
    str_release(&call->frame);
    mem_free(call->path);
    mem_free(call->ctx);
    mem_free(call);
}

/* One call per turn: its callback may free the channel, which stops the timer. */
static void on_deliver(struct loop_timer *timer)
{
    struct channel *channel = CONTAINER_OF(timer, struct channel, deliver);
    struct channel_call *call = TAILQ_FIRST(&channel->finished);
    struct channel_reply reply;

    if (!call)
        return;
    reply = (struct channel_reply){
        .err = call->err, .sent = call->sent, .reason = str_text(&call->response.text)};
    if (call->err.kind == ERR_NONE)
        reply.message = call->message;
    call_retire(call);
    if (!TAILQ_EMPTY(&channel->finished))
        loop_timer_start(channel->loop, &channel->deliver, 0, on_deliver);
    call->done(call->ctx, &reply);
    call_free(call);
}

/* The call's err is set; its callback runs in the next turn. */
static void finish(struct channel_call *call)
{
    struct channel *channel = call->channel;

    loop_timer_stop(&call->deadline);
    call_move(call, &channel->finished);
    loop_timer_start(channel->loop, &channel->deliver, 0, on_deliver);
}

static void finish_all(struct call_list *calls, const struct err *err)
{
    struct channel_call *call;

    while ((call = TAILQ_FIRST(calls))) {
        call->err = *err;
        call->err.code = err->kind == ERR_TIMEOUT ? GRPC_DEADLINE_EXCEEDED : GRPC_UNAVAILABLE;
        finish(call);
    }
}

static void on_call_over(void *ctx, struct channel_call *call)
{
    (void)ctx;
    finish(call);
}

/* Called from callbacks of the connection, so nothing is freed here. With too many unfinished connections
 * this one stays in use, and its calls fail as not sent until one of the others is done. */
static void on_retiring(void *ctx, struct h2_client_conn *conn)
{
    struct channel *channel = ctx;

    if (conn != channel->conn || channel->retired[RETIRED_MAX - 1])
        return;
    for (size_t i = 0; i < RETIRED_MAX; i++) {
        if (!channel->retired[i]) {
            channel->retired[i] = conn;
            break;
        }
    }
    channel->conn = NULL;
}

static void forget_conn(struct channel *channel, const struct h2_client_conn *conn)
{
    size_t kept = 0;

    if (channel->conn == conn)
        channel->conn = NULL;
    for (size_t i = 0; i < RETIRED_MAX; i++) {
        struct h2_client_conn *other = channel->retired[i];

        channel->retired[i] = NULL;
        if (other && other != conn)
            channel->retired[kept++] = other;
    }
}

static void back_off(struct channel *channel)
{
    int64_t delay = backoff_delay_ms(&pause_after_failure, ++channel->failures, loop_random_u32());

    channel->not_before_ms = loop_now_ms(channel->loop) + delay;
}

static void close_conn(struct channel *channel, struct h2_client_conn *conn, bool reset,
                       const struct err *why)
{
    struct call_list orphans = TAILQ_HEAD_INITIALIZER(orphans);

    forget_conn(channel, conn);
    h2_client_conn_free(conn, reset, &orphans);
    finish_all(&orphans, why);
}

static bool has_other_address(const struct channel *channel, const struct h2_client_conn *conn)
{
    return conn == channel->conn && !h2_client_conn_has_heard(conn) && channel->dial &&
           dial_has_next(channel->dial);
}

/* The peer cannot be used, perhaps because of its certificate: calls that did not reach it can go to the
 * next address of the name. False if there is none. */
static bool retry_next_address(struct channel *channel, struct h2_client_conn *conn, const struct err *err)
{
    struct call_list orphans = TAILQ_HEAD_INITIALIZER(orphans);
    struct channel_call *call, *next;
    struct err why = *err;

    err_wrap(&why, "%s", channel->authority);
    forget_conn(channel, conn);
    h2_client_conn_free(conn, false, &orphans);
    for (call = TAILQ_FIRST(&orphans); call; call = next) {
        next = TAILQ_NEXT(call, entry);
        if (!call->sent)
            call_move(call, &channel->waiting);
    }
    finish_all(&orphans, &why);
    if (TAILQ_EMPTY(&channel->waiting))
        return false;
    channel->is_dialling = true;
    dial_next(channel->dial, err);
    return true;
}

static void on_broken(void *ctx, struct h2_client_conn *conn, const struct err *err)
{
    struct channel *channel = ctx;
    struct err why = *err;

    loop_timer_stop(&channel->handshake_timer);
    if (has_other_address(channel, conn)) {
        if (!retry_next_address(channel, conn, err))
            back_off(channel);
        return;
    }
    err_wrap(&why, "%s", channel->authority);
    if (h2_client_conn_has_heard(conn))
        channel->failures = 0;
    else if (conn == channel->conn)
        back_off(channel);
    close_conn(channel, conn, false, &why);
}

static const struct h2_client_conn_owner h2_client_conn_owner = {on_call_over, on_retiring, on_broken};

static void submit_waiting(struct channel *channel)
{
    struct channel_call *call;

    while (channel->conn && (call = TAILQ_FIRST(&channel->waiting)))
        h2_client_conn_submit(channel->conn, call);
    connect_now(channel); /* for calls left by a connection that broke or got GOAWAY */
}

static void on_handshake_timeout(struct loop_timer *timer)
{
    struct channel *channel = CONTAINER_OF(timer, struct channel, handshake_timer);
    struct err why;

    err_set(&why, ERR_TIMEOUT, "TLS handshake timed out after %d ms", DIAL_ADDRESS_MS);
    if (channel->conn && has_other_address(channel, channel->conn))
        on_broken(channel, channel->conn, &why);
}

static void on_dialled(void *ctx, int fd, const struct err *err)
{
    struct channel *channel = ctx;
    struct h2_client_conn_options options = {
        .authority = channel->authority,
        .user_agent = channel->user_agent,
        .credentials = &channel->credentials,
        .tls = channel->tls,
        .host = channel->host,
        .owner = &h2_client_conn_owner,
        .ctx = channel,
        .may_send = channel->may_send,
        .may_send_ctx = channel->may_send_ctx,
    };

    channel->is_dialling = false;
    if (fd < 0) {
        struct err why = *err;

        err_wrap(&why, "%s", channel->authority);
        dial_free(TAKE(channel->dial));
        back_off(channel);
        finish_all(&channel->waiting, &why);
        return;
    }
    if (channel->tls && dial_has_next(channel->dial))
        loop_timer_start(channel->loop, &channel->handshake_timer, DIAL_ADDRESS_MS, on_handshake_timeout);
    channel->conn = h2_client_conn_new_take(channel->loop, fd, &options);
    submit_waiting(channel);
}

static void on_redial(struct loop_timer *timer)
{
    connect_now(CONTAINER_OF(timer, struct channel, redial));
}

/* The file may have been replaced since; the system's certificates hardly change, and are slow to read. */
static bool renew_tls(struct channel *channel, struct err *err)
{
    struct tls_context *fresh;

    if (!channel->is_tls || (channel->tls && !channel->ca_file && !channel->cert_file))
        return true;
    fresh = tls_context_client(&(struct tls_files){.certificate = channel->cert_file,
                                                   .key = channel->key_file,
                                                   .ca = channel->ca_file},
                               err);
    if (!fresh)
        return false;
    tls_context_free(channel->tls);
    channel->tls = fresh;
    return true;
}

static void dial_now(struct channel *channel)
{
    struct err err;

    if (renew_tls(channel, &err)) {
        dial_free(channel->dial);
        channel->is_dialling = true;
        channel->dial = dial_start(channel->loop, channel->host, channel->port, channel->idle_timeout_ms,
                                   on_dialled, channel);
        return;
    }
    back_off(channel);
    finish_all(&channel->waiting, &err);
}

static void connect_now(struct channel *channel)
{
    int64_t wait = channel->not_before_ms - loop_now_ms(channel->loop);

    if (channel->is_dialling || TAILQ_EMPTY(&channel->waiting))
        return;
    if (wait > 0)
        loop_timer_start(channel->loop, &channel->redial, wait, on_redial);
    else
        dial_now(channel);
}

/* No byte arrived since this call was sent: the next calls take another connection. The other calls on this
 * one keep their longer deadlines. */
static void give_up(struct channel *channel, struct h2_client_conn *conn)
{
    if (conn != channel->conn)
        return;
    if (!h2_client_conn_has_heard(conn))
        back_off(channel);
    on_retiring(channel, conn);
    if (conn != channel->conn)
        h2_client_conn_retire(conn);
}

static void on_deadline(struct loop_timer *timer)
{
    struct channel_call *call = CONTAINER_OF(timer, struct channel_call, deadline);
    struct channel *channel = call->channel;
    struct h2_client_conn *conn = call->conn;
    struct err why;

    err_set_code(&why, ERR_TIMEOUT, GRPC_DEADLINE_EXCEEDED, "%s: no %s within %lld ms", channel->authority,
                 conn ? "response" : "connection", (long long)call->deadline_ms);
    if (conn && h2_client_conn_is_unresponsive(conn, call)) {
        give_up(channel, conn);
        if (h2_client_conn_has_only(conn, call)) {
            close_conn(channel, conn, true, &why);
            return;
        }
    }
    if (conn)
        h2_client_conn_withdraw(conn, call);
    call->err = why;
    finish(call);
}

/* An IPv6 address may stand in brackets, as in a URL. */
static char *bare_host(const char *host)
{
    size_t len = strlen(host);

    return len > 2 && host[0] == '[' && host[len - 1] == ']' ? mem_strndup(host + 1, len - 2)
                                                             : mem_strdup(host);
}

struct channel *channel_new(struct loop *loop, const struct channel_options *options)
{
    struct channel *channel = NEW(struct channel);

    channel->loop = loop;
    channel->host = bare_host(options->host);
    channel->port = options->port;
    channel->authority =
        mem_printf(strchr(channel->host, ':') ? "[%s]:%u" : "%s:%u", channel->host, channel->port);
    channel->user_agent = mem_strdup(options->user_agent);
    channel_set_credentials(channel, &options->access);
    channel->max_in_flight = options->max_in_flight;
    channel->idle_timeout_ms = options->idle_timeout_ms;
    channel->may_send = options->may_send;
    channel->may_send_ctx = options->may_send_ctx;
    TAILQ_INIT(&channel->waiting);
    TAILQ_INIT(&channel->finished);
    return channel;
}

static void drop_connections(struct channel *channel, struct call_list *orphans, bool reset)
{
    dial_free(TAKE(channel->dial));
    channel->is_dialling = false;
    loop_timer_stop(&channel->redial);
    loop_timer_stop(&channel->handshake_timer);
    while (channel->retired[0] || channel->conn) {
        struct h2_client_conn *conn = channel->conn ? channel->conn : channel->retired[0];

        forget_conn(channel, conn);
        h2_client_conn_free(conn, reset, orphans);
    }
}

void channel_free(struct channel *channel)
{
    struct call_list rest = TAILQ_HEAD_INITIALIZER(rest);
    struct channel_call *call;

    if (!channel)
        return;
    drop_connections(channel, &rest, false);
    while ((call = TAILQ_FIRST(&rest)) || (call = TAILQ_FIRST(&channel->waiting)) ||
           (call = TAILQ_FIRST(&channel->finished))) {
        call_retire(call);
        call_free(call);
    }
    loop_timer_stop(&channel->deliver);
    mem_free(channel->host);
    mem_free(channel->authority);
    mem_free(channel->user_agent);
    mem_free(channel->ca_file);
    mem_free(channel->cert_file);
    mem_free(channel->key_file);
    credentials_release(&channel->credentials);
    tls_context_free(channel->tls);
    mem_free(channel);
}

void channel_abort(struct channel *channel)
{
    struct call_list orphans = TAILQ_HEAD_INITIALIZER(orphans);
    struct err err;

    drop_connections(channel, &orphans, true);
    err_set(&err, ERR_IO, "%s: connection aborted", channel->authority);
    finish_all(&orphans, &err);
    finish_all(&channel->waiting, &err);
}

/* False if it is another one than before. */
static bool set_file(char **file, const char *given)
{
    const char *name = given && *given ? given : NULL;
    bool is_same = str_eq(*file, name);

    mem_set_str(file, name);
    return is_same;
}

void channel_set_credentials(struct channel *channel, const struct channel_credentials *access)
{
    bool is_same;

    channel->rejected = (struct err){0};
    if (!credentials_set(&channel->credentials, access->user_id, access->access_key, &channel->rejected))
        channel->rejected.code = GRPC_INVALID_ARGUMENT;
    is_same = set_file(&channel->ca_file, access->files.ca);
    is_same &= set_file(&channel->cert_file, access->files.certificate);
    is_same &= set_file(&channel->key_file, access->files.key);
    channel->is_tls = access->tls || channel->ca_file || channel->cert_file;
    if (!is_same)
        tls_context_free(TAKE(channel->tls)); /* connections keep what they need of it */
}

void channel_reject_calls(struct channel *channel, const struct err *why)
{
    credentials_release(&channel->credentials);
    channel->rejected = *why;
    channel->rejected.code = GRPC_INVALID_ARGUMENT;
}

const char *channel_target(const struct channel *channel)
{
    return channel->authority;
}

static struct channel_call *call_new(struct channel *channel, const struct channel_request *request,
                                     channel_done_fn done)
{
    struct channel_call *call = NEW(struct channel_call);

    call->channel = channel;
    call->path = mem_strdup(request->path);
    call->frame.max = request->message.len + GRPC_PREFIX_BYTES;
    grpc_frame(&call->frame, request->message);
    call->gated = request->gated;
    call->deadline_ms = request->deadline_ms;
    response_init(&call->response, request->max_reply);
    call->done = done;
    call->ctx = mem_dup(request->ctx, request->ctx_bytes);
    channel->in_flight++;
    return call;
}

struct channel_call *channel_call(struct channel *channel, const struct channel_request *request,
                                  channel_done_fn done)
{
    bool is_room = channel->in_flight < channel->max_in_flight;
    struct channel_call *call = call_new(channel, request, done);

    call->err = channel->rejected;
    if (!is_room)
        err_set_code(&call->err, ERR_BUSY, GRPC_RESOURCE_EXHAUSTED, "%s: too many calls in flight (%u)",
                     channel->authority, channel->max_in_flight);
    if (call->err.kind != ERR_NONE) {
        finish(call);
        return call;
    }
    loop_timer_start(channel->loop, &call->deadline, call->deadline_ms, on_deadline);
    call_move(call, &channel->waiting);
    submit_waiting(channel);
    return call;
}

void *channel_call_ctx(struct channel_call *call)
{
    return call->ctx;
}

void channel_call_cancel(struct channel_call *call)
{
    struct h2_client_conn *conn;

    if (!call)
        return;
    conn = call->conn;
    if (conn)
        h2_client_conn_withdraw(conn, call);
    call_retire(call);
    call_free(call);
}
