#include "base/http/http_client.h"

#include <assert.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/http/http_call.h"
#include "base/http/http_sockets.h"

struct http_list {
    struct http_call *first, *last;
    unsigned count;
};

struct http_client {
    struct loop *loop;
    CURLM *multi;
    struct http_settings settings;
    unsigned max_connections;
    size_t turn_bytes, turn_left; /* left of turn_bytes at turn_ms */
    uint64_t turn_ms;
    struct http_sockets sockets;
    struct loop_timer turn;    /* starts and fails waiting calls */
    struct loop_timer timeout; /* libcurl's own */
    struct loop_timer resume;  /* continues paused calls */
    struct http_list waiting;  /* sent in this turn, or to be failed in the next one */
    struct http_list running;  /* known to the multi handle */
    unsigned cancelled;        /* of the running ones, from inside libcurl */
    unsigned inside;           /* depth of calls into libcurl: its functions must not be called again then */
    bool calling;              /* an on_done is running */
    bool aborting;             /* http_abort_connections was called from inside libcurl */
};

/* libuv's handle for one socket that libcurl waits for. */
struct http_poll {
    uv_poll_t uv;
    struct http_client *http;
    int fd;
};

static void list_add(struct http_list *list, struct http_call *call)
{
    call->list = list;
    call->prev = list->last;
    call->next = NULL;
    if (list->last)
        list->last->next = call;
    else
        list->first = call;
    list->last = call;
    list->count++;
}

static void list_remove(struct http_call *call)
{
    struct http_list *list = call->list;

    if (call->prev)
        call->prev->next = call->next;
    else
        list->first = call->next;
    if (call->next)
        call->next->prev = call->prev;
    else
        list->last = call->prev;
    list->count--;
    call->list = NULL;
}

/* Removes the call from its list, and from libcurl. */
static void detach(struct http_call *call)
{
    struct http_client *http = call->http;

    assert(!http->inside);
    loop_timer_stop(&call->idle);
    if (call->list == &http->running) {
        http->inside++;
        (void)curl_multi_remove_handle(http->multi, call->easy);
        http->inside--;
    }
    list_remove(call);
}

/* The next call must not use a connection that became dead while this call waited: behind a proxy that
 * forwards nothing, a shared HTTP/2 connection would swallow every request until its own deadline. */
static void drop_silent_connections(struct http_client *http, const struct http_call *call)
{
    if (call->err.kind == ERR_TIMEOUT && call->started_ms > 0)
        http_sockets_reset(&http->sockets, call->started_ms);
}

static void finish(struct http_call *call)
{
    struct http_client *http = call->http;
    struct http_response response;

    detach(call);
    drop_silent_connections(http, call);
    http_call_response(call, &response);
    http->calling = true;
    call->on_done(call->ctx, &response, &call->err);
    http->calling = false;
    http_call_free(call);
}

static void on_turn(struct loop_timer *timer);

static void fail_next_turn(struct http_client *http, struct http_call *call)
{
    list_add(&http->waiting, call);
    loop_timer_start(http->loop, &http->turn, 0, on_turn);
}

static void on_idle_timeout(struct loop_timer *timer)
{
    struct http_call *call = CONTAINER_OF(timer, struct http_call, idle);
    int64_t left = call->last_read_ms + call->idle_timeout_ms - loop_clock_ms();

    if (left > 0) {
        loop_timer_start(call->http->loop, timer, left, on_idle_timeout);
        return;
    }
    err_set(&call->err, ERR_TIMEOUT, "no data received for %lld ms", (long long)call->idle_timeout_ms);
    finish(call);
}

static void start(struct http_call *call)
{
    struct http_client *http = call->http;

    list_remove(call);
    list_add(&http->running, call);
    call->started_ms = call->last_read_ms = loop_clock_ms();
    if (call->idle_timeout_ms > 0)
        loop_timer_start(http->loop, &call->idle, call->idle_timeout_ms, on_idle_timeout);
    http->inside++;
    CURLMcode bad = curl_multi_add_handle(http->multi, call->easy);
    http->inside--;
    assert(!bad);
    (void)bad;
}

/* Requests sent by callbacks start in the next turn, or two calls that fail at once could restart each other
 * forever. */
