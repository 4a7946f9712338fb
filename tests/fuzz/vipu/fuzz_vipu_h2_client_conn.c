/* A client connection with three calls: whatever a server sends, each call ends once, with a response or an
 * error, or is still pending when the connection is closed. */
#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "frames.h"
#include "vipu/wire/grpc/call.h"
#include "vipu/wire/grpc/credentials.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/grpc/h2_client_conn.h"

enum { CALLS = 3 };

struct world {
    struct h2_client_conn *conn; /* NULL: broken */
    struct call_list over;
    struct call_list orphans;
    size_t started;
};

static void on_call_over(void *ctx, struct channel_call *call)
{
    struct world *world = ctx;

    assert(!call->list && !call->conn);
    assert(call->err.kind == ERR_NONE ? call->message.len <= 100 : call->err.msg[0] != '\0');
    call_move(call, &world->over);
}

static void on_retiring(void *ctx, struct h2_client_conn *conn)
{
    struct world *world = ctx;

    assert(conn == world->conn);
}

static void on_broken(void *ctx, struct h2_client_conn *conn, const struct err *err)
{
    struct world *world = ctx;

    assert(conn == world->conn && err->kind != ERR_NONE && err->msg[0] != '\0');
    world->conn = NULL;
    h2_client_conn_free(conn, false, &world->orphans);
}

static void call_begin(struct world *world)
{
    struct channel_call *call = NEW(struct channel_call);

    call->path = mem_strdup("/virmgrpc.UserService/RemovePartition");
    call->deadline_ms = 1000;
    grpc_frame(&call->frame, SLICE_LIT("\x0a\x02p1"));
    response_init(&call->response, 100);
    world->started++;
    h2_client_conn_submit(world->conn, call);
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
    static const struct credentials no_credentials;
    static const struct h2_client_conn_owner owner = {on_call_over, on_retiring, on_broken};
    struct world world = {.over = TAILQ_HEAD_INITIALIZER(world.over),
                          .orphans = TAILQ_HEAD_INITIALIZER(world.orphans)};
    const struct h2_client_conn_options options = {.authority = "x:1",
                                                   .user_agent = "fuzz",
                                                   .credentials = &no_credentials,
                                                   .host = "x",
                                                   .owner = &owner,
                                                   .ctx = &world};
    AUTO(str) struct str wire = {0};
    int fds[2];

    loop = loop ? loop : loop_new();
    frames_add(&wire, NGHTTP2_SETTINGS, 0, 0, (struct slice){0});
    frames_build((struct slice){(const char *)bytes, len}, &wire);
    frames_connect(fds);
    world.conn = h2_client_conn_new_take(loop, fds[0], &options);
    for (int i = 0; i < CALLS && world.conn; i++)
        call_begin(&world);
    frames_push(loop, fds[1], str_slice(&wire));
    if (world.conn)
        h2_client_conn_free(world.conn, false, &world.orphans);
    assert(free_all(&world.over) + free_all(&world.orphans) == world.started);
    return 0;
}
