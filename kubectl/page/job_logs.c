#include "kubectl/page/job_logs.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "operator/serve/live/feed.h"
#include "kubectl/shell/log_stream.h"
#include "operator/api/names.h"
#include "operator/kube/watch/watch.h"

enum { ORDER_MS = 200 }; /* lines of several ranks that arrive within this time are put in order */
/* Of them, in this time: no browser shows more. */
#define MERGE_MAX_BYTES ((size_t)1024 * 1024)

struct job_logs {
    struct job_logs_options options;
    char *ns, *key;
    struct session *session;
    struct log_streams common;
    struct log_merge merge;
    struct loop_timer order;
    struct watch *pods;
    struct log_stream *first;
    unsigned streams;
    /* Of the message that is being made. */
    const struct log_source *source;
    cJSON *lines;
    size_t count;
};

/* ---- messages ---- */

static void send_lines(struct job_logs *logs)
{
    if (logs->lines)
        logs->options.on_lines(
            logs->options.ctx,
            feed_log(logs->key, logs->source->rank, logs->source->attempt, TAKE(logs->lines)), logs->count);
    logs->count = 0;
}

/* Lines of one rank that follow each other are one message. */
static void add_entry(void *ctx, const struct log_entry *entry)
{
    struct job_logs *logs = ctx;
    AUTO(str) struct str line = {.max = 8 * LOG_PIECE_MAX};

    if (logs->source != entry->source)
        send_lines(logs);
    logs->source = entry->source;
    logs->lines = logs->lines ? logs->lines : json_array();
    str_add_visible(&line, (struct slice){entry->text ? entry->text : "", entry->len}, "\t");
    json_push_str(logs->lines, str_text(&line));
    logs->count++;
}

static void on_order(struct loop_timer *timer)
{
    struct job_logs *logs = CONTAINER_OF(timer, struct job_logs, order);

    log_merge_drain(&logs->merge, add_entry, logs);
    send_lines(logs);
    logs->source = NULL;
    if (logs->merge.left_out > 0)
        logs->options.on_left_out(logs->options.ctx, logs->merge.left_out);
    logs->merge.left_out = 0;
}

static void on_lines(void *ctx)
{
    struct job_logs *logs = ctx;

    if (logs->merge.count > 0 && !loop_timer_is_running(&logs->order))
        loop_timer_start(logs->session->loop, &logs->order, ORDER_MS, on_order);
}

/* ---- streams ---- */

static bool is_open(const struct log_stream *stream)
{
    return stream->has_begun && !stream->has_ended;
}

static void begin_more(struct job_logs *logs)
{
    unsigned open = 0;

    for (struct log_stream *stream = logs->first; stream; stream = stream->next)
        open += is_open(stream);
    for (struct log_stream *stream = logs->first; stream && open < logs->session->options->max_streams;
         stream = stream->next) {
        if (!stream->has_begun) {
            log_stream_begin(stream);
            open++;
        }
    }
}

/* Of each stream its failure once. */
static void on_state(void *ctx)
{
    struct job_logs *logs = ctx;

    for (struct log_stream *stream = logs->first; stream; stream = stream->next) {
        struct err err = stream->err;

        stream->err = (struct err){0};
        if (err.kind != ERR_NONE && err.kind != ERR_NOT_FOUND)
            logs->options.on_failure(logs->options.ctx, &err);
    }
    begin_more(logs);
}

static void on_pod(void *ctx, const struct store_change *change)
{
    struct job_logs *logs = ctx;
    struct log_stream **slot = &logs->first;

    while (*slot && !str_eq((*slot)->uid, change->uid))
        slot = &(*slot)->next;
    if (*slot) {
        log_stream_note(*slot, change->new);
    } else if (logs->streams < LOG_STREAMS_MAX &&
               change->new &&log_stream_has_log(&logs->common, change->new)) {
        logs->streams++;
        *slot = log_stream_new(&logs->common, change->new);
        begin_more(logs);
    }
}

static void on_full(void *ctx, const struct err *err)
{
    struct job_logs *logs = ctx;

    logs->options.on_failure(logs->options.ctx, err);
}

static bool keep_pod(void *ctx, const cJSON *item, void **ret_view)
{
    (void)ctx;
    *ret_view = json_dup(item);
    return true;
}

static void free_pod(void *view)
{
    cJSON_Delete(view);
}

struct job_logs *job_logs_new(struct session *session, const struct job_logs_options *options)
{
    struct job_logs *logs = NEW(struct job_logs);
    AUTO(mem) char *label = mem_printf(LABEL_JOB_NAME "=%s", options->job);

    logs->options = *options;
    logs->session = session;
    logs->merge.max_bytes = MERGE_MAX_BYTES;
    logs->ns = mem_strdup(options->ns);
    logs->key = mem_printf("%s/%s", options->ns, options->job);
    logs->common =
        (struct log_streams){.session = session,
                             .ns = logs->ns,
                             .merge = &logs->merge,
                             .piece_max = log_piece_max(MERGE_MAX_BYTES, session->options->max_streams),
                             .on_lines = on_lines,
                             .on_state = on_state,
                             .ctx = logs};
    logs->pods = watch_new(session->kube, &(struct watch_options){.resource = &KUBE_PODS,
                                                                  .ns = logs->ns,
                                                                  .label_selector = label,
                                                                  .view = keep_pod,
                                                                  .view_free = free_pod,
                                                                  .on_change = on_pod,
                                                                  .on_full = on_full,
                                                                  .max_items = OBJECTS_MAX,
                                                                  .max_bytes = BYTES_MAX,
                                                                  .ctx = logs});
    return logs;
}

void job_logs_free(struct job_logs *logs)
{
    if (!logs)
        return;
    watch_free(logs->pods);
    loop_timer_stop(&logs->order);
    while (logs->first) {
        struct log_stream *stream = logs->first;

        logs->first = stream->next;
        log_stream_free(stream);
    }
    log_merge_release(&logs->merge);
    mem_free(logs->ns);
    mem_free(logs->key);
    mem_free(logs);
}
