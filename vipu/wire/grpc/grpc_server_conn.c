#include "vipu/wire/grpc/grpc_server_conn.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/grpc/h2.h"
#include "vipu/wire/grpc/request.h"

#define STREAM_WINDOW (1 << 20)
#define CONNECTION_WINDOW (4 << 20)
#define EXCHANGE_BYTES ((size_t)16 << 10) /* messages of an exchange that wait for their turn */
#define UNFINISHED_MAX 4u /* unfinished requests of the largest size: so many bytes may be buffered */
/* Some clients reset every stream when they are done with it; an attacker's resets come faster than calls
 * can. */
#define RESET_BURST 20000u
#define RESET_PER_SECOND 10000u
/* What a call and a frame that waits to be sent take besides their bytes, here and in nghttp2. */
#define CALL_BYTES 1024u
#define FRAME_BYTES 192u
/* Of one block of headers, decoded: a byte of HPACK can stand for a field of 4 KiB. Calls with more than
 * REQUEST_HEADERS_MAX are rejected; more than this ends the connection, because it is work for nothing. */
#define HEADER_BLOCK_MAX ((size_t)256 << 10)
#define READING_MS 1000 /* a client that takes nothing of a response for so long is not reading */

struct grpc_server_call {
    TAILQ_ENTRY(grpc_server_call) entry;
    struct grpc_server_conn *conn; /* NULL when the caller is gone */
    int32_t stream_id;
    struct request request;
    enum grpc_method_kind kind;
    int64_t begun_ms;
    int64_t heard_ms; /* its start, or its last message of an exchange */
    size_t bytes;     /* kept for it */
    bool is_complete; /* the request */
    bool handed;      /* the handler has it, or its last message */
    bool has_headers; /* of the response, and then messages */
    bool answered;    /* its status is decided */
    struct loop_timer deadline;
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
    struct loop_timer stall;
    struct loop_timer resume; /* of complete calls, and of exchanges whose last response has been read */
    bool is_resuming;         /* inside it: all is flushed at its end */
    bool is_ready;            /* it has calls that wait for it */
    uint64_t number;          /* random */
    char peer[SOCK_ADDRESS_MAX];
    bool has_spoken;     /* it has sent a frame */
    bool is_known;       /* one of its unary calls has succeeded */
    int64_t since_ms;    /* its last complete request, or its start */
    int64_t progress_ms; /* when its client last took a part of a response */
    size_t header_block; /* decoded bytes of the last one */
    size_t handed_count; /* calls that are with the handler */
    size_t answered_count;
    size_t bytes;      /* kept for it, of the server's memory */
    size_t queued;     /* the part of it for frames and bytes that wait to be sent */
    size_t unfinished; /* bytes of incomplete requests */
    size_t unsent;     /* bytes of replies that the session has not sent yet */
};

static int64_t now_of(const struct grpc_server_conn *conn)
{
    return loop_now_ms(conn->owner.loop);
}

/* ---- memory ---- */

/* One piece may exceed the limit, so that a long list can be sent at all. */
static bool keep_bytes(struct grpc_server_conn *conn, size_t bytes)
{
    struct grpc_server_memory *memory = conn->owner.memory;

    if (memory->used >= memory->max &&
        !conn->owner.evict_for_memory(conn->owner.ctx, conn, conn->bytes + bytes))
        return false;
    conn->bytes += bytes;
    memory->used += bytes;
    return true;
}

static void drop_bytes(struct grpc_server_conn *conn, size_t bytes)
{
    conn->bytes -= bytes;
    conn->owner.memory->used -= bytes;
}

static bool call_keep(struct grpc_server_call *call, size_t bytes)
{
    if (!keep_bytes(call->conn, bytes))
        return false;
    call->bytes += bytes;
    return true;
}

static void call_drop(struct grpc_server_call *call, size_t bytes)
{
    call->bytes -= bytes;
    drop_bytes(call->conn, bytes);
}

/* ---- calls ---- */

static void call_free(struct grpc_server_call *call)
{
    request_release(&call->request);
    str_release(&call->text);
    str_release(&call->reply);
    mem_free(call);
}

