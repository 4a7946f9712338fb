#include "vipu/server/config/config.h"

#include "base/core/mem.h"
#include "vipu/server/config/config_users.h"
#include "vipu/server/config/faults_doc.h"
#include "vipu/server/config/faults_settings.h"
#include "vipu/server/config/settings.h"

#define MAX_DURATION_MS 600000u
#define MAX_REQUEST_BYTES (64u << 20)
#define MAX_UNREAD_BYTES (1u << 30)

static const struct setting server_settings[] = {
    SETTING("listen", AS_ADDRESS(struct server_config, listen),
            "address of the user API, [ADDRESS]:PORT; without ADDRESS on all addresses", .fallback = ":8090"),
    SETTING("admin-listen", AS_ADDRESS(struct server_config, admin_listen),
            "address of /metrics, /healthz and /faults, such as 127.0.0.1:2112 (default: off)"),
    SETTING("storage", AS_TEXT(struct server_config, storage), "SQLite file that stores the partitions",
            .fallback = "vipu-server.db"),
    SETTING("version", AS_TEXT(struct server_config, version), "version of the user API reported to clients",
            .fallback = "1.18.0"),
    SETTING("tls", SETTING_OTHER, "certificate and key; without them the user API is not encrypted"),
    SETTING("secure", AS_FLAG(struct server_config, secure),
            "secure mode: calls require a user ID and access key, and see only the user's allocations",
            .fallback = "false"),
    SETTING("users", SETTING_OTHER, "list of users for secure mode"),
    SETTING("limits", SETTING_OTHER, "limits for clients"),
    SETTING("create-ms", AS_NUMBER(struct server_config, times.create_ms, 0, MAX_DURATION_MS),
            "time to create a partition", .fallback = "200"),
    SETTING("remove-ms", AS_NUMBER(struct server_config, times.remove_ms, 0, MAX_DURATION_MS),
            "time to remove a partition", .fallback = "100"),
    SETTING("reset-ms", AS_NUMBER(struct server_config, times.reset_ms, 0, MAX_DURATION_MS),
            "time to reset a partition", .fallback = "150"),
    SETTING("auto-reset-ms", AS_NUMBER(struct server_config, times.auto_reset_ms, 0, MAX_DURATION_MS),
            "time from a failure to the automatic reset", .fallback = "1000"),
    SETTING("removed-ms", AS_NUMBER(struct server_config, times.removed_ms, 0, MAX_DURATION_MS),
            "time that a removed partition stays visible", .fallback = "0"),
    SETTING("auto-reset-retries", AS_NUMBER(struct server_config, max_auto_reset_retries, 0, 1000),
            "maximum number of automatic resets of a partition in error", .fallback = "3"),
    SETTING("clusters", SETTING_OTHER, "list of clusters (required)"),
    SETTING("faults", SETTING_OTHER, "fault injection, for tests"),
    {0},
};

static const struct setting tls_settings[] = {
    SETTING("certificate", AS_TEXT(struct server_config, tls_certificate),
            "PEM file with the server certificate, followed by its chain"),
    SETTING("key", AS_TEXT(struct server_config, tls_key),
            "PEM file with the private key of the certificate"),
    SETTING("client-ca", AS_TEXT(struct server_config, tls_client_ca),
            "PEM file with the CA certificates of client certificates; default: none are accepted"),
    {0},
};

static const struct setting limit_settings[] = {
    SETTING("request-bytes", AS_NUMBER(struct server_config, limits.request_bytes, 1024, MAX_REQUEST_BYTES),
            "maximum size of a request", .fallback = "4194304"),
    SETTING("connections", AS_NUMBER(struct server_config, limits.connections, 1, 65536),
            "maximum number of connections; at the limit, one that is not in use is closed for a new one, "
            "those of the client with the most first",
            .fallback = "256"),
    SETTING("calls", AS_NUMBER(struct server_config, limits.calls, 1, 65536),
            "maximum number of calls in flight per connection", .fallback = "1000"),
    SETTING("unread-bytes", AS_NUMBER(struct server_config, limits.unread_bytes, 65536, MAX_UNREAD_BYTES),
            "unread response bytes from which on a connection gets no further response",
            .fallback = "16777216"),
    SETTING("buffered-bytes",
            AS_NUMBER(struct server_config, limits.buffered_bytes, 1u << 20, MAX_UNREAD_BYTES),
            "bytes of unfinished requests and unread responses of all clients from which on connections are "
            "closed, those that do not read first",
            .fallback = "33554432"),
    SETTING("stall-ms", AS_NUMBER(struct server_config, limits.stall_ms, 100, MAX_DURATION_MS),
            "time that a client may leave a request unfinished, or a response unread", .fallback = "10000"),
    {0},
};

