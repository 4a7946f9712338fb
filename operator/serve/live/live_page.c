#include "operator/serve/live/live_page.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/api/names.h"
#include "operator/kube/client/client.h"
#include "operator/serve/certificates/server_certificate.h"
#include "operator/serve/live/assets.h"
#include "operator/serve/live/feed_watches.h"
#include "operator/serve/live/grants.h"
#include "operator/serve/live/page_server.h"
#include "operator/serve/metrics/authz.h"
#include "operator/serve/metrics/review_queue.h"

#define PATH "/live" /* of what a rejected token is remembered for */

enum {
    CONNECTIONS_MAX = 256,
    VIEWERS_MAX = 1000,
    VISITORS_MAX = 1000,
    QUESTIONS_MAX = 8, /* about visitors, at a time */
    TICK_MS = 1000,
    REVIEW_TIMEOUT_MS = 4000,
    RETRY_MS = 10 * 1000,           /* after a question without an answer */
    NAMESPACE_KEPT_MS = 600 * 1000, /* without objects */
    OBJECTS_MAX = 50000             /* of a kind */
};
#define BYTES_MAX ((size_t)256 * 1024 * 1024)

static const struct feed_row ROWS[] = {
    {FEED_JOB, &KUBE_IPUJOBS, false, NULL, NULL},
    {FEED_CONTROLLER, &KUBE_VIPU_CONTROLLERS, true, NULL, NULL},
    {FEED_POD, &KUBE_PODS, false, LABEL_JOB_NAME, NULL},
};

/* A token whose account is known, with all pages that were opened with it. */
struct visitor {
    TAILQ_ENTRY(visitor) entry;
    struct live_page *page;
    struct authz_digest digest;
    char *token;
    cJSON *user; /* of the TokenReview */
    int64_t checked_ms;
    struct grants grants;
    int64_t due_ms; /* of the next question */
    struct kube_call *call;
    bool is_about_token;
    enum feed_kind asked_kind;
    char *asked_ns;
    struct viewer *viewers;
    unsigned viewer_count;
    bool is_complete;           /* the viewers were told that they have all */
    bool is_denied[FEED_KINDS]; /* and that there is nothing of this kind for them */
};

struct viewer {
    struct visitor *visitor;
    struct page_viewer *page;
    struct viewer *next;
};

/* A request with a token that is not known yet. */
struct caller {
    struct review review;
    struct live_page *page;
    struct page_viewer *request;
    struct authz_digest digest;
    char *token;
    struct kube_call *call;
};

/* Namespaces are asked about while there is something in them, and for a while after: a user who creates and
 * deletes the only object of one again and again must not have all visitors asked about each time. */
struct live_namespace {
    size_t objects;
    int64_t empty_ms; /* without any: since then */
};

struct live_page {
    struct loop *loop;
    struct kube *kube;
    struct server_certificate *certificate;
    struct page_server *server;
    struct feed_watches *watches;
    struct map namespaces;          /* name -> struct live_namespace */
    TAILQ_HEAD(, visitor) visitors; /* who was asked about last is at the end */
    unsigned visitor_count, questions;
    struct review_queue callers;
    struct authz_cache rejected; /* tokens */
    int64_t clock_ahead_s;       /* of this machine, before the API server's */
    struct loop_timer tick, soon;
};

/* ---- to the viewers ---- */

static void send_frame(void *ctx, struct frame *frame)
{
    struct viewer *viewer = ctx;

    page_viewer_send(viewer->page, frame);
}

static void send_text(struct viewer *viewer, char *text)
{
    struct frame *frame = frame_of_text(text);

    send_frame(viewer, frame);
    frame_drop(frame);
}

static void send_to_all_of(struct visitor *visitor, struct frame *frame)
{
    for (struct viewer *viewer = visitor->viewers; viewer; viewer = viewer->next)
        page_viewer_send(viewer->page, frame);
}

/* "ml" of "ml/digits"; NULL: the object has no namespace. Owned by the caller. */
static char *namespace_of(const char *key)
{
    const char *slash = strchr(key, '/');

    return slash ? mem_strndup(key, (size_t)(slash - key)) : NULL;
}

static bool is_in(const char *key, const char *ns)
{
    size_t len = strlen(ns);

    return strncmp(key, ns, len) == 0 && key[len] == '/';
}