/* Of an incomplete request: bytes that its client has to complete. */
static size_t unfinished_of(const struct grpc_server_call *call)
{
    return call->is_complete && call->kind != GRPC_EXCHANGE ? 0 : call->request.body.len;
}

/* The request is complete, or its rest is not needed. */
static void drop_body(struct grpc_server_call *call)
{
    size_t len = call->request.body.len;

    str_release(&call->request.body);
    call->conn->unfinished -= len;
    call_drop(call, len);
}

/* Its client owes nothing but to read. */
static bool waits_for_reader(const struct grpc_server_conn *conn)
{
    return conn->answered_count > 0 || conn->unsent > 0;
}

/* Before something waits to be read. */
static void note_waiting(struct grpc_server_conn *conn)
{
    if (!waits_for_reader(conn))
        conn->progress_ms = now_of(conn);
}

static void call_set_answered(struct grpc_server_call *call)
{
    struct grpc_server_conn *conn = call->conn;

    call->answered = true;
    loop_timer_stop(&call->deadline);
    if (!conn)
        return;
    conn->handed_count -= call->handed;
    note_waiting(conn);
    conn->answered_count++;
}

/* The stream is closed. A call that is still with the handler lives until it is finished. */
static void call_detach(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    TAILQ_REMOVE(&conn->calls, call, entry);
    loop_timer_stop(&call->deadline);
    conn->unfinished -= unfinished_of(call);
    conn->unsent -= call->reply.len - call->reply_sent;
    if (call->answered) {
        conn->answered_count--;
        conn->progress_ms = now_of(conn);
    } else {
        conn->handed_count -= call->handed;
    }
    call_drop(call, call->bytes);
    call->conn = NULL;
    str_release(&call->request.body);
    if (!call->handed || call->answered)
        call_free(call);
}

static struct grpc_server_call *call_at(nghttp2_session *session, int32_t stream_id)
{
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static void on_stalled(struct loop_timer *timer);

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct grpc_server_conn *conn = ctx;
    struct grpc_server_call *call;

    conn->header_block = 0;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    call = NEW(struct grpc_server_call);
    *call = (struct grpc_server_call){
        .conn = conn, .stream_id = frame->hd.stream_id, .begun_ms = now_of(conn), .heard_ms = now_of(conn)};
    if (!call_keep(call, CALL_BYTES)) {
        mem_free(call);
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                         NGHTTP2_REFUSED_STREAM);
    }
    request_init(&call->request, conn->owner.options->max_request);
    TAILQ_INSERT_TAIL(&conn->calls, call, entry);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    if (!loop_timer_is_running(&conn->stall))
        loop_timer_start(conn->owner.loop, &conn->stall, conn->owner.options->stall_ms, on_stalled);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct grpc_server_call *call = call_at(session, frame->hd.stream_id);
    struct grpc_server_conn *conn = ctx;

    (void)flags;
    conn->header_block += name_len + value_len;
    if (conn->header_block > HEADER_BLOCK_MAX)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (call)
        request_header(&call->request, (struct slice){(const char *)name, name_len},
                       (struct slice){(const char *)value, value_len});
    return 0;
}

/* NULL: accepted. */
static const char *gather(struct grpc_server_conn *conn, struct grpc_server_call *call, const uint8_t *bytes,
                          size_t len)
{
    if (conn->unfinished + len > UNFINISHED_MAX * call->request.body.max)
        return "too many unfinished requests on this connection";
    if (len > call->request.body.max - call->request.body.len)
        return "request too large";
    if (!call_keep(call, len))
        return GRPC_SERVER_FULL;
    str_add(&call->request.body, bytes, len);
    conn->unfinished += len;
    return NULL;
}