static void on_turn(struct loop_timer *timer)
{
    struct http_client *http = CONTAINER_OF(timer, struct http_client, turn);

    for (unsigned n = http->waiting.count; n > 0 && http->waiting.first; n--) {
        struct http_call *call = http->waiting.first;
        if (call->err.kind)
            finish(call);
        else
            start(call);
    }
    if (http->waiting.first)
        loop_timer_start(http->loop, &http->turn, 0, on_turn);
}

static void free_cancelled(struct http_client *http)
{
    struct http_call *next;

    for (struct http_call *call = http->running.first; call && http->cancelled > 0; call = next) {
        next = call->next;
        if (!call->cancelled)
            continue;
        http->cancelled--;
        detach(call);
        http_call_free(call);
    }
}

static void finish_done(struct http_client *http)
{
    CURLMsg *msg;
    int left;

    while ((msg = curl_multi_info_read(http->multi, &left))) {
        struct http_call *call = NULL;

        if (msg->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &call);
        http_call_set_result(call, msg->data.result);
        finish(call);
    }
}

/* What its callbacks have left to be done until libcurl has returned. */
static void settle(struct http_client *http)
{
    free_cancelled(http);
    if (http->aborting)
        http_abort_connections(http);
    finish_done(http);
}

static void act(struct http_client *http, curl_socket_t fd, int events)
{
    int running;

    http->inside++;
    (void)curl_multi_socket_action(http->multi, fd, events, &running);
    http->inside--;
    settle(http);
}

/* libcurl gives what a paused call has kept to on_bytes, and reports a failure there only as its result. */
static void resume(struct loop_timer *timer)
{
    struct http_client *http = CONTAINER_OF(timer, struct http_client, resume);
    struct http_call *failed;

    http->inside++;
    for (struct http_call *call = http->running.first; call; call = call->next) {
        if (call->is_paused && !call->cancelled) {
            call->is_paused = false;
            http_call_set_result(call, curl_easy_pause(call->easy, CURLPAUSE_CONT));
        }
    }
    http->inside--;
    do {
        failed = http->running.first;
        while (failed && (!failed->err.kind || failed->cancelled))
            failed = failed->next;
        if (failed)
            finish(failed);
    } while (failed);
    settle(http);
}

/* libuv reads its clock once in a turn, and libcurl may read on and on within one. */
bool http_client_may_read(struct http_client *http, size_t len)
{
    uint64_t now_ms = uv_now(loop_uv(http->loop));

    if (!http->turn_bytes)
        return true;
    if (now_ms != http->turn_ms)
        http->turn_left = http->turn_bytes;
    http->turn_ms = now_ms;
    if (http->turn_left == 0) {
        loop_timer_start(http->loop, &http->resume, 0, resume);
        return false;
    }
    http->turn_left -= len < http->turn_left ? len : http->turn_left;
    return true;
}

static void on_timeout(struct loop_timer *timer)
{
    act(CONTAINER_OF(timer, struct http_client, timeout), CURL_SOCKET_TIMEOUT, 0);
}

static int set_timeout(CURLM *multi, long delay_ms, void *ctx)
{
    struct http_client *http = ctx;

    (void)multi;
    if (delay_ms < 0)
        loop_timer_stop(&http->timeout);
    else
        loop_timer_start(http->loop, &http->timeout, delay_ms, on_timeout);
    return 0;
}

static void on_ready(uv_poll_t *uv, int status, int events)
{
    struct http_poll *poll = CONTAINER_OF(uv, struct http_poll, uv);
    int flags = status < 0 ? CURL_CSELECT_ERR : 0;

    if (events & UV_READABLE) {
        flags |= CURL_CSELECT_IN;
        http_sockets_mark_readable(&poll->http->sockets, poll->fd, loop_clock_ms());
    }
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    act(poll->http, poll->fd, flags);
}

static void free_poll(uv_handle_t *handle)
{
    mem_free(CONTAINER_OF(handle, struct http_poll, uv));
}

static struct http_poll *poll_new(struct http_client *http, curl_socket_t fd)
{
    struct http_poll *poll = NEW(struct http_poll);

    poll->http = http;
    poll->fd = fd;
    int bad = uv_poll_init(loop_uv(http->loop), &poll->uv, fd);
    assert(!bad);
    (void)bad;
    (void)curl_multi_assign(http->multi, fd, poll);
    return poll;
}