static bool may_see(const struct visitor *visitor, enum feed_kind kind, const char *key)
{
    AUTO(mem) char *ns = namespace_of(key);

    return grants_allow(&visitor->grants, kind, ns);
}

/* What the visitor may see of this kind, in this namespace or in all. */
static void send_objects(const struct visitor *visitor, enum feed_kind kind, const char *ns,
                         void (*send)(void *ctx, struct frame *frame), void *ctx)
{
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        const struct store *store = feed_watches_store(visitor->page->watches, i);

        if (ROWS[i].kind != kind)
            continue;
        for (const struct store_item *item = store_first(store); item; item = store_next(item)) {
            if ((!ns || is_in(item->key, ns)) && may_see(visitor, kind, item->key))
                send(ctx, (struct frame *)item->view);
        }
    }
}

static void send_denials(struct viewer *viewer)
{
    static const char *const why[FEED_KINDS] = {
        [FEED_JOB] = "no namespace that has jobs lets this account list ipujobs",
        [FEED_CONTROLLER] = "this account may not list vipucontrollers",
        [FEED_POD] = "this account may not list pods",
    };

    for (enum feed_kind kind = 0; kind < FEED_KINDS; kind++) {
        if (viewer->visitor->is_denied[kind])
            send_text(viewer, feed_forbidden(feed_kind_names[kind], why[kind]));
    }
}

static void send_end_of_objects(struct viewer *viewer)
{
    send_denials(viewer);
    send_text(viewer, feed_synced());
    page_viewer_begin(viewer->page);
}

static void note_complete(struct visitor *visitor)
{
    struct grants_question question;
    int64_t due_ms;

    if (visitor->is_complete || !feed_watches_are_synced(visitor->page->watches) ||
        grants_next(&visitor->grants, INT64_MIN, &question, &due_ms))
        return;
    visitor->is_complete = true;
    visitor->is_denied[FEED_CONTROLLER] = !grants_allow_any(&visitor->grants, FEED_CONTROLLER);
    visitor->is_denied[FEED_JOB] =
        visitor->grants.namespaces.count > 0 && !grants_allow_any(&visitor->grants, FEED_JOB);
    visitor->is_denied[FEED_POD] =
        grants_allow_any(&visitor->grants, FEED_JOB) && !grants_allow_any(&visitor->grants, FEED_POD);
    for (struct viewer *viewer = visitor->viewers; viewer; viewer = viewer->next)
        send_end_of_objects(viewer);
}

/* ---- visitors ---- */

static void cancel_question(struct visitor *visitor)
{
    if (!visitor->call)
        return;
    kube_cancel(TAKE(visitor->call));
    visitor->page->questions--;
}

static void visitor_free(struct visitor *visitor)
{
    struct live_page *page = visitor->page;

    cancel_question(visitor);
    TAILQ_REMOVE(&page->visitors, visitor, entry);
    page->visitor_count--;
    grants_release(&visitor->grants);
    mem_free_secret(visitor->token);
    cJSON_Delete(visitor->user);
    mem_free(visitor->asked_ns);
    mem_free(visitor);
}

/* Its pages connect again, and get what is allowed now. */
static void visitor_end(struct visitor *visitor, enum websocket_code code)
{
    while (visitor->viewers)
        page_viewer_end(visitor->viewers->page, code);
    visitor_free(visitor);
}

static struct visitor *find_visitor(const struct live_page *page, const struct authz_digest *digest)
{
    struct visitor *visitor;

    TAILQ_FOREACH(visitor, &page->visitors, entry)
    {
        if (memcmp(&visitor->digest, digest, sizeof(*digest)) == 0)
            return visitor;
    }
    return NULL;
}

/* False: each of them has a page open. */
static bool make_room(struct live_page *page)
{
    struct visitor *visitor;

    if (page->visitor_count < VISITORS_MAX)
        return true;
    TAILQ_FOREACH(visitor, &page->visitors, entry)
    {
        if (!visitor->viewers) {
            visitor_free(visitor);
            return true;
        }
    }
    return false;
}

static struct visitor *visitor_new(struct live_page *page, const struct caller *caller, const cJSON *user)
{
    struct visitor *visitor = NEW(struct visitor);

    visitor->page = page;
    visitor->digest = caller->digest;
    visitor->token = mem_strdup(caller->token);
    visitor->user = json_dup(user);
    visitor->checked_ms = loop_clock_ms();
    TAILQ_INSERT_TAIL(&page->visitors, visitor, entry);
    page->visitor_count++;
    return visitor;
}