/* "Trailers-Only" in gRPC: one HEADERS frame that ends the stream. */
static void submit_status(struct grpc_server_call *call)
{
    const struct request *request = &call->request;
    nghttp2_nv headers[5];
    char status[8], http_status[8];
    size_t count = 0;

    (void)snprintf(status, sizeof(status), "%d", call->status);
    (void)snprintf(http_status, sizeof(http_status), "%d", request_http_status(request));
    headers[count++] = h2_header(":status", http_status);
    headers[count++] = h2_header("content-type", "application/grpc");
    headers[count++] = h2_header("grpc-status", status);
    if (call->text.len)
        headers[count++] = h2_header("grpc-message", str_text(&call->text));
    if (request->is_compressed)
        headers[count++] = h2_header("grpc-accept-encoding", "identity");
    nghttp2_submit_response(call->conn->h2.session, call->stream_id, headers, count, NULL);
}

/* The call's status follows what has been sent of it. Sent with the connection's next flush. */
static void finish(struct grpc_server_call *call, int grpc_status, const char *text)
{
    call_set_answered(call);
    call->status = grpc_status;
    grpc_text_encode(text, &call->text);
    if (call->has_headers)
        nghttp2_session_resume_data(call->conn->h2.session, call->stream_id);
    else
        submit_status(call);
}

static bool validate(struct grpc_server_call *call, struct slice frame, struct slice *ret, struct err *err)
{
    if (!request_validate(&call->request, frame, ret, err))
        return false;
    return grpc_server_call_deadline_ms(call) > now_of(call->conn) ||
           err_set_code(err, ERR_TIMEOUT, GRPC_DEADLINE_EXCEEDED,
                        "the call's deadline passed before its request was complete");
}

/* The same for a call that the handler may still have: it finds out when it finishes the call. */
static void end_call(struct grpc_server_call *call, int grpc_status, const char *text)
{
    struct grpc_server_conn *conn = call->conn;

    if (!call->handed) {
        finish(call, grpc_status, text);
        return;
    }
    nghttp2_session_set_stream_user_data(conn->h2.session, call->stream_id, NULL);
    call->status = grpc_status;
    grpc_text_encode(text, &call->text);
    if (call->has_headers)
        nghttp2_submit_rst_stream(conn->h2.session, NGHTTP2_FLAG_NONE, call->stream_id, NGHTTP2_CANCEL);
    else
        submit_status(call);
    call_detach(conn, call);
}

static void on_deadline(struct loop_timer *timer)
{
    struct grpc_server_call *call = CONTAINER_OF(timer, struct grpc_server_call, deadline);
    struct grpc_server_conn *conn = call->conn;

    end_call(call, GRPC_DEADLINE_EXCEEDED, "the call's deadline passed before it was finished");
    h2_flush(&conn->h2);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *bytes,
                   size_t len, void *ctx)
{
    struct grpc_server_call *call = call_at(session, stream_id);
    const char *rejected = NULL;

    (void)flags;
    if (call && !call->answered)
        rejected = gather(ctx, call, bytes, len);
    if (!rejected)
        return 0;
    drop_body(call);
    end_call(call, GRPC_RESOURCE_EXHAUSTED, rejected);
    return 0;
}

static void start_deadline(const struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    int64_t left = grpc_server_call_deadline_ms(call) - now_of(conn);

    if (call->request.timeout_ms >= 0 && !call->answered && !loop_timer_is_running(&call->deadline))
        loop_timer_start(conn->owner.loop, &call->deadline, left > 0 ? left : 0, on_deadline);
}

/* The message in this frame. What is kept for it is the handler's, no longer the client's. */
static void hand_over(struct grpc_server_conn *conn, struct grpc_server_call *call, struct slice frame)
{
    struct slice message;
    struct err err;

    if (!validate(call, frame, &message, &err)) {
        finish(call, err.code, err.msg);
        return;
    }
    call->handed = true;
    conn->handed_count++;
    conn->owner.fn(conn->owner.fn_ctx, call, str_slice(&call->request.path), message);
    start_deadline(conn, call);
}

static struct str take_body(struct grpc_server_call *call)
{
    struct str body = call->request.body;

    call->conn->unfinished -= unfinished_of(call);
    call->request.body = (struct str){.max = body.max};
    call_drop(call, body.len);
    return body;
}

/* Hands over the next message of an exchange, once the response to the one before has been read: a client
 * that does not read costs one response. */
