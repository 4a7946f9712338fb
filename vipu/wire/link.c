#include "vipu/wire/link.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc.h"
#include "vipu/wire/h2.h"

#define STREAM_WINDOW (1 << 20)
#define CONNECTION_WINDOW (4 << 20)
#define HEADER_LIST_MAX (32u << 10)
#define HEADERS_MAX 10u
#define UNFINISHED_MAX ((size_t)128 << 20) /* two of the longest lists, or many of the other replies */

struct link {
    struct h2 h2;
    struct link_options options;
    struct call_list calls;
    size_t unfinished; /* bytes of answers that are still coming */
    uint64_t heard;    /* frames */
};

static struct link *link_of(struct h2 *h2)
{
    return CONTAINER_OF(h2, struct link, h2);
}

/* The call leaves the link; its stream, if still open, answers to nobody any more. */
static void detach(struct link *link, struct channel_call *call)
{
    nghttp2_session_set_stream_user_data(link->h2.session, call->stream_id, NULL);
    link->unfinished -= call->response.body.len;
    call_move(call, NULL);
    call->link = NULL;
}

static void over(struct link *link, struct channel_call *call)
{
    detach(link, call);
    link->options.owner->call_over(link->options.ctx, call);
}

static void judge(struct link *link, struct channel_call *call, uint32_t reset)
{
    if (!response_judge(&call->response, reset, &call->message, &call->err) &&
        reset == NGHTTP2_REFUSED_STREAM)
        call->sent = false; /* RFC 9113, 8.7: the peer has not looked at it */
    over(link, call);
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

static bool gather(struct link *link, struct channel_call *call, const uint8_t *bytes, size_t len)
{
    if (link->unfinished + len > UNFINISHED_MAX)
        return err_set_code(&call->err, ERR_IO, GRPC_RESOURCE_EXHAUSTED,
                            "answers of more than %zu bytes are coming at once", UNFINISHED_MAX);
    if (!response_data(&call->response, bytes, len))
        return err_set_code(&call->err, ERR_IO, GRPC_RESOURCE_EXHAUSTED,
                            "the answer is larger than %zu bytes", call->response.body.max);
    link->unfinished += len;
    return true;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *bytes,
                   size_t len, void *ctx)
{
    struct channel_call *call = call_at(session, stream_id);

    (void)flags;
    if (!call || gather(ctx, call, bytes, len))
        return 0;
    over(ctx, call);
    stop_stream(session, stream_id);
    return 0;
}

static void on_end_of_stream(struct link *link, int32_t stream_id)
{
    struct channel_call *call = call_at(link->h2.session, stream_id);

    if (!call)
        return;
    judge(link, call, 0);
    /* The answer may come before the request is out: then nobody wants the rest of it. */
    if (nghttp2_session_get_stream_local_close(link->h2.session, stream_id) == 0)
        stop_stream(link->h2.session, stream_id);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct link *link = ctx;

    (void)session;
    link->heard++;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        link->options.owner->retiring(link->options.ctx, link);
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        on_end_of_stream(link, frame->hd.stream_id);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error, void *ctx)
{
    struct channel_call *call = call_at(session, stream_id);

    if (call)
        judge(ctx, call, error ? error : NGHTTP2_NO_ERROR);
    return 0;
}

/* A request that never got a stream (GOAWAY came first, or the ids are used up). */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *ctx)
{
    struct link *link = ctx;
    struct channel_call *call;

    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    TAILQ_FOREACH(call, &link->calls, entry)
    {
        if (call->stream_id == frame->hd.stream_id)
            break;
    }
    if (call) {
        err_set_code(&call->err, ERR_IO, GRPC_UNAVAILABLE, "the request was not sent: %s",
                     nghttp2_strerror(error));
        over(link, call);
    }
    return 0;
}

static nghttp2_session *session_new(struct link *link)
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
    nghttp2_session_client_new(&session, callbacks, link);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings));
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
    return session;
}

static void on_broken(struct h2 *h2, const struct err *err)
{
    struct link *link = link_of(h2);

    link->options.owner->broken(link->options.ctx, link, err);
}

static void on_turned(struct h2 *h2)
{
    (void)h2; /* every answer has been dealt with as it came */
}

static bool may_send(const struct link *link)
{
    return !link->options.may_send || link->options.may_send(link->options.may_send_ctx);
}

static bool may_resume(struct h2 *h2)
{
    return may_send(link_of(h2));
}

