#include "operator/admin/create_vipu_keys.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "base/io/loop.h"
#include "operator/admin/sync_client.h"
#include "operator/kube/auth/base64.h"
#include "operator/pool/controller_secret.h"
#include "operator/serve/certificates/certificate_secret.h"

enum { KEY_BYTES = 32 };

struct settings {
    struct sync_client_settings client;
    char *hosts;
};

#define AT(field) offsetof(struct settings, field)

static const struct opt ROWS[] = {
    OPT_VALUE("hosts", OPT_STR, AT(hosts), "NAMES",
              "Comma-separated host names and addresses of the V-IPU controller", .fallback = "localhost"),
    SYNC_CLIENT_NAMESPACE_ROW,
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator create-vipu-keys",
    .usage = "ipu-operator create-vipu-keys SECRET [options]",
    .about = "Creates the access key, the secret of partition keys and the certificate of the chart's own "
             "V-IPU controller in an existing Secret, unless it has them. Exits with status 0 on success.",
    .rows = ROWS,
};

static void put(cJSON *data, const char *key, struct slice bytes)
{
    AUTO(str) struct str text = {0};

    base64_encode(bytes, &text);
    json_put_str(data, key, str_text(&text));
}

static void put_random(cJSON *data, const char *key)
{
    unsigned char bytes[KEY_BYTES];
    AUTO(str) struct str text = {0};

    loop_random(bytes, sizeof(bytes));
    str_add_hex(&text, bytes, sizeof(bytes));
    put(data, key, str_slice(&text));
}

static cJSON *build(const char *name, const struct certificate_secret *old, const char *hosts)
{
    AUTO(strv) struct strv names = {0};
    AUTO(certificate) struct certificate certificate = {0};
    cJSON *body, *data;

    strv_split(hosts, ',', &names);
    certificate_make_lasting(&names, loop_unix_micros() / 1000000, &certificate);
    body = certificate_secret_body(name, old, &certificate);
    data = json_at_mut(body, "data");
    put(data, ACCESS_USER_ID, slice_of("operator"));
    put_random(data, ACCESS_KEY);
    put_random(data, ACCESS_PARTITION_SECRET);
    return body;
}

static bool fill(struct sync_client *client, const struct settings *settings, const cJSON *found,
                 struct err *err)
{
    const char *ns = sync_client_ns(&settings->client);
    struct certificate_secret old = {.resource_version =
                                         mem_strdup(json_str(found, "metadata/resourceVersion", ""))};
    AUTO(json) cJSON *body = build(settings->client.access.word, &old, settings->hosts);
    AUTO(json)
    cJSON *done = sync_kube_request(client,
                                    &(struct kube_request){.method = "PATCH",
                                                           .resource = &KUBE_SECRETS,
                                                           .ns = ns,
                                                           .name = settings->client.access.word,
                                                           .body = body,
                                                           .content_type = KUBE_MERGE_PATCH},
                                    err);

    mem_free(old.resource_version);
    if (done)
        (void)printf("Created the keys of the V-IPU controller in Secret %s.\n",
                     settings->client.access.word);
    return done != NULL;
}

/* Another replica that was faster has filled it. */
static bool create_keys(struct sync_client *client, const void *given, struct err *err)
{
    const struct settings *settings = given;
    AUTO(json)
    cJSON *found = sync_kube_request(client,
                                     &(struct kube_request){.method = "GET",
                                                            .resource = &KUBE_SECRETS,
                                                            .ns = sync_client_ns(&settings->client),
                                                            .name = settings->client.access.word},
                                     err);

    if (!found)
        return err_wrap(err, "Secret %s", settings->client.access.word);
    if (*json_str(json_at(found, "data"), ACCESS_KEY, "")) {
        (void)printf("Secret %s has the keys of the V-IPU controller.\n", settings->client.access.word);
        return true;
    }
    return fill(client, settings, found, err) || err->kind == ERR_CONFLICT ||
           err_wrap(err, "Secret %s", settings->client.access.word);
}

int create_vipu_keys_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {.client.access.noun = "name of the Secret"};

    return sync_client_main(&SPEC, &settings.client, create_keys, argc, argv, env);
}