static void exchange(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    AUTO(str) struct str body = {0};
    struct slice rest, frame;
    const char *rejected;

    if (call->handed || call->answered || call->reply.len > 0)
        return;
    body = take_body(call);
    rest = str_slice(&body);
    if (grpc_first_frame(rest, &frame)) {
        rest = (struct slice){rest.ptr + frame.len, rest.len - frame.len};
        hand_over(conn, call, frame);
    } else if (call->is_complete) {
        finish(call, rest.len > 0 ? GRPC_INVALID_ARGUMENT : GRPC_OK,
               rest.len > 0 ? "the last message is incomplete" : "");
    }
    if (call->answered || rest.len == 0)
        return;
    rejected = gather(conn, call, (const uint8_t *)rest.ptr, rest.len);
    if (rejected)
        end_call(call, GRPC_RESOURCE_EXHAUSTED, rejected);
}

static void run_call(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    if (call->kind == GRPC_EXCHANGE) {
        exchange(conn, call);
    } else if (call->is_complete && !call->handed && !call->answered && !call->has_headers) {
        AUTO(str) struct str body = take_body(call);

        hand_over(conn, call, str_slice(&body));
    }
}

static void on_resume(struct loop_timer *timer)
{
    struct grpc_server_conn *conn = CONTAINER_OF(timer, struct grpc_server_conn, resume);
    struct grpc_server_call *call, *next;

    if (*conn->owner.is_paused)
        return;
    conn->is_ready = false;
    conn->is_resuming = true;
    for (call = TAILQ_FIRST(&conn->calls); call; call = next) {
        next = TAILQ_NEXT(call, entry);
        run_call(conn, call);
    }
    conn->is_resuming = false;
    h2_flush(&conn->h2);
}

static void resume_soon(struct grpc_server_conn *conn)
{
    conn->is_ready = true;
    loop_timer_start(conn->owner.loop, &conn->resume, 0, on_resume);
}

/* Calls run when all that has arrived is read: one that is given up right behind its request, thousands of
 * times a second, costs no more than its frames. */
static void on_complete(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    conn->unfinished -= unfinished_of(call);
    call->is_complete = true;
    conn->unfinished += unfinished_of(call);
    conn->since_ms = now_of(conn);
    start_deadline(conn, call);
    resume_soon(conn);
}

void grpc_server_conn_resume(struct grpc_server_conn *conn)
{
    if (conn->is_ready)
        resume_soon(conn);
}

/* False: the call is rejected. */
static bool begin(struct grpc_server_conn *conn, struct grpc_server_call *call)
{
    const grpc_method_kind_fn kind_of = conn->owner.options->kind_of;
    struct err err;

    if (!request_check_headers(&call->request, &err)) {
        finish(call, err.code, err.msg);
        return false;
    }
    call->kind = kind_of ? kind_of(str_slice(&call->request.path)) : GRPC_UNARY;
    if (call->kind == GRPC_EXCHANGE && call->request.body.max > EXCHANGE_BYTES)
        call->request.body.max = EXCHANGE_BYTES;
    return true;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct grpc_server_conn *conn = ctx;
    struct grpc_server_call *call;

    conn->has_spoken = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    call = call_at(session, frame->hd.stream_id);
    if (!call || call->answered)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST && !begin(conn, call))
        return 0;
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        on_complete(conn, call);
    else if (call->kind == GRPC_EXCHANGE)
        exchange(conn, call);
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
    if (len > 0) {
        memcpy(out, call->reply.ptr + call->reply_sent, len);
        call->reply_sent += len;
        conn->unsent -= len;
        conn->progress_ms = now_of(conn);
    }
    if (call->reply_sent < call->reply.len)
        return (ssize_t)len;
    if (call->answered) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailers(session, call);
        return (ssize_t)len;
    }
    call_drop(call, call->reply.len);
    str_release(&call->reply);
    call->reply_sent = 0;
    resume_soon(conn);
    return len > 0 ? (ssize_t)len : NGHTTP2_ERR_DEFERRED;
}

