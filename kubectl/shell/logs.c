/* kubectl ipu logs: the logs of a job's pods, as they are or followed. */
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "kubectl/core/jobs.h"
#include "kubectl/core/log_text.h"
#include "kubectl/core/answers/why.h"
#include "kubectl/shell/log_stream.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"
#include "operator/kube/watch/watch.h"

/* Lines of several ranks that arrive within this time are put in order. */
enum { ORDER_MS = 200 };
/* What is kept to be put in order; more is printed as it comes. */
#define MERGE_MAX_BYTES ((size_t)8 * 1024 * 1024)
#define PRINT_MAX_BYTES (MERGE_MAX_BYTES * 16) /* as JSON, with ranks and times */

struct logs {
    struct session *session;
    const char *job;
    struct log_streams common;
    struct log_merge merge;
    struct log_format format;
    struct log_stream *first;
    struct loop_timer order;
    struct watch *pods, *jobs; /* with --follow */
    unsigned streams, left_out;
    bool has_finished, has_failed, is_closed;
};

/* ---- printing ---- */

static void flush(struct logs *logs)
{
    AUTO(str) struct str out = {.max = PRINT_MAX_BYTES};

    loop_timer_stop(&logs->order);
    log_merge_flush(&logs->merge, &logs->format, &out);
    if (!logs->is_closed && !print_out(str_text(&out), out.len)) {
        logs->is_closed = true;
        loop_stop(logs->session->loop);
    }
}

static void on_order(struct loop_timer *timer)
{
    flush(CONTAINER_OF(timer, struct logs, order));
}

/* Without --follow all is read before it is put in order, as long as it is not too much. */
static void on_lines(void *ctx)
{
    struct logs *logs = ctx;

    if (logs->merge.bytes > MERGE_MAX_BYTES)
        flush(logs);
    else if (logs->session->options->follow && logs->merge.count > 0 && !loop_timer_is_running(&logs->order))
        loop_timer_start(logs->session->loop, &logs->order, ORDER_MS, on_order);
}

/* ---- streams ---- */

static bool is_chosen(const struct options *options, const cJSON *pod)
{
    const cJSON *labels = json_at(pod, "metadata/labels");
    const char *role = json_str(labels, "graphcore.ai~1role", ""), *worker;

    worker = str_eq(role, ROLE_LAUNCHER) ? ROLE_LAUNCHER : json_str(labels, "graphcore.ai~1worker", "");
    return (!options->instance ||
            str_eq(options->instance, json_str(labels, "graphcore.ai~1instance", ""))) &&
           (!options->rank || str_eq(options->rank, worker));
}

static unsigned count_open(const struct logs *logs)
{
    unsigned open = 0;

    for (const struct log_stream *stream = logs->first; stream; stream = stream->next)
        open += stream->has_begun && !stream->has_ended;
    return open;
}

static bool has_all_ended(const struct logs *logs)
{
    for (const struct log_stream *stream = logs->first; stream; stream = stream->next) {
        if (!stream->has_ended)
            return false;
    }
    return true;
}

static void begin_more(struct logs *logs)
{
    unsigned open = count_open(logs);

    for (struct log_stream *stream = logs->first; stream && open < logs->session->options->max_streams;
         stream = stream->next) {
        if (!stream->has_begun) {
            log_stream_begin(stream);
            open++;
        }
    }
}

/* No pod comes any more. */
static bool has_all_pods(const struct logs *logs)
{
    if (!logs->session->options->follow)
        return true;
    return logs->has_finished && logs->pods && watch_is_synced(logs->pods);
}

static void end_if_over(struct logs *logs)
{
    if (has_all_ended(logs) && has_all_pods(logs))
        loop_stop(logs->session->loop);
}

static void on_state(void *ctx)
{
    struct logs *logs = ctx;

    begin_more(logs);
    end_if_over(logs);
}

static void report_problems(struct logs *logs)
{
    for (const struct log_stream *stream = logs->first; stream; stream = stream->next) {
        bool is_gone = stream->err.kind == ERR_NOT_FOUND && logs->session->options->follow;

        if (stream->err.kind == ERR_NONE || is_gone)
            continue;
        complain("[%s] log of pod %s: %s", stream->rank, stream->pod, stream->err.msg);
        logs->has_failed = true;
    }
}

static struct log_stream *find(const struct logs *logs, const char *uid)
{
    for (struct log_stream *stream = logs->first; stream; stream = stream->next) {
        if (str_eq(stream->uid, uid))
            return stream;
    }
    return NULL;
}

static bool has_rank(const struct logs *logs, const char *rank)
{
    for (const struct log_stream *stream = logs->first; stream; stream = stream->next) {
        if (str_eq(stream->rank, rank))
            return true;
    }
    return false;
}

