#include "operator/serve/health.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/serve.h"

struct health {
    struct health_options options;
    struct serve_route routes[4]; /* the last one ends the list */
    struct serve *serve;
};

static void answer(struct serve_request *request, const char *trouble)
{
    serve_replyf(request, trouble ? 503 : 200, "%s\n", trouble ? trouble : "ok");
}

static void on_healthz(void *ctx, struct serve_request *request, const struct serve_view *view)
{
    struct health *health = ctx;

    (void)view;
    answer(request, health->options.is_well(health->options.ctx));
}

static void on_readyz(void *ctx, struct serve_request *request, const struct serve_view *view)
{
    struct health *health = ctx;

    (void)view;
    answer(request, health->options.is_ready(health->options.ctx));
}

static void on_queue(void *ctx, struct serve_request *request, const struct serve_view *view)
{
    struct health *health = ctx;
    AUTO(json) cJSON *queue = health->options.queue(health->options.ctx);
    AUTO(mem) char *text = NULL;

    (void)view;
    if (!queue) {
        serve_replyf(request, 503, "this replica does not lead; ask the one that holds the lease\n");
        return;
    }
    text = json_print(queue);
    serve_reply(request, 200, "application/json", slice_of(text));
}

struct health *health_new(struct loop *loop, const struct health_options *options, struct err *err)
{
    struct health *health = NEW(struct health);

    health->options = *options;
    health->routes[0] = (struct serve_route){.path = "/healthz", .fn = on_healthz, .ctx = health};
    health->routes[1] = (struct serve_route){.path = "/readyz", .fn = on_readyz, .ctx = health};
    health->routes[2] = (struct serve_route){.path = "/queue", .fn = on_queue, .ctx = health};
    health->serve =
        serve_new(loop, &(struct serve_options){.port = options->port, .routes = health->routes}, err);
    if (!health->serve) {
        mem_free(health);
        return NULL;
    }
    return health;
}

uint16_t health_port(const struct health *health)
{
    return serve_port(health->serve);
}

void health_free(struct health *health)
{
    if (!health)
        return;
    serve_free(health->serve);
    mem_free(health);
}