/* With the first page: who opens it again sees what is allowed now. */
static void begin_grants(struct visitor *visitor)
{
    const char *ns;
    void *value;

    cancel_question(visitor);
    grants_release(&visitor->grants);
    visitor->grants = (struct grants){0};
    for (size_t i = 0; map_next(&visitor->page->namespaces, &i, &ns, &value);)
        grants_add_namespace(&visitor->grants, ns);
    visitor->is_complete = false;
    memset(visitor->is_denied, 0, sizeof(visitor->is_denied));
}

/* ---- what a visitor may see ---- */

static void work(struct loop_timer *timer);

static void work_soon(struct live_page *page)
{
    loop_timer_start(page->loop, &page->soon, 0, work);
}

static struct kube_call *send_review(struct live_page *page, const struct kube_resource *resource,
                                     cJSON *body_take, kube_done_fn done, void *ctx)
{
    AUTO(json) cJSON *body = body_take;

    return kube_send(page->kube,
                     &(struct kube_request){.method = "POST",
                                            .resource = resource,
                                            .body = body,
                                            .timeout_ms = REVIEW_TIMEOUT_MS,
                                            .retry_post = true},
                     done, ctx);
}

/* True if there is no usable response; logs the cause for the admin. */
static bool log_if_no_response(const struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && res->body)
        return false;
    log_warn("cannot check the authorization of a client", KV("cause", res->err.msg));
    return true;
}

static void send_given(void *ctx, struct frame *frame)
{
    send_to_all_of(ctx, frame);
}

static void take_answer(struct visitor *visitor, bool is_allowed)
{
    enum feed_kind kind = visitor->asked_kind;

    switch (grants_answer(&visitor->grants, kind, visitor->asked_ns, is_allowed, loop_clock_ms())) {
    case GRANTS_SAME:
        break;
    case GRANTS_GIVEN:
        if (visitor->is_denied[kind]) {
            visitor_end(visitor, WEBSOCKET_GOING_AWAY);
            return;
        }
        send_objects(visitor, kind, visitor->asked_ns, send_given, visitor);
        break;
    case GRANTS_TAKEN:
        visitor_end(visitor, WEBSOCKET_POLICY);
        return;
    }
    note_complete(visitor);
}

static void take_user(struct visitor *visitor, const cJSON *user)
{
    if (!user) {
        visitor_end(visitor, WEBSOCKET_POLICY);
        return;
    }
    cJSON_Delete(visitor->user);
    visitor->user = json_dup(user);
    visitor->checked_ms = loop_clock_ms();
}

static void on_answer(void *ctx, struct kube_response *res)
{
    struct visitor *visitor = ctx;
    struct live_page *page = visitor->page;

    visitor->call = NULL;
    page->questions--;
    visitor->due_ms = 0;
    if (log_if_no_response(res))
        visitor->due_ms = loop_clock_ms() + RETRY_MS;
    else if (visitor->is_about_token)
        take_user(visitor, authz_user(res->body));
    else
        take_answer(visitor, authz_is_allowed(res->body));
    work_soon(page);
}

static const struct kube_resource *resource_of(enum feed_kind kind)
{
    size_t i = 0;

    while (ROWS[i].kind != kind)
        i++;
    return ROWS[i].resource;
}

static void ask(struct visitor *visitor, int64_t now_ms)
{
    struct live_page *page = visitor->page;
    struct grants_question question;
    int64_t token_due_ms = visitor->checked_ms + GRANTS_ALLOWED_MS;

    visitor->is_about_token = now_ms >= token_due_ms;
    if (visitor->is_about_token) {
        visitor->call =
            send_review(page, &KUBE_TOKEN_REVIEWS, authz_token_review(visitor->token), on_answer, visitor);
    } else if (grants_next(&visitor->grants, now_ms, &question, &visitor->due_ms)) {
        visitor->asked_kind = question.kind;
        mem_set_str(&visitor->asked_ns, question.ns);
        visitor->call = send_review(page, &KUBE_SUBJECT_REVIEWS,
                                    authz_list_review(visitor->user, resource_of(question.kind), question.ns),
                                    on_answer, visitor);
    } else if (token_due_ms < visitor->due_ms) {
        visitor->due_ms = token_due_ms;
    }
    if (!visitor->call)
        return;
    page->questions++;
    TAILQ_REMOVE(&page->visitors, visitor, entry);
    TAILQ_INSERT_TAIL(&page->visitors, visitor, entry);
}