static void add_stream(struct logs *logs, const cJSON *pod)
{
    struct log_stream *stream = log_stream_new(&logs->common, pod), **slot = &logs->first;
    size_t width = strlen(stream->rank);

    if (has_rank(logs, stream->rank))
        complain("[%s] a new pod continues", stream->rank);
    logs->format.rank_width = width > logs->format.rank_width ? width : logs->format.rank_width;
    while (*slot)
        slot = &(*slot)->next;
    *slot = stream;
    logs->streams++;
}

/* ---- what is not shown ---- */

/* What there is to choose from. */
struct choice {
    struct strv ranks;              /* of all pods */
    struct strv containers, others; /* of the chosen pods; those not shown that have a log */
    bool has_pod;                   /* a chosen one */
};

static void choice_release(struct choice *choice)
{
    strv_release(&choice->ranks);
    strv_release(&choice->containers);
    strv_release(&choice->others);
}
DEFINE_AUTO(choice);

static void add_name(struct strv *names, const char *name)
{
    if (!strv_has(names, name))
        strv_push(names, name);
}

static void choice_add(struct choice *choice, const struct logs *logs, const cJSON *pod)
{
    static const char *const lists[] = {"spec/containers", "spec/initContainers"};
    AUTO(mem) char *rank = pod_rank(pod);

    strv_push(&choice->ranks, rank);
    if (!is_chosen(logs->session->options, pod))
        return;
    choice->has_pod = true;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        JSON_EACH (container, json_at(pod, lists[i])) {
            const char *name = json_str(container, "name", "");

            if (str_eq(name, NAME_LAUNCHER_PART)) /* the operator's own */
                continue;
            add_name(&choice->containers, name);
            if (!str_eq(name, log_stream_container(&logs->common, pod)) &&
                log_stream_has_log(&(struct log_streams){.container = name}, pod))
                add_name(&choice->others, name);
        }
    }
}

static char *first_names(const struct strv *names)
{
    enum { SHOWN_MAX = 8 };
    struct str text = {0};

    for (size_t i = 0; i < names->count && i < SHOWN_MAX; i++)
        str_addf(&text, "%s%s", i ? ", " : "", names->items[i]);
    if (names->count > SHOWN_MAX)
        str_addf(&text, " and %zu more", names->count - SHOWN_MAX);
    return str_take(&text);
}

/* False: nothing is known that was left out. */
static bool complain_of_choice(const struct logs *logs, const struct choice *choice)
{
    const struct options *options = logs->session->options;
    AUTO(mem) char *ranks = first_names(&choice->ranks);
    AUTO(mem) char *containers = first_names(&choice->containers);
    AUTO(mem) char *others = first_names(&choice->others);

    if (choice->ranks.count > 0 && !choice->has_pod)
        complain("no pod of job %s has rank %s.%s; there are %s", logs->job,
                 options->instance ? options->instance : "*", options->rank ? options->rank : "*", ranks);
    else if (options->container && choice->has_pod && !strv_has(&choice->containers, options->container))
        complain("no pod of job %s has a container %s; there are %s", logs->job, options->container,
                 containers);
    else if (choice->others.count > 0 && !logs->first)
        complain("container %s of job %s has no log%s; with -c, choose %s",
                 options->container ? options->container : choice->containers.items[0], logs->job,
                 logs->has_finished ? "" : " yet", others);
    else if (choice->others.count > 0 && !options->container)
        complain("only the first container of each pod is shown; with -c, choose %s", others);
    else
        return false;
    return true;
}

/* ---- with --follow ---- */

static bool keep_object(void *ctx, const cJSON *item, void **ret_view)
{
    (void)ctx;
    *ret_view = json_dup(item);
    return true;
}

static void free_object(void *view)
{
    cJSON_Delete(view);
}

static void give_up(struct logs *logs, const char *why)
{
    complain("%s; choose some with --instance and --rank", why);
    logs->has_failed = true;
    loop_stop(logs->session->loop);
}

static void on_full(void *ctx, const struct err *err)
{
    give_up(ctx, err->msg);
}

static void on_pod(void *ctx, const struct store_change *change)
{
    struct logs *logs = ctx;
    const cJSON *pod = change->new ? change->new : change->old;
    struct log_stream *stream = find(logs, change->uid);

    if (stream) {
        log_stream_note(stream, change->new);
    } else if (change->new &&is_chosen(logs->session->options, pod) &&
               log_stream_has_log(&logs->common, pod)) {
        if (logs->streams == LOG_STREAMS_MAX)
            give_up(logs, "more pods have had a log than can be followed");
        else if (count_open(logs) < logs->session->options->max_streams)
            add_stream(logs, pod);
        else if (logs->left_out++ == 0)
            complain(
                "only %u ranks are followed; choose some with --instance and --rank, or raise --max-streams",
                logs->session->options->max_streams);
        begin_more(logs);
    }
}