static nghttp2_session *session_new(struct grpc_server_conn *conn)
{
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, conn->owner.options->max_calls},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, REQUEST_HEADERS_MAX},
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

/* Frames and bytes that wait because the peer reads nothing are part of what is kept for it. */
static void on_turned(struct h2 *h2)
{
    struct grpc_server_conn *conn = CONTAINER_OF(h2, struct grpc_server_conn, h2);
    size_t queued =
        nghttp2_session_get_outbound_queue_size(h2->session) * FRAME_BYTES + h2->out.cap + h2->plain.cap;

    if (queued > conn->queued && !keep_bytes(conn, queued - conn->queued)) {
        conn->owner.gone(conn->owner.ctx, conn);
        return;
    }
    if (queued < conn->queued)
        drop_bytes(conn, conn->queued - queued);
    conn->queued = queued;
}

static const struct h2_owner h2_owner = {.broken = on_broken, .turned = on_turned};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rejects the requests that are unfinished for too long. Returns when to look again. */
static int64_t reject_unfinished(struct grpc_server_conn *conn, int64_t now)
{
    const int64_t stall = conn->owner.options->stall_ms;
    int64_t next = now + stall;
    struct grpc_server_call *call;

    TAILQ_FOREACH(call, &conn->calls, entry)
    {
        if (call->is_complete || call->handed || call->answered)
            continue;
        if (call->heard_ms + stall > now) {
            next = earlier(next, call->heard_ms + stall);
            continue;
        }
        drop_body(call);
        finish(call, GRPC_DEADLINE_EXCEEDED, "the request was not complete in time");
    }
    return next;
}

/* It has left something half done for too long: the connection itself, a request, or reading a response. */
static void on_stalled(struct loop_timer *timer)
{
    struct grpc_server_conn *conn = CONTAINER_OF(timer, struct grpc_server_conn, stall);
    const int64_t now = now_of(conn), stall = conn->owner.options->stall_ms;
    int64_t next;

    if (!conn->has_spoken || (waits_for_reader(conn) && conn->progress_ms + stall <= now)) {
        conn->owner.gone(conn->owner.ctx, conn);
        return;
    }
    next = reject_unfinished(conn, now);
    if (!h2_flush(&conn->h2) || TAILQ_EMPTY(&conn->calls))
        return;
    if (waits_for_reader(conn))
        next = earlier(next, conn->progress_ms + stall);
    loop_timer_start(conn->owner.loop, &conn->stall, next > now ? next - now : 1, on_stalled);
}

struct grpc_server_conn *grpc_server_conn_new_take(int fd, struct tls *tls,
                                                   const struct grpc_server_conn_owner *owner)
{
    struct grpc_server_conn *conn = NEW(struct grpc_server_conn);

    conn->owner = *owner;
    loop_random(&conn->number, sizeof(conn->number));
    sock_peer(fd, conn->peer);
    TAILQ_INIT(&conn->calls);
    conn->since_ms = now_of(conn);
    loop_timer_start(owner->loop, &conn->stall, owner->options->stall_ms, on_stalled);
    h2_start_take(&conn->h2, owner->loop, fd, tls, session_new(conn), &h2_owner);
    return conn;
}

void grpc_server_conn_send_settings(struct grpc_server_conn *conn)
{
    h2_flush(&conn->h2);
}

void grpc_server_conn_close(struct grpc_server_conn *conn)
{
    nghttp2_session_terminate_session(conn->h2.session, NGHTTP2_NO_ERROR);
    if (h2_flush(&conn->h2))
        conn->owner.gone(conn->owner.ctx, conn);
}

struct eviction_candidate grpc_server_conn_eviction_candidate(const struct grpc_server_conn *conn)
{
    bool waits = waits_for_reader(conn), reads = conn->progress_ms + READING_MS > now_of(conn);

    return (struct eviction_candidate){.is_pinned = conn->h2.reading,
                                       .is_known = conn->is_known,
                                       .is_busy =
                                           conn->handed_count > 0 || conn->is_ready || (waits && reads),
                                       .is_stalled = waits && !reads,
                                       .since_ms = conn->since_ms,
                                       .bytes = conn->bytes};
}

