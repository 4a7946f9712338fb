#include "vipu/server/config/setup.h"

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/server/config/access_keys.h"
#include "vipu/wire/transport/tls_context.h"

static bool read_file(const char *path, struct server_config *ret, struct strv *problems)
{
    AUTO(str) struct str text = {0};
    struct err err;

    if (!path) {
        *ret = server_config_default();
        return true;
    }
    if (!file_read(path, CONFIG_MAX_BYTES, &text, &err)) {
        strv_push(problems, err.msg);
        return false;
    }
    return server_config_parse(str_slice(&text), path, ret, problems);
}

static void override(struct server_config *config, const struct setup_source *source, struct strv *problems)
{
    if (source->listen)
        mem_set_str(&config->listen, source->listen);
    if (source->storage)
        mem_set_str(&config->storage, source->storage);
    if (source->secure && config->users.count == 0)
        strv_push(problems, "--secure requires at least one user in the configuration");
    config->secure = config->secure || source->secure;
}

static struct tls_context *load_tls(const struct server_config *config, const char *path,
                                    struct strv *problems)
{
    AUTO(strv) struct strv found = {0};
    struct tls_context *tls;

    if (!config->tls_certificate || !config->tls_key)
        return NULL;
    tls = tls_context_server(&(struct tls_files){.certificate = config->tls_certificate,
                                                 .key = config->tls_key,
                                                 .ca = config->tls_client_ca},
                             &found);
    for (size_t i = 0; i < found.count; i++)
        strv_pushf(problems, "%s: line %u: %s", path, config->tls_line, found.items[i]);
    return tls;
}

bool setup_read(const struct setup_source *source, struct setup *ret, struct strv *problems)
{
    size_t before = problems->count;
    struct setup setup = {0};

    if (read_file(source->path, &setup.config, problems))
        override(&setup.config, source, problems);
    (void)access_keys_load(&setup.config.users, source->path, problems);
    setup.tls = load_tls(&setup.config, source->path, problems);
    if (problems->count == before) {
        *ret = setup;
        return true;
    }
    setup_release(&setup);
    return false;
}

void setup_release(struct setup *setup)
{
    tls_context_free(setup->tls);
    server_config_release(&setup->config);
    *setup = (struct setup){0};
}
