#include "local/run/embedded_controller.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/loop.h"
#include "local/run/controller_credentials.h"
#include "local/run/run_dir.h"
#include "operator/pool/controller_secret.h"
#include "vipu/model/cluster.h"
#include "vipu/server/server.h"

#define USER "operator"
#define KEY_BYTES 32

/* Partitions are there at once: nothing is learned from waiting for simulated hardware. */
static const char CONFIG[] = "listen: 127.0.0.1:0\n"
                             "storage: %s/vipu.db\n"
                             "create-ms: 0\n"
                             "remove-ms: 0\n"
                             "reset-ms: 0\n"
                             "limits: {connections: 4096}\n"
                             "clusters: [{id: cl1, ipulink-domains: %u, agents: %u}]\n"
                             "secure: true\n"
                             "users: [{id: " USER ", access-key: \"%s\", allocations: [cl1]}]\n";

static char *make_key(void)
{
    unsigned char bytes[KEY_BYTES];
    struct str text = {0};

    loop_random(bytes, sizeof(bytes));
    str_add_hex(&text, bytes, sizeof(bytes));
    return str_take(&text);
}

/* As the operator reads it. */
static bool write_secret(const struct run_dir *dir, const char *key, struct err *err)
{
    AUTO(mem) char *partition_secret = make_key();
    const struct {
        const char *name, *value;
    } rows[] = {{ACCESS_USER_ID, USER}, {ACCESS_KEY, key}, {ACCESS_PARTITION_SECRET, partition_secret}};

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!controller_credentials_put(dir, rows[i].name, slice_of(rows[i].value), err))
            return false;
    return true;
}

struct server *embedded_controller_start(struct loop *loop, uint32_t ipus, const struct run_dir *dir,
                                         struct err *err)
{
    uint32_t domains = (ipus + VIPU_ILD_IPUS - 1) / VIPU_ILD_IPUS;
    AUTO(mem) char *key = make_key();
    AUTO(mem) char *text = mem_printf(CONFIG, dir->path, domains, ipus / VIPU_AGENT_IPUS, key);
    static const struct setup_source source = {0}; /* the configuration is never read again */
    AUTO(strv) struct strv problems = {0};
    struct setup setup = {0};

    if (!write_secret(dir, key, err))
        return NULL;
    if (!server_config_parse(slice_of(text), "the simulated controller", &setup.config, &problems)) {
        err_set(err, ERR_INVALID, "%s", problems.items[0]);
        setup_release(&setup);
        return NULL;
    }
    return server_start(loop, &source, &setup, err);
}
