/* A conn over a pair of sockets, the other end of which the test reads when it likes. */
#include "vipu/wire/grpc/h2_client_conn.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "vipu/wire/grpc/grpc.h"

#define MESSAGE_BYTES ((size_t)4 << 20)

struct world {
    struct loop *loop;
    struct h2_client_conn *conn;
    struct loop_timer look;
    int fd; /* the peer's end */
    bool is_allowed;
    unsigned broken;
    struct err why;
};

static void on_over(void *ctx, struct channel_call *call)
{
    (void)ctx;
    (void)call;
}

static void on_retiring(void *ctx, struct h2_client_conn *conn)
{
    (void)ctx;
    (void)conn;
}

static void on_broken(void *ctx, struct h2_client_conn *conn, const struct err *err)
{
    struct world *world = ctx;

    (void)conn;
    world->broken++;
    world->why = *err;
    loop_stop(world->loop);
}

static bool may_send(void *ctx)
{
    return ((struct world *)ctx)->is_allowed;
}

static struct h2_client_conn_options options_of(struct world *world)
{
    static const struct h2_client_conn_owner owner = {on_over, on_retiring, on_broken};
    static const struct credentials nobody;

    return (struct h2_client_conn_options){
        .authority = "test:1",
        .user_agent = "test",
        .credentials = &nobody,
        .owner = &owner,
        .ctx = world,
        .may_send = may_send,
        .may_send_ctx = world,
    };
}

static void look_again(struct loop_timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct world, look)->loop);
}

/* Turns the loop until the conn has heard the peer's settings. */
static void await_settings(struct world *world)
{
    while (!h2_client_conn_has_heard(world->conn)) {
        loop_timer_start(world->loop, &world->look, 1, look_again);
        loop_run(world->loop);
    }
}

static void world_start(struct world *world)
{
    /* Windows as wide as they get: SETTINGS_INITIAL_WINDOW_SIZE, and WINDOW_UPDATE of the connection. */
    static const char greeting[] = "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"
                                   "\0\0\4\x8\0\0\0\0\0\x7f\xff\0\0";
    struct h2_client_conn_options options = options_of(world);
    int fds[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    *world = (struct world){.loop = loop_new(), .fd = fds[1], .is_allowed = true};
    world->conn = h2_client_conn_new_take(world->loop, fds[0], &options);
    CHECK(write(world->fd, greeting, sizeof(greeting) - 1) == sizeof(greeting) - 1);
    await_settings(world);
}

static void world_end(struct world *world)
{
    struct call_list orphans = TAILQ_HEAD_INITIALIZER(orphans);

    h2_client_conn_free(world->conn, false, &orphans);
    loop_timer_stop(&world->look);
    loop_free(world->loop);
    close(world->fd);
}

static size_t read_all(const struct world *world)
{
    char bytes[65536];
    size_t total = 0;
    ssize_t len;

    while ((len = read(world->fd, bytes, sizeof(bytes))) > 0)
        total += (size_t)len;
    CHECK(len == 0 || errno == EAGAIN);
    return total;
}

static struct channel_call *call_new(const char *path, size_t bytes, bool gated)
{
    struct channel_call *call = NEW(struct channel_call);
    AUTO(mem) char *message = mem_alloc(bytes + 1);

    call->path = mem_strdup(path);
    grpc_frame(&call->frame, (struct slice){message, bytes});
    call->deadline_ms = 30000;
    call->gated = gated;
    response_init(&call->response, 100);
    return call;
}

static void call_free(struct channel_call *call)
{
    response_release(&call->response);
    str_release(&call->frame);
    mem_free(call->path);
    mem_free(call);
}

/* The kernel has taken a part of a gated request, permission is gone, and there is room again: whatever
 * makes the conn send next, the rest stays. */
static void check_rest_stays(bool withdraw_first)
{
    struct world world;
    struct channel_call *gated, *harmless = call_new("/harmless", 0, false);
    size_t taken;

    world_start(&world);
    gated = call_new("/gated", MESSAGE_BYTES, true);
    h2_client_conn_submit(world.conn, gated);
    CHECK(gated->sent && world.broken == 0);
    world.is_allowed = false;
    taken = read_all(&world);
    CHECK(taken < MESSAGE_BYTES);
    if (withdraw_first)
        h2_client_conn_withdraw(world.conn, gated);
    else
        h2_client_conn_submit(world.conn, harmless);
    CHECK_INT_EQ(world.broken, 1);
    CHECK_HAS(world.why.msg, "sending is no longer allowed");
    CHECK_INT_EQ(read_all(&world), 0);
    world_end(&world);
    call_free(gated);
    call_free(harmless);
}

TEST(another_call_does_not_carry_the_rest_along)
{
    check_rest_stays(false);
}

TEST(a_call_that_is_withdrawn_stays_fenced)
{
    check_rest_stays(true);
}

TEST(what_was_never_fenced_goes_on)
{
    struct world world;
    struct channel_call *harmless = call_new("/harmless", MESSAGE_BYTES, false);
    size_t total;

    world_start(&world);
    world.is_allowed = false;
    h2_client_conn_submit(world.conn, harmless);
    for (total = read_all(&world); total < MESSAGE_BYTES; total += read_all(&world)) {
        loop_timer_start(world.loop, &world.look, 1, look_again);
        loop_run(world.loop);
    }
    CHECK_INT_EQ(world.broken, 0);
    world_end(&world);
    call_free(harmless);
}
