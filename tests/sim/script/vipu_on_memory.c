/* vipu-script-on-memory SEED STEPS CONFIG-FILE FAULTS: the script against the simulator's V-IPU controller.
 * Half way the faults begin. */
#include <assert.h>
#include <stdio.h>

#include "base/core/str.h"
#include "base/io/file.h"
#include "fakes/loop.h"
#include "fakes/net.h"
#include "script/vipu_script.h"
#include "vipu/client/client.h"

#define CONFIG_MAX 65536

static void wait(void *ctx, const bool *done)
{
    (void)ctx;
    while (!*done && clock_step()) {
    }
    assert(*done);
}

struct story {
    struct sim_vipu side;
    const char *faults;
};

static void on_half(void *ctx)
{
    struct story *story = ctx;

    sim_vipu_set_faults(&story->side, story->faults);
}

static bool leaves(void *ctx, struct host *host, const char *what, bool is_write)
{
    (void)ctx;
    (void)host;
    (void)what;
    (void)is_write;
    return true;
}

static void on_vipu_write(void *ctx, struct sim_vipu *side, const struct vipu_order *order)
{
    (void)ctx;
    (void)side;
    (void)order;
}

static const char *record_of(void *ctx, const char *id)
{
    (void)ctx;
    (void)id;
    return NULL;
}

static void run(const char *config, const char *faults, uint32_t seed, uint32_t steps)
{
    struct story story = {.faults = faults};
    struct net network = {.sides = &story.side,
                          .side_count = 1,
                          .leaves = leaves,
                          .on_vipu_write = on_vipu_write,
                          .record_of = record_of};
    struct vipu_client_options options = {.endpoint = {.host = "vipu", .port = 8090}};
    struct vipu_client *client;
    struct loop *loop;

    clock_begin(seed);
    sim_vipu_init(&story.side, "vipu:8090", config);
    net = &network;
    loop = loop_new();
    client = vipu_client_new(loop, &options);
    vipu_script_run(&(struct vipu_script_options){
        .client = client, .seed = seed, .steps = steps, .wait = wait, .on_half = on_half, .ctx = &story});
    vipu_client_free(client);
    net_drop_rpc_messages(&network);
    loop_free(loop);
    sim_vipu_release(&story.side);
    clock_end();
}

int main(int argc, char **argv)
{
    AUTO(str) struct str config = {0};
    uint32_t seed = 0, steps = 0;
    struct err err = {0};

    if (argc != 5 || !parse_u32(argv[1], 0, UINT32_MAX, &seed) || !parse_u32(argv[2], 1, UINT32_MAX, &steps))
        return 2;
    if (!file_read(argv[3], CONFIG_MAX, &config, &err)) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 2;
    }
    run(str_text(&config), argv[4], seed, steps);
    return 0;
}
