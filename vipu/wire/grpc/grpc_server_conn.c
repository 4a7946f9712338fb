#include "vipu/wire/grpc/grpc_server_conn.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc/credentials.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/grpc/h2.h"

#define PREFACE_MS 10000 /* a peer that connects and sends nothing */
#define STREAM_WINDOW (1 << 20)
#define CONNECTION_WINDOW (4 << 20)
#define HEADER_LIST_MAX (16u << 10)
#define PATH_MAX_BYTES 256u
#define UNFINISHED_MAX 4u /* unfinished requests of the largest size: so many bytes may be buffered */
/* Some clients reset every stream when they are done with it; an attacker's resets come faster than calls
 * can. */
#define RESET_BURST 20000u
#define RESET_PER_SECOND 10000u

struct grpc_server_call {
    TAILQ_ENTRY(grpc_server_call) entry;
    struct grpc_server_conn *conn; /* NULL when the caller is gone */
    int32_t stream_id;
    struct str path;
    struct str body;
    struct credentials credentials;
    bool is_post, is_grpc;
    bool is_masked; /* its credentials are invalid */
    bool handed;    /* the handler has it */
    bool answered;
    int status;
    struct str text;
    struct str reply;
    size_t reply_sent;
};

TAILQ_HEAD(grpc_server_calls, grpc_server_call);

struct grpc_server_conn {
    struct h2 h2;
    struct grpc_server_conn_owner owner;
    struct grpc_server_calls calls;
    struct loop_timer preface;
    int64_t idle_since_ms; /* while it has no calls */
    size_t unfinished;     /* bytes of incomplete requests */
    size_t unsent;         /* bytes of replies that the session has not sent yet */
};

static void call_free(struct grpc_server_call *call)
{
    str_release(&call->path);
    str_release(&call->body);
    credentials_release(&call->credentials);
    str_release(&call->text);
    str_release(&call->reply);
    mem_free(call);
}

/* The request is complete, or its rest is not needed. The caller frees it. */
static struct str take_body(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    struct str body = call->body;

    conn->unfinished -= body.len;
    call->body = (struct str){.max = body.max};
    return body;
}

static void drop_body(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    struct str body = take_body(conn, call);

    str_release(&body);
}

/* The stream is closed. A call that is still with the handler lives until it is finished. */
static void call_detach(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    TAILQ_REMOVE(&conn->calls, call, entry);
    conn->idle_since_ms = loop_now_ms(conn->owner.loop);
    drop_body(conn, call);
    conn->unsent -= call->reply.len - call->reply_sent;
    call->conn = NULL;
    if (!call->handed || call->answered)
        call_free(call);
}

static struct grpc_server_call *call_at(nghttp2_session *session, int32_t stream_id)
{
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct grpc_server_conn *conn = ctx;
    struct grpc_server_call *call;

    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    call = NEW(struct grpc_server_call);
    call->conn = conn;
    call->stream_id = frame->hd.stream_id;
    call->path.max = PATH_MAX_BYTES;
    call->body.max = conn->owner.options->max_request + GRPC_PREFIX_BYTES;
    TAILQ_INSERT_TAIL(&conn->calls, call, entry);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct grpc_server_call *call = call_at(session, frame->hd.stream_id);
    struct slice n = {(const char *)name, name_len}, v = {(const char *)value, value_len};

    (void)flags;
    (void)ctx;
    if (!call)
        return 0;
    if (slice_eq(n, ":method"))
        call->is_post = slice_eq(v, "POST");
    else if (slice_eq(n, ":path"))
        str_add(&call->path, v.ptr, v.len);
    else if (slice_eq(n, "content-type"))
        call->is_grpc = v.len >= 16 && memcmp(v.ptr, "application/grpc", 16) == 0;
    else if (!credentials_header(&call->credentials, n, v))
        call->is_masked = true;
    return 0;
}