static void on_job(void *ctx, const struct store_change *change)
{
    struct logs *logs = ctx;

    logs->has_finished = !change->new || job_has_ended(change->new);
    end_if_over(logs);
}

static void on_jobs_synced(void *ctx)
{
    struct logs *logs = ctx;

    logs->has_finished |= store_count(watch_store(logs->jobs)) == 0; /* it was deleted meanwhile */
    end_if_over(logs);
}

static void on_pods_synced(void *ctx)
{
    struct logs *logs = ctx;
    AUTO(choice) struct choice choice = {0};

    for (const struct store_item *item = store_first(watch_store(logs->pods)); item; item = store_next(item))
        choice_add(&choice, logs, item->view);
    if (!complain_of_choice(logs, &choice) && !logs->first && !logs->has_finished)
        complain("no pod of job %s has a log yet; wait, or see kubectl ipu why %s", logs->job, logs->job);
    end_if_over(logs);
}

static void follow(struct logs *logs)
{
    struct kube *kube = logs->session->kube;
    AUTO(mem) char *label = mem_printf(LABEL_JOB_NAME "=%s", logs->job);
    AUTO(mem) char *field = mem_printf("metadata.name=%s", logs->job);

    logs->pods = watch_new(kube, &(struct watch_options){.resource = &KUBE_PODS,
                                                         .ns = logs->session->ns,
                                                         .label_selector = label,
                                                         .view = keep_object,
                                                         .view_free = free_object,
                                                         .on_change = on_pod,
                                                         .on_synced = on_pods_synced,
                                                         .on_full = on_full,
                                                         .max_items = OBJECTS_MAX,
                                                         .max_bytes = BYTES_MAX,
                                                         .ctx = logs});
    logs->jobs = watch_new(kube, &(struct watch_options){.resource = &KUBE_IPUJOBS,
                                                         .ns = logs->session->ns,
                                                         .field_selector = field,
                                                         .view = keep_object,
                                                         .view_free = free_object,
                                                         .on_change = on_job,
                                                         .on_synced = on_jobs_synced,
                                                         .on_full = on_full,
                                                         .max_items = OBJECTS_MAX,
                                                         .max_bytes = BYTES_MAX,
                                                         .ctx = logs});
    loop_run(logs->session->loop);
    watch_free(logs->pods);
    watch_free(logs->jobs);
}

/* ---- without --follow ---- */

