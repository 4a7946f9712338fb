/* A connection of the answering side: whatever a client sends behind its preface, each message that reaches
 * the handler is answered once, now or when its connection has gone, and nothing is left over. */
#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "frames.h"
#include "vipu/wire/grpc/grpc_server_conn.h"

enum { HELD_MAX = 64 };

struct world {
    struct loop *loop;
    struct grpc_server_conn *conn; /* NULL: gone */
    struct grpc_server_call *held[HELD_MAX];
    size_t held_count;
};

static void on_call(void *ctx, struct grpc_server_call *call, struct slice path, struct slice message)
{
    struct world *world = ctx;

    assert(path.len <= 256 && message.len <= 1 << 10);
    if (message.len % 2 == 1 && world->held_count < HELD_MAX)
        world->held[world->held_count++] = call;
    else if (message.len == 0)
        grpc_server_reject(call, 5, "nothing");
    else
        grpc_server_reply(call, message);
}

static enum grpc_method_kind kind_of(struct slice path)
{
    switch (path.len ? path.ptr[path.len - 1] : '\0') {
    case 'o':
        return GRPC_EXCHANGE;
    case 'h':
        return GRPC_WATCH;
    default:
        return GRPC_UNARY;
    }
}

static void on_gone(void *ctx, struct grpc_server_conn *conn)
{
    struct world *world = ctx;

    assert(conn == world->conn);
    world->conn = NULL;
    grpc_server_conn_free(conn);
}

static bool on_no_room(void *ctx, const struct grpc_server_conn *conn, size_t bytes)
{
    struct world *world = ctx;

    assert(conn == world->conn && bytes > 0);
    return false;
}

/* The half of them while the connection may still be there. */
static void answer_held(struct world *world, size_t keep)
{
    while (world->held_count > keep)
        grpc_server_reply(world->held[--world->held_count], SLICE_LIT("late"));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct loop *loop;
    static const bool is_paused = false;
    static const struct grpc_server_options options = {.kind_of = kind_of,
                                                       .max_request = 1 << 10,
                                                       .max_connections = 1,
                                                       .max_calls = 10,
                                                       .max_unsent = 1 << 12,
                                                       .stall_ms = 10000};
    struct world world = {.loop = loop = loop ? loop : loop_new()};
    struct grpc_server_memory memory = {.max = 1 << 13};
    const struct grpc_server_conn_owner owner = {&options, loop,       on_call, &world, &is_paused,
                                                 &memory,  on_no_room, on_gone, &world};
    AUTO(str) struct str wire = {0};
    int fds[2];

    str_add(&wire, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    frames_add(&wire, NGHTTP2_SETTINGS, 0, 0, (struct slice){0});
    frames_build((struct slice){(const char *)bytes, len}, &wire);
    frames_connect(fds);
    world.conn = grpc_server_conn_new_take(fds[0], NULL, &owner);
    grpc_server_conn_send_settings(world.conn);
    frames_push(loop, fds[1], str_slice(&wire));
    answer_held(&world, world.held_count / 2);
    if (world.conn)
        on_gone(&world, world.conn);
    answer_held(&world, 0);
    assert(memory.used == 0);
    return 0;
}
