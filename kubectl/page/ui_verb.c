#include "kubectl/page/ui_verb.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/serve/live/assets.h"
#include "operator/serve/live/feed_watches.h"
#include "kubectl/page/job_logs.h"
#include "operator/serve/live/page_server.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"

enum {
    CONNECTIONS_MAX = 64,
    TAIL_LINES = 500, /* of each rank, before the new ones */
};
/* Ahead of a viewer that reads too slowly, and of all viewers, lines of logs are left out. */
#define LOG_UNSENT_MAX (PAGE_UNSENT_MAX / 2)
#define LOGS_UNSENT_MAX (2 * PAGE_UNSENT_MAX)

static const struct feed_row ROWS[] = {
    {FEED_JOB, &KUBE_IPUJOBS, false, NULL, NULL},
    {FEED_CONTROLLER, &KUBE_VIPU_CONTROLLERS, true, NULL, NULL},
    {FEED_POD, &KUBE_PODS, false, LABEL_JOB_NAME, NULL},
    {FEED_EVENT, &KUBE_EVENTS, false, NULL, "regarding.kind=" API_KIND},
    {FEED_EVENT, &KUBE_EVENTS, false, NULL, "regarding.kind=Pod"},
};

enum { JOBS = 0 /* their row */ };

struct live;

struct viewer {
    struct live *live;
    struct page_viewer *page;
    struct job_logs *logs;
    char *job; /* whose logs they are, or NULL */
    uint64_t dropped_lines;
    struct viewer *next;
};

struct live {
    struct session *session;
    const char *ns; /* NULL: all */
    struct page_server *server;
    struct feed_watches *watches;
    struct viewer *viewers;
    struct kube_call *check; /* whether the credentials are rejected */
    int status;
    enum websocket_code code;
};

/* ---- to the viewers ---- */

static void send_text(struct viewer *viewer, char *text)
{
    struct frame *frame = frame_of_text(text);

    page_viewer_send(viewer->page, frame);
    frame_drop(frame);
}

static void send_frame(void *ctx, struct frame *frame)
{
    struct viewer *viewer = ctx;

    page_viewer_send(viewer->page, frame);
}

static void send_all(struct live *live, struct frame *frame)
{
    for (struct viewer *viewer = live->viewers; viewer; viewer = viewer->next)
        page_viewer_send(viewer->page, frame);
}

static void send_all_text(struct live *live, char *text)
{
    struct frame *frame = frame_of_text(text);

    send_all(live, frame);
    frame_drop(frame);
}

/* ---- from the API server ---- */

static void on_change(void *ctx, enum feed_kind kind, const struct store_change *change)
{
    if (change->new)
        send_all(ctx, (struct frame *)change->new);
    else
        send_all_text(ctx, feed_delete(kind, change->key));
}

static void on_state(void *ctx, struct frame *frame)
{
    send_all(ctx, frame);
}

static void on_synced(void *ctx)
{
    send_all_text(ctx, feed_synced());
}

static void end(struct live *live, enum websocket_code code)
{
    live->code = code;
    loop_stop(live->session->loop);
}

static void on_full(void *ctx, const struct err *err)
{
    struct live *live = ctx;

    complain("%s; choose a namespace with -n", err->msg);
    live->status = STATUS_FAILED;
    end(live, WEBSOCKET_GOING_AWAY);
}

static void on_checked(void *ctx, struct kube_response *response)
{
    struct live *live = ctx;

    live->check = NULL;
    if (response->http_status != 401)
        return;
    live->status = session_complain(live->session, &response->err);
    end(live, WEBSOCKET_POLICY);
}

/* The client reads the credentials again before it reports that they are rejected. */
static void check_credentials(void *ctx)
{
    static const char *const query[] = {"limit", "1", NULL};
    struct live *live = ctx;

    if (!live->check)
        live->check =
            kube_send(live->session->kube,
                      &(struct kube_request){
                          .method = "GET", .resource = &KUBE_IPUJOBS, .ns = live->ns, .query = query},
                      on_checked, live);
}

/* ---- viewers ---- */

static bool has_room(const struct viewer *viewer)
{
    size_t all = 0;

    for (const struct viewer *each = viewer->live->viewers; each; each = each->next)
        all += page_viewer_unsent(each->page);
    return page_viewer_unsent(viewer->page) <= LOG_UNSENT_MAX && all <= LOGS_UNSENT_MAX;
}

static void on_left_out(void *ctx, uint64_t lines)
{
    struct viewer *viewer = ctx;

    viewer->dropped_lines += lines;
    if (viewer->dropped_lines == 0 || !has_room(viewer))
        return;
    send_text(viewer, feed_log_dropped(viewer->dropped_lines));
    viewer->dropped_lines = 0;
}

static void on_lines(void *ctx, char *message, size_t lines)
{
    struct viewer *viewer = ctx;

    if (has_room(viewer)) {
        on_left_out(viewer, 0); /* what was left out before them is told before them */
        send_text(viewer, message);
    } else {
        viewer->dropped_lines += lines;
        mem_free(message);
    }
}

static void on_log_failure(void *ctx, const struct err *err)
{
    struct viewer *viewer = ctx;

    if (err->code == 401)
        check_credentials(viewer->live);
    else
        send_text(viewer, feed_forbidden("log", err->msg));
}

static void stop_logs(struct viewer *viewer)
{
    job_logs_free(TAKE(viewer->logs));
    mem_set_str(&viewer->job, NULL);
    viewer->dropped_lines = 0;
}

