#include "operator/kube/client/stream.h"

#include "operator/kube/client/path.h"
#include "operator/kube/client/transport.h"

struct stream {
    struct http_call *http;
    struct transport *transport;
    const char *label;
    const char *plural;
    void (*on_head)(void *ctx);
    bool (*on_bytes)(void *ctx, const char *bytes, size_t len);
    void (*on_end)(void *ctx, const struct err *err, int64_t retry_after_ms);
    void *ctx;
};

static void on_head(void *ctx)
{
    struct stream *stream = ctx;

    if (stream->on_head != NULL)
        stream->on_head(stream->ctx);
}

static bool on_bytes(void *ctx, int status, const char *bytes, size_t len)
{
    struct stream *stream = ctx;

    (void)status;
    return stream->on_bytes(stream->ctx, bytes, len);
}

static void read_rejection(const struct http_response *http, struct err *ret_err, int64_t *ret_retry_after_ms)
{
    struct err not_json = {0};
    AUTO(json) cJSON *body = json_parse(http->body, &not_json); /* NULL: only the HTTP status is known */
    struct kube_status status;

    kube_status_read(http->status, body, http->retry_after_ms, &status);
    *ret_err = status.err;
    *ret_retry_after_ms = status.retry_after_ms;
    kube_status_release(&status);
}

static void on_done(void *ctx, const struct http_response *http, const struct err *err)
{
    struct stream ended = *(struct stream *)ctx;
    struct err failure = *err;
    int64_t retry_after_ms = -1;

    mem_free(ctx);
    if (failure.kind == ERR_NONE && (http->status < 200 || http->status > 299))
        read_rejection(http, &failure, &retry_after_ms);
    if (failure.kind != ERR_NONE)
        counters_row(transport_counters(ended.transport), ended.label, ended.plural)->failed++;
    ended.on_end(ended.ctx, &failure, retry_after_ms);
}

static char *stream_path(const struct stream_request *request)
{
    AUTO(str) struct str path = {0};

    kube_path_add(&path, request->resource, request->ns, request->name, request->sub);
    for (size_t i = 0; i + 1 < request->query->count; i += 2) {
        str_addc(&path, i == 0 ? '?' : '&');
        http_add_escaped(&path, request->query->items[i]);
        str_addc(&path, '=');
        http_add_escaped(&path, request->query->items[i + 1]);
    }
    return str_take(&path);
}

struct stream *stream_open(struct kube *kube, const struct stream_request *request)
{
    AUTO(mem) char *path = stream_path(request);
    struct stream *stream = NEW(struct stream);
    struct http_request http = {
        .method = "GET",
        .accept = request->sub != NULL ? "*/*" : NULL, /* a log is no JSON */
        .timeout_ms = request->timeout_ms,
        .on_head = on_head,
        .on_bytes = on_bytes,
        .on_done = on_done,
        .ctx = stream,
    };

    *stream = (struct stream){
        .transport = kube_transport(kube),
        .label = request->is_watch ? "WATCH" : "LIST",
        .plural = request->resource->plural,
        .on_head = request->on_head,
        .on_bytes = request->on_bytes,
        .on_end = request->on_end,
        .ctx = request->ctx,
    };
    counters_row(transport_counters(stream->transport), stream->label, stream->plural)->sent++;
    stream->http = transport_send(stream->transport, KUBE_WATCH, path, &http);
    return stream;
}

void stream_close(struct stream *stream)
{
    if (stream == NULL)
        return;
    http_cancel(stream->http);
    mem_free(stream);
}
