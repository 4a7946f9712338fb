#include "vipu/wire/grpc/h2_client_conn.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/grpc/h2.h"

#define STREAM_WINDOW (1 << 20)
#define CONNECTION_WINDOW (4 << 20)
#define HEADER_LIST_MAX (32u << 10)
#define HEADERS_MAX 10u
#define UNFINISHED_MAX ((size_t)128 << 20) /* two of the longest lists, or many of the other replies */

struct h2_client_conn {
    struct h2 h2;
    struct h2_client_conn_options options;
    struct call_list calls;
    size_t unfinished; /* bytes of incomplete responses */
    uint64_t heard;    /* frames */
};

static struct h2_client_conn *conn_of(struct h2 *h2)
{
    return CONTAINER_OF(h2, struct h2_client_conn, h2);
}

/* Detaches the call from the connection; its stream, if still open, is ignored. */
static void detach(struct h2_client_conn *conn, struct channel_call *call)
{
    nghttp2_session_set_stream_user_data(conn->h2.session, call->stream_id, NULL);
    conn->unfinished -= call->response.body.len;
    call_move(call, NULL);
    call->conn = NULL;
}

static void hand_back_call(struct h2_client_conn *conn, struct channel_call *call)
{
    detach(conn, call);
    conn->options.owner->call_over(conn->options.ctx, call);
}

static void finish_call(struct h2_client_conn *conn, struct channel_call *call, uint32_t reset)
{
    if (!response_judge(&call->response, reset, &call->message, &call->err) &&
        reset == NGHTTP2_REFUSED_STREAM)
        call->sent = false; /* RFC 9113, 8.7: the peer has not processed it */
    hand_back_call(conn, call);
}

static struct channel_call *call_at(nghttp2_session *session, int32_t stream_id)
{
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct channel_call *call = call_at(session, frame->hd.stream_id);

    (void)flags;
    (void)ctx;
    if (call)
        response_header(&call->response, (struct slice){(const char *)name, name_len},
                        (struct slice){(const char *)value, value_len});
    return 0;
}

static void stop_stream(nghttp2_session *session, int32_t stream_id)
{
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_CANCEL);
}

static bool gather(struct h2_client_conn *conn, struct channel_call *call, const uint8_t *bytes, size_t len)
{
    if (conn->unfinished + len > UNFINISHED_MAX)
        return err_set_code(&call->err, ERR_IO, GRPC_RESOURCE_EXHAUSTED,
                            "concurrent responses exceed %zu bytes", UNFINISHED_MAX);
    if (!response_data(&call->response, bytes, len))
        return err_set_code(&call->err, ERR_IO, GRPC_RESOURCE_EXHAUSTED, "response exceeds %zu bytes",
                            call->response.body.max);
    conn->unfinished += len;
    return true;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *bytes,
                   size_t len, void *ctx)
{
    struct channel_call *call = call_at(session, stream_id);

    (void)flags;
    if (!call || gather(ctx, call, bytes, len))
        return 0;
    hand_back_call(ctx, call);
    stop_stream(session, stream_id);
    return 0;
}

static void on_end_of_stream(struct h2_client_conn *conn, int32_t stream_id)
{
    struct channel_call *call = call_at(conn->h2.session, stream_id);

    if (!call)
        return;
    finish_call(conn, call, 0);
    /* The response may come before the request is sent: its rest is then not needed. */
    if (nghttp2_session_get_stream_local_close(conn->h2.session, stream_id) == 0)
        stop_stream(conn->h2.session, stream_id);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct h2_client_conn *conn = ctx;

    (void)session;
    conn->heard++;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        conn->options.owner->retiring(conn->options.ctx, conn);
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        on_end_of_stream(conn, frame->hd.stream_id);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error, void *ctx)
{
    struct channel_call *call = call_at(session, stream_id);

    if (call)
        finish_call(ctx, call, error ? error : NGHTTP2_NO_ERROR);
    return 0;
}

/* A request that never got a stream (GOAWAY came first, or the stream ids are exhausted). */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *ctx)
{
    struct h2_client_conn *conn = ctx;
    struct channel_call *call;

    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    TAILQ_FOREACH(call, &conn->calls, entry)
    {
        if (call->stream_id == frame->hd.stream_id)
            break;
    }
    if (call) {
        err_set_code(&call->err, ERR_IO, GRPC_UNAVAILABLE, "request not sent: %s", nghttp2_strerror(error));
        hand_back_call(conn, call);
    }
    return 0;
}

static nghttp2_session *session_new(struct h2_client_conn *conn)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIST_MAX},
    };
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;

    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
    nghttp2_session_client_new(&session, callbacks, conn);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings));
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
    return session;
}

static void on_broken(struct h2 *h2, const struct err *err)
{
    struct h2_client_conn *conn = conn_of(h2);

    conn->options.owner->broken(conn->options.ctx, conn, err);
}

static void on_turned(struct h2 *h2)
{
    (void)h2; /* every response has been processed as it arrived */
}

static bool may_send(const struct h2_client_conn *conn)
{
    return !conn->options.may_send || conn->options.may_send(conn->options.may_send_ctx);
}

