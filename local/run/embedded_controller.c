#include "local/run/embedded_controller.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/server/server.h"

/* Partitions are there at once: nothing is learned from waiting for simulated hardware. */
static const char CONFIG[] = "listen: 127.0.0.1:0\n"
                             "storage: %s/vipu.db\n"
                             "create-ms: 0\n"
                             "remove-ms: 0\n"
                             "reset-ms: 0\n"
                             "limits: {connections: 4096}\n"
                             "clusters: [{id: cl1, ipulink-domains: %u, agents: %u}]\n";

struct server *embedded_controller_start(struct loop *loop, uint32_t ipus, const char *dir, struct err *err)
{
    uint32_t domains = (ipus + VIPU_ILD_IPUS - 1) / VIPU_ILD_IPUS;
    AUTO(mem) char *text = mem_printf(CONFIG, dir, domains, ipus / VIPU_AGENT_IPUS);
    static const struct setup_source source = {0}; /* the configuration is never read again */
    AUTO(strv) struct strv problems = {0};
    struct setup setup = {0};

    if (!server_config_parse(slice_of(text), "the simulated controller", &setup.config, &problems)) {
        err_set(err, ERR_INVALID, "%s", problems.items[0]);
        setup_release(&setup);
        return NULL;
    }
    return server_start(loop, &source, &setup, err);
}
