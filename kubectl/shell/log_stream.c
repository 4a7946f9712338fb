#include "kubectl/shell/log_stream.h"

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "kubectl/core/answers/why.h"
#include "operator/kube/client/stream.h"

/* Without --follow, the user waits for the end. */
enum { TRIES_MAX = 5, RETRY_MS = 500, RETRY_MAX_MS = 10000, RETRY_AFTER_MAX_MS = 30000 };

const char *log_stream_container(const struct log_streams *common, const cJSON *pod)
{
    const cJSON *containers = json_at(pod, "spec/containers");

    return common->container ? common->container
                             : json_str(containers ? containers->child : NULL, "name", "");
}

static const cJSON *state_of(const struct log_streams *common, const cJSON *pod)
{
    static const char *const lists[] = {"status/containerStatuses", "status/initContainerStatuses"};
    const char *name = log_stream_container(common, pod);

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        JSON_EACH (status, json_at(pod, lists[i])) {
            if (str_eq(json_str(status, "name", ""), name))
                return json_at(status, "state");
        }
    }
    return NULL;
}

bool log_stream_has_log(const struct log_streams *common, const cJSON *pod)
{
    const cJSON *state = state_of(common, pod);

    return json_at(state, "running") || json_at(state, "terminated/containerID");
}

static void on_line(void *ctx, const struct log_line *line)
{
    struct log_stream *stream = ctx;

    log_merge_add(stream->common->merge, &stream->source, line);
}

/* What follows a pod that is gone is the job's affair, not a failure of reading. */
static void end(struct log_stream *stream, const struct err *err)
{
    log_reader_end(&stream->reader, on_line, stream);
    log_reader_release(&stream->reader);
    stream->has_ended = true;
    stream->err = stream->is_gone ? (struct err){0} : *err;
    stream->common->on_lines(stream->common->ctx);
    stream->common->on_state(stream->common->ctx);
}

void log_stream_note(struct log_stream *stream, const cJSON *pod)
{
    stream->is_complete |= json_at(state_of(stream->common, pod), "terminated") != NULL;
    stream->is_gone |= pod == NULL;
    if (stream->is_gone && stream->has_begun && !stream->has_ended && !stream->stream) {
        loop_timer_stop(&stream->retry);
        end(stream, &(struct err){0});
    }
}

struct log_stream *log_stream_new(const struct log_streams *common, const cJSON *pod)
{
    struct log_stream *stream = NEW(struct log_stream);

    stream->common = common;
    stream->reader.piece_max = common->piece_max;
    stream->pod = mem_strdup(json_str(pod, "metadata/name", ""));
    stream->uid = mem_strdup(json_str(pod, "metadata/uid", ""));
    stream->container = mem_strdup(log_stream_container(common, pod));
    stream->rank = pod_rank(pod);
    stream->source = (struct log_source){stream->rank, stream->pod, paint_of_rank(stream->rank), 0};
    (void)parse_i64(json_str(pod, "metadata/annotations/graphcore.ai~1run", ""), 0, INT64_MAX,
                    &stream->source.attempt);
    log_stream_note(stream, pod);
    return stream;
}

void log_stream_free(struct log_stream *stream)
{
    stream_close(stream->stream);
    loop_timer_stop(&stream->retry);
    log_reader_release(&stream->reader);
    mem_free(stream->pod);
    mem_free(stream->uid);
    mem_free(stream->container);
    mem_free(stream->rank);
    mem_free(stream);
}

static bool on_bytes(void *ctx, const char *bytes, size_t len)
{
    struct log_stream *stream = ctx;

    stream->failures = 0;
    log_reader_push(&stream->reader, bytes, len, on_line, stream);
    stream->common->on_lines(stream->common->ctx);
    return true;
}

static void begin_again(struct loop_timer *timer)
{
    log_stream_begin(CONTAINER_OF(timer, struct log_stream, retry));
}

/* A pod that is gone, or that may not be read, does not come back by asking again. */
static bool is_final(const struct log_stream *stream, const struct err *err)
{
    bool follows = stream->common->session->options->follow;

    if (stream->is_gone)
        return true;
    if (err->kind == ERR_NONE)
        return stream->is_complete || !follows;
    if (err->kind == ERR_DENIED && err->code == 401)
        return stream->failures > 1;
    if (err->kind == ERR_NOT_FOUND || err->kind == ERR_DENIED || (err->kind == ERR_INVALID && !follows))
        return true;
    return !follows && stream->failures >= TRIES_MAX;
}

static void on_end(void *ctx, const struct err *err, int64_t retry_after_ms)
{
    struct log_stream *stream = ctx;
    struct session *session = stream->common->session;
    int64_t delay_ms = RETRY_MS;

    stream->stream = NULL;
    stream->failures += err->kind != ERR_NONE;
    if (is_final(stream, err)) {
        end(stream, err);
        return;
    }
    if (err->code == 401)
        kube_renew_credentials(session->kube);
    for (unsigned i = 1; i < stream->failures && delay_ms < RETRY_MAX_MS; i++)
        delay_ms *= 2;
    if (retry_after_ms > delay_ms)
        delay_ms = retry_after_ms < RETRY_AFTER_MAX_MS ? retry_after_ms : RETRY_AFTER_MAX_MS;
    loop_timer_start(session->loop, &stream->retry, delay_ms, begin_again);
}

static void add_pair(struct strv *query, const char *key, const char *value)
{
    strv_push(query, key);
    strv_push(query, value);
}

static void add_number(struct strv *query, const char *key, int64_t value)
{
    strv_push(query, key);
    strv_pushf(query, "%lld", (long long)value);
}

void log_stream_begin(struct log_stream *stream)
{
    const struct session *session = stream->common->session;
    const struct options *options = session->options;
    AUTO(strv) struct strv query = {0};
    char since[TIMEFMT_RFC3339_SIZE];
    int64_t since_s;

    stream->has_begun = true;
    add_pair(&query, "container", stream->container);
    add_pair(&query, "timestamps", "true");
    if (options->follow)
        add_pair(&query, "follow", "true");
    if (log_reader_resume(&stream->reader, &since_s)) {
        add_pair(&query, "sinceTime", timefmt_rfc3339(since_s, since));
    } else {
        if (options->tail > 0)
            add_number(&query, "tailLines", options->tail);
        if (stream->common->since_s > 0)
            add_number(&query, "sinceSeconds", stream->common->since_s);
    }
    stream->stream = stream_open(session->kube, &(struct stream_request){.resource = &KUBE_PODS,
                                                                         .ns = stream->common->ns,
                                                                         .name = stream->pod,
                                                                         .sub = "log",
                                                                         .query = &query,
                                                                         .on_bytes = on_bytes,
                                                                         .on_end = on_end,
                                                                         .ctx = stream});
}
