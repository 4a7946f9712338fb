/* vipu-script-on-server SEED STEPS PORT: the script against a vipu-server on this machine. Half way it says
 * so and waits for a line. */
#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "script/vipu_script.h"
#include "script/waiting.h"
#include "vipu/client/client.h"

static void on_half(void *ctx)
{
    (void)ctx;
    puts("half way");
    (void)fflush(stdout);
    (void)getchar();
}

int main(int argc, char **argv)
{
    struct vipu_client_options options = {.endpoint = {.host = "127.0.0.1"}};
    struct waiting waiting = {0};
    uint32_t seed = 0, steps = 0;
    struct vipu_client *client;

    if (argc != 4 || !parse_u32(argv[1], 0, UINT32_MAX, &seed) ||
        !parse_u32(argv[2], 1, UINT32_MAX, &steps) || !parse_u32(argv[3], 1, 65535, &options.endpoint.port))
        return 2;
    waiting.loop = loop_new();
    client = vipu_client_new(waiting.loop, &options);
    vipu_script_run(&(struct vipu_script_options){.client = client,
                                                  .seed = seed,
                                                  .steps = steps,
                                                  .wait = wait_on_loop,
                                                  .on_half = on_half,
                                                  .ctx = &waiting});
    vipu_client_free(client);
    loop_free(waiting.loop);
    return 0;
}