/* NULL: accepted. */
static const char *gather(struct grpc_server_conn *conn, struct grpc_server_call *call, const uint8_t *bytes,
                          size_t len)
{
    if (conn->unfinished + len > UNFINISHED_MAX * (conn->owner.options->max_request + GRPC_PREFIX_BYTES))
        return "too many unfinished requests on this connection";
    if (!str_add(&call->body, bytes, len))
        return "request too large";
    conn->unfinished += len;
    return NULL;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *bytes,
                   size_t len, void *ctx)
{
    struct grpc_server_call *call = call_at(session, stream_id);
    struct grpc_server_conn *conn = ctx;
    const char *rejected = NULL;

    (void)flags;
    if (call && !call->answered)
        rejected = gather(conn, call, bytes, len);
    if (!rejected)
        return 0;
    drop_body(conn, call);
    grpc_server_reject(call, GRPC_RESOURCE_EXHAUSTED, rejected);
    return 0;
}

/* Requests that are not gRPC get an HTTP status. */
static void reject_http(nghttp2_session *session, int32_t stream_id)
{
    nghttp2_nv headers[] = {h2_header(":status", "415"), h2_header("content-type", "text/plain")};

    nghttp2_submit_response(session, stream_id, headers, COUNT_OF(headers), NULL);
}

static void hand_over(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    AUTO(str) struct str body = take_body(conn, call);
    struct slice message;
    struct err err;

    if (call->answered)
        return;
    if (!call->is_post || !call->is_grpc) {
        call->answered = true;
        reject_http(conn->h2.session, call->stream_id);
    } else if (call->is_masked) {
        grpc_server_reject(call, GRPC_UNAUTHENTICATED,
                           "send " CREDENTIALS_USER_ID " and " CREDENTIALS_ACCESS_KEY
                           " once each, within their limits, in printable ASCII");
    } else if (!grpc_unframe(str_slice(&body), &message, &err)) {
        grpc_server_reject(call, GRPC_INVALID_ARGUMENT, err.msg);
    } else {
        call->handed = true;
        conn->owner.fn(conn->owner.fn_ctx, call, str_slice(&call->path), message);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct grpc_server_conn *conn = ctx;
    struct grpc_server_call *call;

    loop_timer_stop(&conn->preface);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    call = call_at(session, frame->hd.stream_id);
    if (call && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        hand_over(conn, call);
    return 0;
}

/* A response that ended while the request is still arriving: its sender may stop (RFC 9113, 8.1). */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    int32_t id = frame->hd.stream_id;

    (void)ctx;
    if (frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
        nghttp2_session_get_stream_remote_close(session, id) == 0)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error, void *ctx)
{
    struct grpc_server_call *call = call_at(session, stream_id);

    (void)error;
    if (call)
        call_detach(ctx, call);
    return 0;
}

static void submit_trailers(nghttp2_session *session, const struct grpc_server_call *call)
{
    nghttp2_nv trailers[2];
    char status[8];
    size_t count = 1;

    (void)snprintf(status, sizeof(status), "%d", call->status);
    trailers[0] = h2_header("grpc-status", status);
    if (call->text.len)
        trailers[count++] = h2_header("grpc-message", str_text(&call->text));
    nghttp2_submit_trailer(session, call->stream_id, trailers, count);
}

static ssize_t on_read_reply(nghttp2_session *session, int32_t stream_id, uint8_t *out, size_t room,
                             uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct grpc_server_call *call = call_at(session, stream_id);
    struct grpc_server_conn *conn = ctx;
    size_t len;

    (void)source;
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    len = call->reply.len - call->reply_sent < room ? call->reply.len - call->reply_sent : room;
    memcpy(out, call->reply.ptr + call->reply_sent, len);
    call->reply_sent += len;
    conn->unsent -= len;
    if (call->reply_sent == call->reply.len) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailers(session, call);
    }
    return (ssize_t)len;
}

static nghttp2_session *session_new(struct grpc_server_conn *conn)
{
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, conn->owner.options->max_calls},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIST_MAX},
    };
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    nghttp2_session *session;

    nghttp2_option_new(&option);
    nghttp2_option_set_stream_reset_rate_limit(option, RESET_BURST, RESET_PER_SECOND);
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_server_new2(&session, callbacks, conn, option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings));
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
    return session;
}

static void on_broken(struct h2 *h2, const struct err *err)
{
    struct grpc_server_conn *conn = CONTAINER_OF(h2, struct grpc_server_conn, h2);

    (void)err; /* clients connect and disconnect */
    conn->owner.gone(conn->owner.ctx, conn);
}