/* After every answer, so it looks no further than it asks. */
static void ask_about_visitors(struct live_page *page)
{
    int64_t now_ms = loop_clock_ms();
    struct visitor *next;

    for (struct visitor *visitor = TAILQ_FIRST(&page->visitors); visitor && page->questions < QUESTIONS_MAX;
         visitor = next) {
        next = TAILQ_NEXT(visitor, entry);
        if (visitor->viewers && !visitor->call && now_ms >= visitor->due_ms)
            ask(visitor, now_ms);
    }
}

static void end_old_visitors(struct live_page *page)
{
    int64_t now_ms = loop_clock_ms();
    struct visitor *next;

    for (struct visitor *visitor = TAILQ_FIRST(&page->visitors); visitor; visitor = next) {
        next = TAILQ_NEXT(visitor, entry);
        if (!visitor->viewers && now_ms >= visitor->checked_ms + GRANTS_ALLOWED_MS)
            visitor_free(visitor);
        else if (now_ms >= visitor->checked_ms + GRANTS_STALE_MS ||
                 grants_are_stale(&visitor->grants, now_ms))
            visitor_end(visitor, WEBSOCKET_GOING_AWAY);
    }
}

/* ---- requests with a token ---- */

static void caller_free(struct caller *caller)
{
    review_queue_remove(&caller->page->callers, &caller->review);
    kube_cancel(caller->call);
    mem_free_secret(caller->token);
    mem_free(caller);
}

static struct caller *caller_of(struct review *review)
{
    return CONTAINER_OF(review, struct caller, review);
}

static void admit(struct visitor *visitor, struct page_viewer *request)
{
    if (visitor->viewer_count < PAGE_VIEWERS_MAX)
        page_viewer_allow(request, visitor);
    else
        page_viewer_reject(request, 503, "too many pages are open with this token; close some");
}

static void on_token_review(void *ctx, struct kube_response *res)
{
    struct caller *caller = ctx;
    struct live_page *page = caller->page;
    struct page_viewer *request = caller->request;
    const cJSON *user = authz_user(res->body);
    struct visitor *visitor = find_visitor(page, &caller->digest);

    caller->call = NULL;
    if (log_if_no_response(res)) {
        page_viewer_reject(request, 503, "cannot check the token with the API server; try again later");
    } else if (!user) {
        authz_cache_put(&page->rejected, &caller->digest, AUTHZ_UNAUTHENTICATED, loop_clock_ms());
        page_viewer_reject(request, 401, "the API server does not know this token, or it has expired");
    } else if (!visitor && !make_room(page)) {
        page_viewer_reject(request, 503, "too many people have this page open; try again later");
    } else {
        if (res->date_s >= 0)
            page->clock_ahead_s = loop_unix_micros() / 1000000 - res->date_s;
        admit(visitor ? visitor : visitor_new(page, caller, user), request);
    }
    caller_free(caller);
    work_soon(page);
}

static void review_callers(struct live_page *page)
{
    struct review *review;

    while ((review = review_queue_next(&page->callers))) {
        struct caller *caller = caller_of(review);

        caller->call = send_review(page, &KUBE_TOKEN_REVIEWS, authz_token_review(caller->token),
                                   on_token_review, caller);
    }
}

static void enqueue(struct live_page *page, struct page_viewer *request, const struct authz_digest *digest,
                    const char *token, const char *peer)
{
    struct caller *caller = NEW(struct caller);
    struct review *superfluous;

    *caller =
        (struct caller){.page = page, .request = request, .digest = *digest, .token = mem_strdup(token)};
    superfluous = review_queue_add(&page->callers, &caller->review, peer);
    work_soon(page);
    if (!superfluous)
        return;
    caller = caller_of(superfluous);
    page_viewer_reject(caller->request, 429,
                       "too many requests wait for their authorization; try again later");
    mem_free_secret(caller->token);
    mem_free(caller);
}

static void on_token(void *ctx, struct page_viewer *request, struct slice text, const char *peer)
{
    struct live_page *page = ctx;
    char *token = mem_strndup(text.ptr, text.len);
    struct authz_digest digest = authz_digest(token, PATH);
    struct visitor *visitor = find_visitor(page, &digest);

    if (visitor)
        admit(visitor, request);
    else if (authz_cache_get(&page->rejected, &digest, loop_clock_ms()) == AUTHZ_UNAUTHENTICATED)
        page_viewer_reject(request, 401, "the API server does not know this token, or it has expired");
    else
        enqueue(page, request, &digest, token, peer);
    mem_free_secret(token);
}