static const struct setting_group groups[] = {
    {"", server_settings},
    {"tls.", tls_settings},
    {"users[].", config_user_settings},
    {"limits.", limit_settings},
    {"clusters[].", config_cluster_settings},
    {"clusters[].allocations[].", config_allocation_settings},
    {"faults.", faults_settings},
    {"faults.quirks.", fault_quirk_settings},
    {"faults.calls[].", fault_call_settings},
    {"faults.partitions[].", fault_partition_settings},
    {"faults.hardware[].", fault_hardware_settings},
    {0},
};

static void take_tls(struct settings_reader *r, struct server_config *config)
{
    const cJSON *node = json_at(r->doc.root, "tls");

    if (!node || !settings_read(r, node, tls_settings, config))
        return;
    config->tls_line = yaml_line(&r->doc, node);
    if (!json_at(node, "certificate") || !json_at(node, "key"))
        settings_add_error(r, node, "tls requires both certificate and key");
}

static void check_certificates(struct settings_reader *r, const struct server_config *config)
{
    for (size_t i = 0; i < config->users.count && !config->tls_client_ca; i++)
        if (config->users.items[i].key.is_certificate)
            settings_add_error(r, json_at(r->doc.root, "users"),
                               "a user with certificate requires tls.client-ca");
}

static void take_all(struct settings_reader *r, struct server_config *config)
{
    const cJSON *limits = json_at(r->doc.root, "limits");

    (void)settings_read(r, r->doc.root, server_settings, config);
    take_tls(r, config);
    if (limits)
        (void)settings_read(r, limits, limit_settings, config);
    config_read_clusters(r, &config->clusters);
    config_read_users(r, &config->clusters, &config->users);
    check_certificates(r, config);
    if (config->secure && config->users.count == 0)
        settings_add_error(r, json_at(r->doc.root, "secure"), "secure mode requires at least one user");
    faults_read_node(r, json_at(r->doc.root, "faults"), &config->clusters, &config->faults);
}

bool server_config_parse(struct slice text, const char *name, struct server_config *ret,
                         struct strv *problems)
{
    struct settings_reader r = {.name = name, .problems = problems};
    struct server_config config = {0};
    size_t before = problems->count;
    struct err err;

    if (!yaml_parse(text, name, &r.doc, &err)) {
        strv_push(problems, err.msg);
        *ret = config;
        return false;
    }
    settings_defaults(server_settings, &config);
    settings_defaults(limit_settings, &config);
    if (cJSON_IsObject(r.doc.root))
        take_all(&r, &config);
    else
        strv_pushf(problems, "%s: line 1: expected settings, such as \"clusters:\"", name);
    yaml_release(&r.doc);
    *ret = config;
    return problems->count == before;
}

struct server_config server_config_default(void)
{
    struct server_config config = {0};
    struct strv problems = {0};

    server_config_parse(SLICE_LIT("{listen: \"127.0.0.1:8090\", clusters: [{id: cl1}]}"), "default", &config,
                        &problems);
    return config;
}

static void keep_text(char **slot, const char *running, const char *key, struct strv *changed)
{
    if (str_eq(*slot, running))
        return;
    strv_push(changed, key);
    mem_set_str(slot, running);
}

void server_config_keep_fixed(struct server_config *config, const struct server_config *running,
                              struct strv *changed)
{
    const struct server_limits *a = &config->limits, *b = &running->limits;

    keep_text(&config->listen, running->listen, "listen", changed);
    keep_text(&config->admin_listen, running->admin_listen, "admin-listen", changed);
    keep_text(&config->storage, running->storage, "storage", changed);
    if (a->request_bytes != b->request_bytes || a->connections != b->connections || a->calls != b->calls ||
        a->unread_bytes != b->unread_bytes || a->buffered_bytes != b->buffered_bytes ||
        a->stall_ms != b->stall_ms)
        strv_push(changed, "limits");
    config->limits = running->limits;
}

void server_config_release(struct server_config *config)
{
    settings_release(server_settings, config);
    settings_release(tls_settings, config);
    vipu_clusters_release(&config->clusters);
    users_release(&config->users);
    faults_release(&config->faults);
    *config = (struct server_config){0};
}

void server_config_help(struct str *out)
{
    settings_help(groups, out);
}