static void on_turned(struct h2 *h2)
{
    (void)h2;
}

static void on_no_preface(struct loop_timer *timer)
{
    struct grpc_server_conn *conn = CONTAINER_OF(timer, struct grpc_server_conn, preface);

    conn->owner.gone(conn->owner.ctx, conn);
}

static const struct h2_owner h2_owner = {.broken = on_broken, .turned = on_turned};

struct grpc_server_conn *grpc_server_conn_new_take(int fd, struct tls *tls,
                                                   const struct grpc_server_conn_owner *owner)
{
    struct grpc_server_conn *conn = NEW(struct grpc_server_conn);

    conn->owner = *owner;
    TAILQ_INIT(&conn->calls);
    conn->idle_since_ms = loop_now_ms(owner->loop);
    loop_timer_start(owner->loop, &conn->preface, PREFACE_MS, on_no_preface);
    h2_start_take(&conn->h2, owner->loop, fd, tls, session_new(conn), &h2_owner);
    return conn;
}

void grpc_server_conn_send_settings(struct grpc_server_conn *conn)
{
    h2_flush(&conn->h2);
}

int64_t grpc_server_conn_idle_since_ms(const struct grpc_server_conn *conn)
{
    return TAILQ_EMPTY(&conn->calls) ? conn->idle_since_ms : -1;
}

void grpc_server_conn_free(struct grpc_server_conn *conn)
{
    struct grpc_server_call *call;

    loop_timer_stop(&conn->preface);
    while ((call = TAILQ_FIRST(&conn->calls)))
        call_detach(conn, call);
    h2_stop(&conn->h2, false);
    mem_free(conn);
}

const char *grpc_server_call_user_id(const struct grpc_server_call *call)
{
    return call->credentials.user_id ? call->credentials.user_id : "";
}

const char *grpc_server_call_access_key(const struct grpc_server_call *call)
{
    return call->credentials.access_key ? call->credentials.access_key : "";
}

static void submit_reply(struct grpc_server_call *call)
{
    nghttp2_nv headers[] = {h2_header(":status", "200"), h2_header("content-type", "application/grpc")};
    nghttp2_data_provider body = {.read_callback = on_read_reply};

    nghttp2_submit_response(call->conn->h2.session, call->stream_id, headers, COUNT_OF(headers), &body);
}

/* "Trailers-Only" in gRPC: one HEADERS frame that ends the stream. */
static void submit_rejection(struct grpc_server_call *call)
{
    nghttp2_nv headers[4] = {h2_header(":status", "200"), h2_header("content-type", "application/grpc")};
    char status[8];
    size_t count = 2;

    (void)snprintf(status, sizeof(status), "%d", call->status);
    headers[count++] = h2_header("grpc-status", status);
    if (call->text.len)
        headers[count++] = h2_header("grpc-message", str_text(&call->text));
    nghttp2_submit_response(call->conn->h2.session, call->stream_id, headers, count, NULL);
}

void grpc_server_reject(struct grpc_server_call *call, int grpc_status, const char *text)
{
    call->answered = true;
    if (!call->conn) {
        call_free(call);
        return;
    }
    call->status = grpc_status;
    grpc_text_encode(text, &call->text);
    submit_rejection(call);
    h2_flush(&call->conn->h2);
}

void grpc_server_drop(struct grpc_server_call *call)
{
    struct grpc_server_conn *conn = call->conn;

    call->answered = true;
    if (conn)
        conn->owner.gone(conn->owner.ctx, conn);
    else
        call_free(call);
}

void grpc_server_reply(struct grpc_server_call *call, struct slice message)
{
    struct grpc_server_conn *conn = call->conn;

    if (conn && conn->unsent + message.len > conn->owner.options->max_unsent) {
        grpc_server_reject(call, GRPC_RESOURCE_EXHAUSTED, "too many unread responses on this connection");
        return;
    }
    call->answered = true;
    if (!conn) {
        call_free(call);
        return;
    }
    call->reply.max = message.len + GRPC_PREFIX_BYTES;
    grpc_frame(&call->reply, message);
    conn->unsent += call->reply.len;
    submit_reply(call);
    h2_flush(&conn->h2);
}
