/* script-on-cluster SEED STEPS KUBECONFIG NAMESPACE: the script against a real API server. */
#include <stdio.h>

#include "base/core/mem.h"
#include "operator/kube/client/client.h"
#include "operator/kube/auth/config_loader.h"
#include "script/script.h"
#include "script/waiting.h"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

int main(int argc, char **argv)
{
    struct client_config identity = {0};
    struct waiting waiting = {0};
    uint32_t seed = 0, steps = 0;
    struct err err = {0};
    struct kube *kube;

    if (argc != 5 || !parse_u32(argv[1], 0, UINT32_MAX, &seed) || !parse_u32(argv[2], 1, UINT32_MAX, &steps))
        return 2;
    if (!client_config_load(&(struct client_config_options){.kubeconfig = argv[3], .env = no_env}, &identity,
                            &err)) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 2;
    }
    waiting.loop = loop_new();
    kube = kube_new(waiting.loop, &identity, &(struct kube_options){.program = "script"}, &err);
    if (kube) {
        script_run(&(struct script_options){.kube = kube,
                                            .ns = argv[4],
                                            .seed = seed,
                                            .steps = steps,
                                            .wait = wait_on_loop,
                                            .ctx = &waiting});
        kube_free(kube);
    }
    loop_free(waiting.loop);
    client_config_release(&identity);
    return kube ? 0 : 2;
}