static void on_gone(void *ctx, struct page_viewer *request)
{
    struct live_page *page = ctx;
    struct review *review;

    TAILQ_FOREACH(review, &page->callers, entry)
    {
        if (caller_of(review)->request == request) {
            caller_free(caller_of(review));
            work_soon(page);
            return;
        }
    }
}

/* ---- pages ---- */

static void *on_open(void *ctx, struct page_viewer *request, void *who)
{
    struct live_page *page = ctx;
    struct viewer *viewer = NEW(struct viewer);
    struct visitor *visitor = who;

    if (!visitor->viewers)
        begin_grants(visitor);
    *viewer = (struct viewer){.visitor = visitor, .page = request, .next = visitor->viewers};
    visitor->viewers = viewer;
    visitor->viewer_count++;
    visitor->due_ms = 0;
    send_text(viewer, feed_hello(NULL, true, json_str(visitor->user, "username", ""), page->clock_ahead_s));
    feed_watches_tell_state(page->watches, send_frame, viewer);
    for (enum feed_kind kind = 0; kind < FEED_KINDS; kind++) {
        if (grants_allow_any(&visitor->grants, kind))
            send_objects(visitor, kind, NULL, send_frame, viewer);
    }
    if (visitor->is_complete)
        send_end_of_objects(viewer);
    work_soon(page);
    return viewer;
}

static void on_message(void *of_viewer, struct slice text)
{
    AUTO(mem) char *job = feed_read_request(text);

    if (job && *job)
        send_text(of_viewer, feed_forbidden("log", "this page has no logs; use kubectl ipu logs"));
}

static void on_close(void *of_viewer)
{
    struct viewer *viewer = of_viewer, **slot = &viewer->visitor->viewers;

    while (*slot != viewer)
        slot = &(*slot)->next;
    *slot = viewer->next;
    viewer->visitor->viewer_count--;
    mem_free(viewer);
}

/* ---- from the API server ---- */

static struct live_namespace *add_namespace(struct live_page *page, const char *ns)
{
    struct live_namespace *added = NEW(struct live_namespace);
    struct visitor *visitor;

    (void)map_set(&page->namespaces, ns, added);
    TAILQ_FOREACH(visitor, &page->visitors, entry)
    {
        grants_add_namespace(&visitor->grants, ns);
        visitor->due_ms = 0;
    }
    work_soon(page);
    return added;
}

static void count_in_namespace(struct live_page *page, const char *ns, const struct store_change *change)
{
    struct live_namespace *found = map_get(&page->namespaces, ns);

    if (change->new && !change->old) {
        found = found ? found : add_namespace(page, ns);
        found->objects++;
    } else if (found && !change->new && --found->objects == 0) {
        found->empty_ms = loop_clock_ms();
    }
}

static char *find_forgotten_namespace(const struct live_page *page)
{
    int64_t before_ms = loop_clock_ms() - NAMESPACE_KEPT_MS;
    const char *ns;
    void *value;

    for (size_t i = 0; map_next(&page->namespaces, &i, &ns, &value);) {
        const struct live_namespace *found = value;

        if (!found->objects && found->empty_ms <= before_ms)
            return mem_strdup(ns);
    }
    return NULL;
}

static void forget_namespace(struct live_page *page)
{
    AUTO(mem) char *ns = find_forgotten_namespace(page);
    struct visitor *visitor;

    if (!ns)
        return;
    mem_free(map_remove(&page->namespaces, ns));
    TAILQ_FOREACH(visitor, &page->visitors, entry)
    grants_drop_namespace(&visitor->grants, ns);
}

static void on_change(void *ctx, enum feed_kind kind, const struct store_change *change)
{
    struct live_page *page = ctx;
    AUTO(mem) char *ns = namespace_of(change->key);
    struct frame *frame =
        change->new ? frame_keep((struct frame *)change->new) : frame_of_text(feed_delete(kind, change->key));
    struct visitor *visitor;

    if (ns)
        count_in_namespace(page, ns, change);
    TAILQ_FOREACH(visitor, &page->visitors, entry)
    {
        if (visitor->viewers && grants_allow(&visitor->grants, kind, ns))
            send_to_all_of(visitor, frame);
    }
    frame_drop(frame);
}

