#include "operator/serve/pages/what_if_page.h"

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/io/loop.h"

#define SLICE_WORK 1000 /* microseconds of a usual processor, in each turn of the loop */

struct pending {
    struct http_server_request *request; /* NULL: none is pending here */
    char *peer;
    struct what_if *what_if;
};

struct what_if_page {
    struct loop *loop;
    struct loop_timer slice;
    struct pending pending[WHAT_IF_MAX];
    struct what_if_counts counts;
};

static void pending_release(struct pending *pending)
{
    mem_free(pending->peer);
    what_if_free(pending->what_if);
    *pending = (struct pending){0};
}

static void reply(struct pending *pending)
{
    AUTO(json) cJSON *body = what_if_print(pending->what_if);
    AUTO(mem) char *text = NULL;
    struct http_server_request *request = pending->request;

    json_make_visible(body, VISIBLE_LINES);
    text = json_print(body);
    pending_release(pending);
    http_server_reply(request, 200, "application/json", slice_of(text));
}

/* One slice a turn, however many are pending. */
static void step(struct loop_timer *timer)
{
    struct what_if_page *page = CONTAINER_OF(timer, struct what_if_page, slice);

    for (size_t i = 0; i < WHAT_IF_MAX; i++) {
        struct pending *pending = &page->pending[i];

        if (!pending->request)
            continue;
        loop_timer_start(page->loop, timer, 0, step);
        if (what_if_step(pending->what_if, SLICE_WORK)) {
            page->counts.answered++;
            reply(pending);
        }
        return;
    }
}

static bool reject(struct what_if_page *page, struct http_server_request *request, const char *who)
{
    page->counts.rejected++;
    http_server_replyf(request, 429, "%s is still being planned; retry later\n", who);
    return false;
}

static bool may_ask(struct what_if_page *page, struct http_server_request *request, const char *peer)
{
    size_t count = 0;

    for (size_t i = 0; i < WHAT_IF_MAX; i++) {
        if (page->pending[i].request && str_eq(page->pending[i].peer, peer))
            return reject(page, request, "a request of this client");
        count += page->pending[i].request != NULL;
    }
    return count < WHAT_IF_MAX || reject(page, request, "each of 4 other requests");
}

bool what_if_page_read(struct what_if_page *page, struct http_server_request *request,
                       const struct http_server_request_info *view, struct what_if_request *ret)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};

    if (!may_ask(page, request, view->peer))
        return false;
    if (what_if_request_read(view->body, ret, &problems))
        return true;
    page->counts.invalid++;
    for (size_t i = 0; i < problems.count; i++) {
        (void)str_add_visible(&text, slice_of(problems.items[i]), VISIBLE_LINE);
        (void)str_addc(&text, '\n');
    }
    http_server_reply(request, 400, "text/plain", str_slice(&text));
    return false;
}

void what_if_page_answer(struct what_if_page *page, struct http_server_request *request, const char *peer,
                         struct what_if *what_if_take)
{
    size_t i = 0;

    while (page->pending[i].request)
        i++;
    page->pending[i] = (struct pending){request, mem_strdup(peer), what_if_take};
    loop_timer_start(page->loop, &page->slice, 0, step);
}

void what_if_page_cancel(struct what_if_page *page, struct http_server_request *request)
{
    for (size_t i = 0; i < WHAT_IF_MAX; i++)
        if (page->pending[i].request == request)
            pending_release(&page->pending[i]);
}

const struct what_if_counts *what_if_page_counts(const struct what_if_page *page)
{
    return &page->counts;
}

struct what_if_page *what_if_page_new(struct loop *loop)
{
    struct what_if_page *page = NEW(struct what_if_page);

    page->loop = loop;
    return page;
}

void what_if_page_free(struct what_if_page *page)
{
    if (!page)
        return;
    loop_timer_stop(&page->slice);
    for (size_t i = 0; i < WHAT_IF_MAX; i++)
        pending_release(&page->pending[i]);
    mem_free(page);
}