static int by_rank(const void *left, const void *right)
{
    static const char *const labels[] = {"metadata/labels/graphcore.ai~1instance",
                                         "metadata/labels/graphcore.ai~1worker"};

    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        uint32_t a = UINT32_MAX, b = UINT32_MAX;

        (void)parse_u32(json_str(*(const cJSON *const *)left, labels[i], ""), 0, UINT32_MAX, &a);
        (void)parse_u32(json_str(*(const cJSON *const *)right, labels[i], ""), 0, UINT32_MAX, &b);
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

static void add_streams(struct logs *logs, const cJSON *pods)
{
    const cJSON **chosen = NULL;
    size_t count = 0;

    JSON_EACH (pod, pods) {
        if (!is_chosen(logs->session->options, pod) || !log_stream_has_log(&logs->common, pod))
            continue;
        chosen = mem_grow(chosen, count + 1, sizeof(*chosen));
        chosen[count++] = pod;
    }
    if (count > 0)
        qsort(chosen, count, sizeof(*chosen), by_rank);
    for (size_t i = 0; i < count; i++)
        add_stream(logs, chosen[i]);
    mem_free(chosen);
}

/* A job whose pods are gone has its last words in its status. */
static int read_all(struct logs *logs, const cJSON *job, const cJSON *pods)
{
    AUTO(choice) struct choice choice = {0};
    bool is_told;

    add_streams(logs, pods);
    JSON_EACH (pod, pods)
        choice_add(&choice, logs, pod);
    is_told = complain_of_choice(logs, &choice);
    if (!logs->first && !is_told)
        complain("no pod of job %s has a log%s", logs->job,
                 cJSON_GetArraySize(json_at(job, "status/failures")) > 0
                     ? "; see kubectl ipu why for the last lines of its failure"
                 : logs->has_finished ? ""
                                      : " yet");
    if (!logs->first)
        return STATUS_FAILED;
    begin_more(logs);
    loop_run(logs->session->loop);
    return STATUS_OK;
}

/* ---- the attempt before ---- */

/* The failure of a job that has ended for good is that of its last attempt, whose pods are there. */
static const cJSON *previous_failure(const cJSON *job)
{
    const cJSON *failures = json_at(job, "status/failures"), *failure = failures ? failures->child : NULL;

    if (json_i64(job, "status/restartCount", 0) == 0)
        return NULL;
    return failure && str_eq(json_str(job, "status/launcherStatus", ""), "Failed") ? failure->next : failure;
}

static int print_previous(struct logs *logs, const cJSON *job)
{
    const cJSON *failure = previous_failure(job);
    AUTO(mem) char *shown = visible_new(json_str(failure, "message", ""), VISIBLE_LINES);
    AUTO(strv) struct strv lines = {0};
    AUTO(mem) char *rank = mem_printf("%lld", (long long)json_i64(failure, "instance", 0));
    struct log_source source = {
        .rank = rank, .pod = json_str(failure, "pod", ""), .paint = paint_of_rank(rank)};

    if (!failure) {
        complain("job %s has no earlier attempt whose last lines are known", logs->job);
        return STATUS_FAILED;
    }
    complain("last lines of pod %s, instance %s, before the restart", source.pod, rank);
    strv_split(shown, '\n', &lines);
    for (size_t i = 0; i < lines.count; i++)
        log_merge_add(&logs->merge, &source, &(struct log_line){.text = slice_of(lines.items[i])});
    flush(logs);
    return STATUS_OK;
}

/* ---- the whole ---- */

static int run(struct logs *logs, struct fetch *job, struct fetch *pods)
{
    struct session *session = logs->session;

    if (!job->body)
        return session_complain_of_job(session, logs->job, &job->err);
    if (session->options->previous)
        return print_previous(logs, job->body);
    logs->has_finished = job_has_ended(job->body);
    if (session->options->follow) {
        follow(logs);
        return STATUS_OK;
    }
    if (!pods->body || !session_fetch_rest(session, pods, &pods->err))
        return session_complain(session, &pods->err);
    return read_all(logs, job->body, json_at(pods->body, "items"));
}

static void release(struct logs *logs)
{
    flush(logs);
    while (logs->first) {
        struct log_stream *stream = logs->first;

        logs->first = stream->next;
        log_stream_free(stream);
    }
    log_merge_release(&logs->merge);
}

static bool is_index(const char *text)
{
    uint32_t index;

    return parse_u32(text, 0, UINT32_MAX, &index);
}

int logs_verb(struct session *session)
{
    const struct options *options = session->options;
    struct logs logs = {.session = session, .job = session->words->items[0]};
    AUTO(mem) char *label = mem_printf(LABEL_JOB_NAME "=%s", logs.job);
    const char *const of_pods[] = {"labelSelector", label, "limit", PAGE_LIMIT, NULL};
    struct fetch fetches[] = {
        {.request = {.method = "GET", .resource = &KUBE_IPUJOBS, .ns = session->ns, .name = logs.job}},
        {.request = {.method = "GET", .resource = &KUBE_PODS, .ns = session->ns, .query = of_pods}},
    };
    int status;

    logs.common = (struct log_streams){.session = session,
                                       .ns = session->ns,
                                       .container = options->container,
                                       .merge = &logs.merge,
                                       .piece_max = log_piece_max(MERGE_MAX_BYTES, options->max_streams),
                                       .on_lines = on_lines,
                                       .on_state = on_state,
                                       .ctx = &logs};
    logs.format = (struct log_format){.look = session->look,
                                      .is_terminal = session->is_terminal,
                                      .timestamps = options->timestamps,
                                      .json = options->output == OUTPUT_JSON};
    if (options->since && !duration_parse(options->since, &logs.common.since_s)) {
        complain("--since: expected a duration such as 90s, 10m or 1h30m, got \"%s\"", options->since);
        return STATUS_BAD_USAGE;
    }
    if (options->instance && !is_index(options->instance)) {
        complain("--instance: expected the index of an instance, got \"%s\"", options->instance);
        return STATUS_BAD_USAGE;
    }
    if (options->rank && !str_eq(options->rank, ROLE_LAUNCHER) && !is_index(options->rank)) {
        complain("--rank: expected the index of a worker or \"launcher\", got \"%s\"", options->rank);
        return STATUS_BAD_USAGE;
    }
    session_fetch(session, fetches, options->follow || options->previous ? 1 : 2);
    status = run(&logs, &fetches[0], &fetches[1]);
    report_problems(&logs);
    release(&logs);
    cJSON_Delete(fetches[0].body);
    cJSON_Delete(fetches[1].body);
    return logs.has_failed || logs.is_closed ? STATUS_FAILED : status;
}