static void on_state(void *ctx, struct frame *frame)
{
    struct live_page *page = ctx;
    struct visitor *visitor;

    TAILQ_FOREACH(visitor, &page->visitors, entry)
    send_to_all_of(visitor, frame);
}

static void on_synced(void *ctx)
{
    struct live_page *page = ctx;
    struct visitor *visitor;

    TAILQ_FOREACH(visitor, &page->visitors, entry)
    note_complete(visitor);
}

static void on_full(void *ctx, const struct err *err)
{
    (void)ctx;
    log_error("the live page is not updated any more", KV("cause", err->msg));
}

/* ---- the whole ---- */

static void work(struct loop_timer *timer)
{
    struct live_page *page = CONTAINER_OF(timer, struct live_page, soon);

    review_callers(page);
    ask_about_visitors(page);
}

static void on_tick(struct loop_timer *timer)
{
    struct live_page *page = CONTAINER_OF(timer, struct live_page, tick);

    end_old_visitors(page);
    forget_namespace(page);
    ask_about_visitors(page);
    loop_timer_start(page->loop, &page->tick, TICK_MS, on_tick);
}

static bool use_certificate(void *ctx, const struct http_server_tls *tls, struct err *err)
{
    struct live_page *page = ctx;

    return page_server_set_tls(page->server, tls, err);
}

static bool start(struct live_page *page, const struct live_page_options *options, struct err *err)
{
    struct http_server_tls tls;

    page->certificate =
        server_certificate_new(page->loop,
                               &(struct server_certificate_options){.server = "live page",
                                                                    .directory = options->certificate_in,
                                                                    .names = options->hosts,
                                                                    .use = use_certificate,
                                                                    .ctx = page},
                               err);
    if (!page->certificate)
        return false;
    tls = server_certificate_tls(page->certificate);
    page->server = page_server_new(
        page->loop,
        &(struct page_server_options){.port = options->port,
                                      .assets = page_assets,
                                      .service = &(struct page_service){.hosts = options->hosts,
                                                                        .tls = &tls,
                                                                        .on_token = on_token,
                                                                        .on_gone = on_gone},
                                      .connections_max = CONNECTIONS_MAX,
                                      .viewers_max = VIEWERS_MAX,
                                      .on_open = on_open,
                                      .on_message = on_message,
                                      .on_close = on_close,
                                      .ctx = page},
        err);
    return page->server != NULL;
}

struct live_page *live_page_new(struct kube *kube, const struct live_page_options *options, struct err *err)
{
    struct live_page *page = NEW(struct live_page);

    page->loop = kube_loop(kube);
    page->kube = kube;
    TAILQ_INIT(&page->visitors);
    TAILQ_INIT(&page->callers);
    page->watches = feed_watches_new(kube, &(struct feed_watches_options){.rows = ROWS,
                                                                          .count = COUNT_OF(ROWS),
                                                                          .max_items = OBJECTS_MAX,
                                                                          .max_bytes = BYTES_MAX,
                                                                          .on_change = on_change,
                                                                          .on_state = on_state,
                                                                          .on_synced = on_synced,
                                                                          .on_full = on_full,
                                                                          .ctx = page});
    if (!start(page, options, err)) {
        err_wrap(err, "cannot serve the live page");
        live_page_free(page);
        return NULL;
    }
    loop_timer_start(page->loop, &page->tick, TICK_MS, on_tick);
    log_info("serving the live page", KVF("live_page_port", "%u", (unsigned)page_server_port(page->server)));
    return page;
}

int64_t live_page_certificate_end_s(const struct live_page *page)
{
    return server_certificate_end_s(page->certificate);
}

void live_page_free(struct live_page *page)
{
    const char *ns;
    void *value;

    if (!page)
        return;
    server_certificate_free(page->certificate);
    page_server_free(page->server, WEBSOCKET_GOING_AWAY); /* runs the loop, and with it what follows */
    loop_timer_stop(&page->tick);
    loop_timer_stop(&page->soon);
    while (!TAILQ_EMPTY(&page->visitors))
        visitor_free(TAILQ_FIRST(&page->visitors));
    feed_watches_free(page->watches);
    for (size_t i = 0; map_next(&page->namespaces, &i, &ns, &value);)
        mem_free(value);
    map_release(&page->namespaces);
    mem_free(page);
}