void grpc_server_conn_free(struct grpc_server_conn *conn)
{
    struct grpc_server_call *call;

    loop_timer_stop(&conn->stall);
    loop_timer_stop(&conn->resume);
    while ((call = TAILQ_FIRST(&conn->calls)))
        call_detach(conn, call);
    drop_bytes(conn, conn->bytes);
    h2_stop(&conn->h2, false);
    mem_free(conn);
}

const char *grpc_server_call_certificate(const struct grpc_server_call *call)
{
    const char *name = call->conn && call->conn->h2.tls ? tls_peer_name(call->conn->h2.tls) : NULL;

    return name ? name : "";
}

const char *grpc_server_call_peer(const struct grpc_server_call *call)
{
    return call->conn ? call->conn->peer : "";
}

uint64_t grpc_server_call_connection(const struct grpc_server_call *call)
{
    return call->conn ? call->conn->number : 0;
}

const char *grpc_server_call_user_id(const struct grpc_server_call *call)
{
    const char *user_id = call->request.credentials.user_id;

    return user_id ? user_id : "";
}

const char *grpc_server_call_access_key(const struct grpc_server_call *call)
{
    const char *access_key = call->request.credentials.access_key;

    return access_key ? access_key : "";
}

int64_t grpc_server_call_deadline_ms(const struct grpc_server_call *call)
{
    return call->request.timeout_ms < 0 ? INT64_MAX : call->begun_ms + call->request.timeout_ms;
}

const char *grpc_server_call_path(const struct grpc_server_call *call)
{
    return str_text(&call->request.path);
}

static void submit_reply(struct grpc_server_call *call)
{
    nghttp2_nv headers[] = {h2_header(":status", "200"), h2_header("content-type", "application/grpc")};
    nghttp2_data_provider body = {.read_callback = on_read_reply};

    call->has_headers = true;
    nghttp2_submit_response(call->conn->h2.session, call->stream_id, headers, COUNT_OF(headers), &body);
}

/* The connection may be gone after it, unless all is flushed later. */
static void flush(struct grpc_server_conn *conn)
{
    if (!conn->is_resuming)
        h2_flush(&conn->h2);
}

/* The caller is gone: nobody gets the response. */
static bool is_abandoned(struct grpc_server_call *call)
{
    if (call->conn)
        return false;
    call_free(call);
    return true;
}

void grpc_server_reject(struct grpc_server_call *call, int grpc_status, const char *text)
{
    if (is_abandoned(call))
        return;
    finish(call, grpc_status, text);
    flush(call->conn);
}

void grpc_server_drop(struct grpc_server_call *call)
{
    if (is_abandoned(call))
        return;
    call_set_answered(call);
    call->conn->owner.gone(call->conn->owner.ctx, call->conn);
}

void grpc_server_reply(struct grpc_server_call *call, struct slice message)
{
    struct grpc_server_conn *conn = call->conn;

    if (is_abandoned(call))
        return;
    if (conn->unsent >= conn->owner.options->max_unsent) {
        grpc_server_reject(call, GRPC_RESOURCE_EXHAUSTED, "too many unread responses on this connection");
        return;
    }
    if (!call_keep(call, message.len + GRPC_PREFIX_BYTES)) {
        grpc_server_reject(call, GRPC_RESOURCE_EXHAUSTED, GRPC_SERVER_FULL);
        return;
    }
    note_waiting(conn);
    call->reply.max = message.len + GRPC_PREFIX_BYTES;
    grpc_frame(&call->reply, message);
    conn->unsent += call->reply.len;
    if (call->kind == GRPC_UNARY) {
        conn->is_known = true; /* a call that only stays open proves nothing */
        call_set_answered(call);
    } else {
        conn->handed_count--;
        call->handed = false;
        call->heard_ms = now_of(conn);
    }
    if (call->has_headers)
        nghttp2_session_resume_data(conn->h2.session, call->stream_id);
    else
        submit_reply(call);
    flush(conn);
}