static const struct h2_owner h2_owner = {on_broken, on_turned, may_resume};

struct link *link_new_take(struct loop *loop, int fd, const struct link_options *options)
{
    struct link *link = NEW(struct link);

    link->options = *options;
    TAILQ_INIT(&link->calls);
    h2_start_take(&link->h2, loop, fd, options->tls ? tls_new_client(options->tls, options->host) : NULL,
                  session_new(link), &h2_owner);
    return link;
}

void link_free(struct link *link, bool reset, struct call_list *orphans)
{
    struct channel_call *call;

    while ((call = TAILQ_FIRST(&link->calls))) {
        call->link = NULL;
        call_move(call, orphans);
    }
    h2_stop(&link->h2, reset);
    mem_free(link);
}

bool link_has_heard(const struct link *link)
{
    return link->heard > 0;
}

bool link_is_silent(const struct link *link, const struct channel_call *call)
{
    return link->heard == call->heard_before;
}

bool link_is_alone(const struct link *link, const struct channel_call *call)
{
    return TAILQ_FIRST(&link->calls) == call && !TAILQ_NEXT(call, entry);
}

void link_retire(struct link *link)
{
    nghttp2_submit_goaway(link->h2.session, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, NULL, 0);
}

/* The moment a request's message leaves for the socket: what is returned here is written in this very turn.
 */
static ssize_t on_read_request(nghttp2_session *session, int32_t stream_id, uint8_t *out, size_t room,
                               uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct channel_call *call = call_at(session, stream_id);
    struct link *link = ctx;
    size_t len;

    (void)source;
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (call->fenced && !may_send(link)) {
        err_set_code(&call->err, ERR_DENIED, GRPC_CANCELLED, "not allowed to send any more");
        over(link, call);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    len = call->frame.len - call->frame_sent < room ? call->frame.len - call->frame_sent : room;
    memcpy(out, call->frame.ptr + call->frame_sent, len);
    call->frame_sent += len;
    call->sent = true;
    link->h2.guarded = link->h2.guarded || call->fenced;
    if (call->frame_sent == call->frame.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

/* Values that tables on either side must not keep: RFC 7541, 7.1.3. */
static nghttp2_nv secret(const char *name, const char *value)
{
    nghttp2_nv nv = h2_header(name, value);

    nv.flags = NGHTTP2_NV_FLAG_NO_INDEX;
    return nv;
}

static size_t compose(const struct link *link, const struct channel_call *call, char timeout[16],
                      nghttp2_nv out[HEADERS_MAX])
{
    const struct credentials *who = link->options.credentials;
    size_t count = 0;

    out[count++] = h2_header(":method", "POST");
    out[count++] = h2_header(":scheme", link->options.tls ? "https" : "http");
    out[count++] = h2_header(":path", call->path);
    out[count++] = h2_header(":authority", link->options.authority);
    out[count++] = h2_header("te", "trailers");
    out[count++] = h2_header("content-type", "application/grpc");
    out[count++] = h2_header("user-agent", link->options.user_agent);
    out[count++] = h2_header("grpc-timeout", grpc_timeout_format(call->deadline_ms, timeout));
    if (who->user_id)
        out[count++] = h2_header(CREDENTIALS_USER_ID, who->user_id);
    if (who->access_key)
        out[count++] = secret(CREDENTIALS_ACCESS_KEY, who->access_key);
    return count;
}

void link_submit(struct link *link, struct channel_call *call)
{
    char timeout[16];
    nghttp2_nv headers[HEADERS_MAX];
    size_t count = compose(link, call, timeout, headers);
    nghttp2_data_provider body = {.read_callback = on_read_request};

    call->link = link;
    call->heard_before = link->heard;
    call_move(call, &link->calls);
    call->stream_id = nghttp2_submit_request(link->h2.session, NULL, headers, count, &body, call);
    if (call->stream_id < 0) {
        err_set_code(&call->err, ERR_IO, GRPC_UNAVAILABLE, "the request was not sent: %s",
                     nghttp2_strerror(call->stream_id));
        over(link, call);
        /* The numbers of streams are used up: the next call needs another connection. */
        nghttp2_session_terminate_session(link->h2.session, NGHTTP2_NO_ERROR);
    }
    h2_flush(&link->h2);
}

void link_withdraw(struct link *link, struct channel_call *call)
{
    detach(link, call);
    stop_stream(link->h2.session, call->stream_id);
    h2_flush(&link->h2);
}
