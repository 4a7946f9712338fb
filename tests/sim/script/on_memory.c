/* script-on-memory SEED STEPS: the script against the simulator's API server. */
#include <assert.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "fakes/loop.h"
#include "fakes/net.h"
#include "operator/kube/client/client.h"
#include "operator/kube/auth/config_loader.h"
#include "script/script.h"

static void wait(void *ctx, const bool *done)
{
    (void)ctx;
    while (!*done && clock_step()) {
    }
    assert(*done);
}

static bool leaves(void *ctx, struct host *host, const char *what, bool is_write)
{
    (void)ctx;
    (void)host;
    (void)what;
    (void)is_write;
    return true;
}

static void on_request(void *ctx, const struct api_request *request)
{
    (void)ctx;
    (void)request;
}

int main(int argc, char **argv)
{
    struct api api;
    struct net network = {.api = &api, .leaves = leaves, .on_request = on_request};
    struct client_config identity = {.server = mem_strdup("https://api"), .origin = mem_strdup("memory")};
    uint32_t seed = 0, steps = 0;
    struct err err = {0};
    struct loop *loop;
    struct kube *kube;

    if (argc != 3 || !parse_u32(argv[1], 0, UINT32_MAX, &seed) || !parse_u32(argv[2], 1, UINT32_MAX, &steps))
        return 2;
    clock_begin(seed);
    net = &network;
    loop = loop_new();
    api_init(&api, loop);
    kube = kube_new(loop, &identity, &(struct kube_options){.program = "script"}, &err);
    assert(kube);
    script_run(
        &(struct script_options){.kube = kube, .ns = "team", .seed = seed, .steps = steps, .wait = wait});
    kube_free(kube);
    net_drop_messages(&network);
    api_release(&api);
    loop_free(loop);
    clock_end();
    client_config_release(&identity);
    return 0;
}