static bool may_resume(struct h2 *h2)
{
    return may_send(conn_of(h2));
}

static const struct h2_owner h2_owner = {on_broken, on_turned, may_resume};

struct h2_client_conn *h2_client_conn_new_take(struct loop *loop, int fd,
                                               const struct h2_client_conn_options *options)
{
    struct h2_client_conn *conn = NEW(struct h2_client_conn);

    conn->options = *options;
    TAILQ_INIT(&conn->calls);
    h2_start_take(&conn->h2, loop, fd, options->tls ? tls_new_client(options->tls, options->host) : NULL,
                  session_new(conn), &h2_owner);
    return conn;
}

void h2_client_conn_free(struct h2_client_conn *conn, bool reset, struct call_list *orphans)
{
    struct channel_call *call;

    while ((call = TAILQ_FIRST(&conn->calls))) {
        call->conn = NULL;
        call_move(call, orphans);
    }
    h2_stop(&conn->h2, reset);
    mem_free(conn);
}

bool h2_client_conn_has_heard(const struct h2_client_conn *conn)
{
    return conn->heard > 0;
}

bool h2_client_conn_is_unresponsive(const struct h2_client_conn *conn, const struct channel_call *call)
{
    return conn->heard == call->heard_before;
}

bool h2_client_conn_has_only(const struct h2_client_conn *conn, const struct channel_call *call)
{
    return TAILQ_FIRST(&conn->calls) == call && !TAILQ_NEXT(call, entry);
}

void h2_client_conn_retire(struct h2_client_conn *conn)
{
    nghttp2_submit_goaway(conn->h2.session, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, NULL, 0);
}

/* The moment a request's message leaves for the socket: what is returned here is written in this very turn.
 */
static ssize_t on_read_request(nghttp2_session *session, int32_t stream_id, uint8_t *out, size_t room,
                               uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct channel_call *call = call_at(session, stream_id);
    struct h2_client_conn *conn = ctx;
    size_t len;

    (void)source;
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (call->gated && !may_send(conn)) {
        err_set_code(&call->err, ERR_DENIED, GRPC_CANCELLED, "sending is no longer allowed");
        hand_back_call(conn, call);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    len = call->frame.len - call->frame_sent < room ? call->frame.len - call->frame_sent : room;
    memcpy(out, call->frame.ptr + call->frame_sent, len);
    call->frame_sent += len;
    call->sent = true;
    conn->h2.gated = conn->h2.gated || call->gated;
    if (call->frame_sent == call->frame.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

/* Values that neither side's header table may keep: RFC 7541, 7.1.3. */
static nghttp2_nv sensitive_header(const char *name, const char *value)
{
    nghttp2_nv nv = h2_header(name, value);

    nv.flags = NGHTTP2_NV_FLAG_NO_INDEX;
    return nv;
}

static size_t build_headers(const struct h2_client_conn *conn, const struct channel_call *call,
                            char timeout[16], nghttp2_nv out[HEADERS_MAX])
{
    const struct credentials *who = conn->options.credentials;
    size_t count = 0;

    out[count++] = h2_header(":method", "POST");
    out[count++] = h2_header(":scheme", conn->options.tls ? "https" : "http");
    out[count++] = h2_header(":path", call->path);
    out[count++] = h2_header(":authority", conn->options.authority);
    out[count++] = h2_header("te", "trailers");
    out[count++] = h2_header("content-type", "application/grpc");
    out[count++] = h2_header("user-agent", conn->options.user_agent);
    out[count++] = h2_header("grpc-timeout", grpc_timeout_format(call->deadline_ms, timeout));
    if (who->user_id)
        out[count++] = h2_header(CREDENTIALS_USER_ID, who->user_id);
    if (who->access_key)
        out[count++] = sensitive_header(CREDENTIALS_ACCESS_KEY, who->access_key);
    return count;
}

void h2_client_conn_submit(struct h2_client_conn *conn, struct channel_call *call)
{
    char timeout[16];
    nghttp2_nv headers[HEADERS_MAX];
    size_t count = build_headers(conn, call, timeout, headers);
    nghttp2_data_provider body = {.read_callback = on_read_request};

    call->conn = conn;
    call->heard_before = conn->heard;
    call_move(call, &conn->calls);
    call->stream_id = nghttp2_submit_request(conn->h2.session, NULL, headers, count, &body, call);
    if (call->stream_id < 0) {
        err_set_code(&call->err, ERR_IO, GRPC_UNAVAILABLE, "request not sent: %s",
                     nghttp2_strerror(call->stream_id));
        hand_back_call(conn, call);
        /* The stream ids are exhausted: the next call needs another connection. */
        nghttp2_session_terminate_session(conn->h2.session, NGHTTP2_NO_ERROR);
    }
    h2_flush(&conn->h2);
}

void h2_client_conn_withdraw(struct h2_client_conn *conn, struct channel_call *call)
{
    detach(conn, call);
    stop_stream(conn->h2.session, call->stream_id);
    h2_flush(&conn->h2);
}
