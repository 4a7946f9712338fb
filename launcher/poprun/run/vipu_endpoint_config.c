#include "launcher/poprun/run/vipu_endpoint_config.h"

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/cli/args/hcl.h"
#include "vipu/cli/args/options.h"

static const char *text_of(const char *(*env)(const char *), const char *name)
{
    const char *text = env(name);

    return text && *text ? text : NULL;
}

/* As in vipu: a named file must exist, the default one may be missing. */
static bool read_settings(const char *(*env)(const char *), struct options *ret, struct err *err)
{
    static char name[] = "vipu";
    char *argv[] = {name, NULL};
    const char *named = text_of(env, "VIPU_CLI_CONFIG"), *path = named ? named : OPTIONS_DEFAULT_FILE;
    AUTO(strv) struct strv words = {0}, problems = {0};
    AUTO(str) struct str file = {0};
    bool has_file = file_read(path, HCL_MAX_BYTES, &file, err);

    if (!has_file && (named || err->kind != ERR_NOT_FOUND))
        return err_wrap(err, "settings of vipu");
    (void)options_parse(1, argv, env, has_file ? &file : NULL, path, ret, &words, &problems);
    if (problems.count)
        return err_set(err, ERR_INVALID, "settings of vipu: %s", problems.items[0]);
    return true;
}

static uint32_t port_of(const struct poprun_options *options, const char *(*env)(const char *),
                        const struct options *known, bool host_is_given)
{
    const char *text = text_of(env, "IPUOF_VIPU_API_PORT");
    uint32_t port;

    if (host_is_given || poprun_is_given(options, "vipu-server-port"))
        return options->vipu_server_port;
    return text && parse_u32(text, 1, 65535, &port) ? port : known->api_port;
}

bool vipu_endpoint_find(const struct poprun_options *options, const char *(*env)(const char *),
                        struct access *ret, struct err *err)
{
    const char *asked = options->vipu_server_host, *job = text_of(env, "IPUOF_VIPU_API_HOST");
    bool is_given = asked && *asked;
    struct options known = {0};
    bool good = read_settings(env, &known, err);

    if (good) {
        const char *host = is_given ? asked : job ? job : known.api_host;

        *ret = (struct access){.host = mem_strdup(host), .is_given = is_given};
        ret->user_id = TAKE(known.api_user_id);
        ret->access_key = TAKE(known.api_access_key);
        ret->ca_file = TAKE(known.api_ca_cert);
        ret->cert_file = TAKE(known.api_client_cert);
        ret->key_file = TAKE(known.api_client_key);
        ret->endpoint = (struct vipu_endpoint){.host = ret->host,
                                               .port = port_of(options, env, &known, is_given),
                                               .user_id = ret->user_id,
                                               .access_key = ret->access_key,
                                               .tls = known.api_tls,
                                               .ca_file = ret->ca_file,
                                               .cert_file = ret->cert_file,
                                               .key_file = ret->key_file};
    }
    opts_release(&options_spec, &known);
    return good;
}

void vipu_endpoint_config_release(struct access *access)
{
    mem_free(access->host);
    mem_free(access->user_id);
    mem_free(access->access_key);
    mem_free(access->ca_file);
    mem_free(access->cert_file);
    mem_free(access->key_file);
    *access = (struct access){0};
}