static void on_message(void *of_viewer, struct slice text)
{
    struct viewer *viewer = of_viewer;
    struct live *live = viewer->live;
    AUTO(mem) char *job = feed_read_request(text);
    char *slash = job ? strchr(job, '/') : NULL;

    if (!job || str_eq(job, viewer->job))
        return;
    stop_logs(viewer);
    if (!slash || !store_get(feed_watches_store(live->watches, JOBS), job))
        return;
    viewer->job = mem_strdup(job);
    *slash = '\0';
    viewer->logs = job_logs_new(live->session, &(struct job_logs_options){.ns = job,
                                                                          .job = slash + 1,
                                                                          .on_lines = on_lines,
                                                                          .on_left_out = on_left_out,
                                                                          .on_failure = on_log_failure,
                                                                          .ctx = viewer});
}

static void send_first(struct viewer *viewer)
{
    struct live *live = viewer->live;

    send_text(viewer,
              feed_hello(live->ns, false, live->session->config.origin, live->session->clock_ahead_s));
    feed_watches_tell_state(live->watches, send_frame, viewer);
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        const struct store *store = feed_watches_store(live->watches, i);

        for (const struct store_item *item = store_first(store); item; item = store_next(item))
            page_viewer_send(viewer->page, (struct frame *)item->view);
    }
    if (feed_watches_are_synced(live->watches))
        send_text(viewer, feed_synced());
    page_viewer_begin(viewer->page);
}

static void *on_open(void *ctx, struct page_viewer *page, void *who)
{
    struct live *live = ctx;
    struct viewer *viewer = NEW(struct viewer);

    (void)who;
    viewer->live = live;
    viewer->page = page;
    viewer->next = live->viewers;
    live->viewers = viewer;
    send_first(viewer);
    return viewer;
}

static void on_close(void *of_viewer)
{
    struct viewer *viewer = of_viewer, **slot = &viewer->live->viewers;

    while (*slot != viewer)
        slot = &(*slot)->next;
    *slot = viewer->next;
    stop_logs(viewer);
    mem_free(viewer);
}

/* ---- the whole ---- */

/* Without a choice: as much as the user may see. */
static bool choose_namespace(struct live *live, struct err *err)
{
    static const char *const query[] = {"limit", "1", NULL};
    const struct options *options = live->session->options;
    struct kube_request request = {.method = "GET", .resource = &KUBE_IPUJOBS, .query = query};
    AUTO(json) cJSON *jobs = NULL;

    live->ns = request.ns = options->all_namespaces ? NULL : options->ns;
    jobs = session_get(live->session, &request, err);
    if (jobs || live->ns || options->all_namespaces || err->code != 403)
        return jobs != NULL;
    *err = (struct err){0};
    live->ns = request.ns = live->session->ns;
    complain("only namespace %s is shown: you may not list the IPUJobs of all namespaces", live->ns);
    jobs = session_get(live->session, &request, err);
    return jobs != NULL;
}

static void on_signal(void *ctx, int signum)
{
    (void)signum;
    end(ctx, WEBSOCKET_GOING_AWAY);
}

static void start_watches(struct live *live)
{
    live->watches =
        feed_watches_new(live->session->kube, &(struct feed_watches_options){.rows = ROWS,
                                                                             .count = COUNT_OF(ROWS),
                                                                             .ns = live->ns,
                                                                             .max_items = OBJECTS_MAX,
                                                                             .max_bytes = BYTES_MAX,
                                                                             .on_change = on_change,
                                                                             .on_state = on_state,
                                                                             .on_synced = on_synced,
                                                                             .on_rejected = check_credentials,
                                                                             .on_full = on_full,
                                                                             .ctx = live});
}

static void run(struct live *live)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    AUTO(mem) char *url = page_server_url(live->server);
    AUTO(mem) char *line = mem_printf("%s\n", url);

    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_on_signal(live->session->loop, signals[i], on_signal, live);
    start_watches(live);
    if (print_out(line, strlen(line))) {
        complain("open this address in your browser; Ctrl-C ends it");
        loop_run(live->session->loop);
    } else {
        live->status = STATUS_FAILED;
    }
    mem_free_secret(TAKE(line));
    mem_free_secret(TAKE(url));
    page_server_free(live->server, live->code);
    if (live->check)
        kube_cancel(live->check);
    feed_watches_free(live->watches);
}

int ui_verb(struct session *session)
{
    struct options options = *session->options; /* that log_stream.c reads */
    struct live live = {.session = session, .code = WEBSOCKET_GOING_AWAY};
    struct err err = {0};

    options.follow = true;
    options.tail = TAIL_LINES;
    session->options = &options;
    if (!choose_namespace(&live, &err))
        return session_complain(session, &err);
    live.server = page_server_new(session->loop,
                                  &(struct page_server_options){.ip = page_addresses[options.address],
                                                                .port = (uint16_t)options.port,
                                                                .assets = page_assets,
                                                                .connections_max = CONNECTIONS_MAX,
                                                                .viewers_max = PAGE_VIEWERS_MAX,
                                                                .on_open = on_open,
                                                                .on_message = on_message,
                                                                .on_close = on_close,
                                                                .ctx = &live},
                                  &err);
    if (!live.server) {
        complain("%s; choose another --port", err.msg);
        return STATUS_FAILED;
    }
    run(&live);
    return live.status;
}
