/* script-on-cluster SEED STEPS KUBECONFIG NAMESPACE: the script against a real API server. */
#include <stdio.h>

#include "base/core/mem.h"
#include "operator/kube/client.h"
#include "operator/kube/identity.h"
#include "script/script.h"
#include "script/waiting.h"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

int main(int argc, char **argv)
{
    struct identity identity = {0};
    struct waiting waiting = {0};
    uint32_t seed = 0, steps = 0;
    struct err err = {0};
    struct kube *kube;

    if (argc != 5 || !parse_u32(argv[1], 0, UINT32_MAX, &seed) || !parse_u32(argv[2], 1, UINT32_MAX, &steps))
        return 2;
    if (!identity_load(&(struct identity_options){.kubeconfig = argv[3], .env = no_env}, &identity, &err)) {
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
    identity_release(&identity);
    return kube ? 0 : 2;
}