static int set_poll(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    struct http_client *http = ctx;
    struct http_poll *poll = socket_ctx;
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        (void)curl_multi_assign(http->multi, fd, NULL);
        if (poll)
            uv_close((uv_handle_t *)&poll->uv, free_poll);
        return 0;
    }
    if (!poll)
        poll = poll_new(http, fd);
    (void)uv_poll_start(&poll->uv, events, on_ready);
    return 0;
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_client *http = ctx;

    (void)purpose;
    return http_sockets_open(&http->sockets, address->family, address->socktype, address->protocol,
                             loop_clock_ms());
}

static int close_socket(void *ctx, curl_socket_t fd)
{
    struct http_client *http = ctx;

    return http_sockets_close(&http->sockets, fd);
}

static void open_multi(struct http_client *http)
{
    http->multi = curl_multi_init();
    assert(http->multi);
    (void)curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, set_poll);
    (void)curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    (void)curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, set_timeout);
    (void)curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    (void)curl_multi_setopt(http->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)http->max_connections);
}

static void close_multi(struct http_client *http)
{
    http->inside++;
    (void)curl_multi_cleanup(http->multi);
    http->inside--;
    http->multi = NULL;
    loop_timer_stop(&http->timeout);
}

static bool check_proxy(const char *proxy_url, struct err *err)
{
    CURLU *url = curl_url();

    assert(url);
    CURLUcode bad =
        proxy_url ? curl_url_set(url, CURLUPART_URL, proxy_url, CURLU_NON_SUPPORT_SCHEME) : CURLUE_OK;
    curl_url_cleanup(url);
    return !bad || err_set(err, ERR_INVALID, "proxy URL: %s", curl_url_strerror(bad));
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options,
                                    struct err *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) { /* counts its users; the process keeps it */
        err_set(err, ERR_INTERNAL, "cannot initialize libcurl");
        return NULL;
    }
    if (!options->cert_pem != !options->key_pem) {
        err_set(err, ERR_INVALID,
                "a client certificate requires its key, and the key requires the certificate");
        return NULL;
    }
    if (!check_proxy(options->proxy_url, err))
        return NULL;
    struct http_client *http = NEW(struct http_client);
    http->loop = loop;
    http->max_connections = options->max_connections ? options->max_connections : 2;
    http->turn_bytes = options->turn_bytes;
    http_settings_init(&http->settings, options);
    open_multi(http);
    return http;
}

void http_client_free(struct http_client *http)
{
    if (!http)
        return;
    assert(!http->inside && !http->calling);
    while (http->waiting.first)
        http_cancel(http->waiting.first);
    while (http->running.first)
        http_cancel(http->running.first);
    close_multi(http);
    loop_timer_stop(&http->turn);
    loop_timer_stop(&http->resume);
    http_sockets_release(&http->sockets);
    http_settings_release(&http->settings);
    mem_free(http);
}

struct http_call *http_send(struct http_client *http, const struct http_request *request)
{
    struct http_call *call = http_call_new(http, &http->settings, request);

    (void)curl_easy_setopt(call->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)curl_easy_setopt(call->easy, CURLOPT_OPENSOCKETDATA, http);
    (void)curl_easy_setopt(call->easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    (void)curl_easy_setopt(call->easy, CURLOPT_CLOSESOCKETDATA, http);
    list_add(&http->waiting, call);
    loop_timer_start(http->loop, &http->turn, 0, on_turn);
    return call;
}

void http_cancel(struct http_call *call)
{
    if (!call)
        return;
    if (call->http->inside && call->list == &call->http->running) {
        assert(!call->cancelled);
        call->cancelled = true;
        call->http->cancelled++;
        return;
    }
    detach(call);
    http_call_free(call);
}

static void mark_aborted(struct http_call *call)
{
    if (!call->err.kind)
        err_set(&call->err, ERR_IO, "connection aborted");
}

void http_abort_connections(struct http_client *http)
{
    http_sockets_reset(&http->sockets, INT64_MAX);
    http->aborting = http->inside > 0;
    if (http->aborting)
        return; /* the rest follows when libcurl has returned */
    for (struct http_call *call = http->waiting.first; call; call = call->next)
        mark_aborted(call);
    while (http->running.first) {
        struct http_call *call = http->running.first;
        detach(call);
        mark_aborted(call);
        fail_next_turn(http, call);
    }
    /* Everything that libcurl knows about its connections is outdated. */
    close_multi(http);
    open_multi(http);
}

unsigned http_in_flight(const struct http_client *http)
{
    return http->waiting.count + http->running.count - http->cancelled;
}
