/* A connection of the calling side with three calls on it: whatever a server sends, each call ends once, with
 * an answer or an error of ours, or is still there when the connection is given up. */
#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "frames.h"
#include "vipu/wire/call.h"
#include "vipu/wire/credentials.h"
#include "vipu/wire/grpc.h"
#include "vipu/wire/link.h"

enum { CALLS = 3 };

struct world {
    struct link *link; /* NULL: broken */
    struct call_list over;
    struct call_list orphans;
    size_t started;
};

static void on_call_over(void *ctx, struct channel_call *call)
{
    struct world *world = ctx;

    assert(!call->list && !call->link);
    assert(call->err.kind == ERR_NONE ? call->message.len <= 100 : call->err.msg[0] != '\0');
    call_move(call, &world->over);
}

static void on_retiring(void *ctx, struct link *link)
{
    struct world *world = ctx;

    assert(link == world->link);
}

static void on_broken(void *ctx, struct link *link, const struct err *err)
{
    struct world *world = ctx;

    assert(link == world->link && err->kind != ERR_NONE && err->msg[0] != '\0');
    world->link = NULL;
    link_free(link, false, &world->orphans);
}

static void call_begin(struct world *world)
{
    struct channel_call *call = NEW(struct channel_call);

    call->path = mem_strdup("/virmgrpc.UserService/RemovePartition");
    call->deadline_ms = 1000;
    grpc_frame(&call->frame, SLICE_LIT("\x0a\x02p1"));
    response_init(&call->response, 100);
    world->started++;
    link_submit(world->link, call);
}

static size_t free_all(struct call_list *list)
{
    struct channel_call *call;
    size_t count = 0;

    while ((call = TAILQ_FIRST(list))) {
        call_move(call, NULL);
        response_release(&call->response);
        str_release(&call->frame);
        mem_free(call->path);
        mem_free(call);
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct loop *loop;
    static const struct credentials nobody;
    static const struct link_owner owner = {on_call_over, on_retiring, on_broken};
    struct world world = {.over = TAILQ_HEAD_INITIALIZER(world.over),
                          .orphans = TAILQ_HEAD_INITIALIZER(world.orphans)};
    const struct link_options options = {.authority = "x:1",
                                         .user_agent = "fuzz",
                                         .credentials = &nobody,
                                         .host = "x",
                                         .owner = &owner,
                                         .ctx = &world};
    AUTO(str) struct str wire = {0};
    int fds[2];

    loop = loop ? loop : loop_new();
    frames_add(&wire, NGHTTP2_SETTINGS, 0, 0, (struct slice){0});
    frames_build((struct slice){(const char *)bytes, len}, &wire);
    frames_connect(fds);
    world.link = link_new_take(loop, fds[0], &options);
    for (int i = 0; i < CALLS && world.link; i++)
        call_begin(&world);
    frames_push(loop, fds[1], str_slice(&wire));
    if (world.link)
        link_free(world.link, false, &world.orphans);
    assert(free_all(&world.over) + free_all(&world.orphans) == world.started);
    return 0;
}
