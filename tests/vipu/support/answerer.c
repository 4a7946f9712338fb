/* Drives vipu/wire's service for tests/vipu: whatever is asked, it answers with a VersionReply that says who
 * asked, "user=<id> key=<key>".
 *
 *     vipu-answerer [CERTIFICATE KEY]
 *
 * prints the port it listens on. With a certificate it speaks TLS, and SIGHUP reads both files again: it then
 * prints "reloaded", or each problem. A user id of "hold" is answered after the next SIGUSR1. */
#include <signal.h>
#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/wire/grpc/grpc_server.h"
#include "vipu/wire/messages/replies.h"
#include "vipu/wire/transport/tls_context.h"

struct answerer {
    struct loop *loop;
    struct grpc_server *service;
    const char *certificate, *key;
    struct grpc_server_call *held;
};

static void answer(struct grpc_server_call *call)
{
    AUTO(str) struct str reply = {0};
    AUTO(mem)
    char *text =
        mem_printf("user=%s key=%s", grpc_server_call_user_id(call), grpc_server_call_access_key(call));

    wire_put_version(text, &reply);
    grpc_server_reply(call, str_slice(&reply));
}

static void on_call(void *ctx, struct grpc_server_call *call, struct slice path, struct slice message)
{
    struct answerer *a = ctx;

    (void)path;
    (void)message;
    if (!a->held && str_eq(grpc_server_call_user_id(call), "hold"))
        a->held = call;
    else
        answer(call);
}

static bool load(struct answerer *a)
{
    AUTO(strv) struct strv problems = {0};
    struct tls_context *context =
        tls_context_server(&(struct tls_files){.certificate = a->certificate, .key = a->key}, &problems);

    if (context)
        grpc_server_set_tls_take(a->service, context);
    for (size_t i = 0; i < problems.count; i++)
        puts(problems.items[i]);
    return context != NULL;
}

static void on_signal(void *ctx, int signum)
{
    struct answerer *a = ctx;

    if (signum == SIGTERM)
        loop_stop(a->loop);
    else if (signum == SIGUSR1 && a->held)
        answer(TAKE(a->held));
    else if (signum == SIGHUP && load(a))
        puts("reloaded");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct answerer a = {.loop = loop_new()};
    struct err err;
    int status = 1;

    a.service = grpc_server_new(a.loop, &(struct grpc_server_options){0}, on_call, &a);
    a.certificate = argc > 2 ? argv[1] : NULL;
    a.key = argc > 2 ? argv[2] : NULL;
    loop_on_signal(a.loop, SIGTERM, on_signal, &a);
    loop_on_signal(a.loop, SIGHUP, on_signal, &a);
    loop_on_signal(a.loop, SIGUSR1, on_signal, &a);
    if ((!a.certificate || load(&a)) && grpc_server_listen(a.service, "127.0.0.1:0", &err)) {
        printf("%u\n", grpc_server_port(a.service));
        fflush(stdout);
        loop_run(a.loop);
        status = 0;
    }
    if (a.held)
        answer(a.held);
    grpc_server_free(a.service);
    loop_free(a.loop);
    return status;
}
