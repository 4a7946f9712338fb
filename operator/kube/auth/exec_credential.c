#include "operator/kube/auth/exec_credential.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"

#define KIND "ExecCredential"

bool exec_credential_knows_version(const char *api_version)
{
    return str_eq(api_version, "client.authentication.k8s.io/v1") ||
           str_eq(api_version, "client.authentication.k8s.io/v1beta1");
}

char *exec_credential_request(const char *api_version, const cJSON *cluster, bool is_interactive)
{
    AUTO(json) cJSON *request = json_object();
    cJSON *spec;

    json_put_str(request, "kind", KIND);
    json_put_str(request, "apiVersion", api_version);
    spec = json_put_object(request, "spec");
    json_put_bool(spec, "interactive", is_interactive);
    if (cluster)
        json_put_take(spec, "cluster", json_dup(cluster));
    return json_print(request);
}

static int64_t expires_s(const cJSON *status)
{
    const char *text = json_str(status, "expirationTimestamp", NULL);
    int64_t at_s = 0;

    if (!text)
        return CREDENTIAL_NEVER_EXPIRES;
    return timefmt_parse_rfc3339(text, &at_s) ? at_s : 0;
}

void exec_credential_release(struct exec_credential *exec_credential)
{
    mem_free_secret(exec_credential->token);
    mem_free_secret(exec_credential->key_pem);
    mem_free(exec_credential->cert_pem);
    *exec_credential = (struct exec_credential){0};
}

static bool check(const cJSON *answer, const char *api_version, struct err *err)
{
    const cJSON *status = json_at(answer, "status");
    const char *token = json_str(status, "token", "");
    bool has_cert = *json_str(status, "clientCertificateData", ""),
         has_key = *json_str(status, "clientKeyData", "");

    if (!str_eq(json_str(answer, "kind", ""), KIND) ||
        !str_eq(json_str(answer, "apiVersion", ""), api_version))
        return err_set(err, ERR_INVALID, "expected an " KIND " of %s", api_version);
    if (has_cert != has_key)
        return err_set(err, ERR_INVALID,
                       "returned a client certificate without its key, or a key without its certificate");
    if (!*token && !has_cert)
        return err_set(err, ERR_INVALID, "returned neither a token nor a client certificate");
    if (strpbrk(token, " \t\r\n"))
        return err_set(err, ERR_INVALID, "returned a token that contains whitespace");
    return true;
}

/* An empty text counts as absent. Owned by the caller. */
static char *take(const cJSON *status, const char *key)
{
    const char *text = json_str(status, key, "");

    return *text ? mem_strdup(text) : NULL;
}

bool exec_credential_parse(struct slice text, const char *api_version, struct exec_credential *ret,
                           struct err *err)
{
    struct err why = {0};
    AUTO(json) cJSON *answer = json_parse(text, &why);
    const cJSON *status = json_at(answer, "status");

    if (!answer) /* the parser's message may quote the token */
        return err_set(err, ERR_INVALID, "output is not valid JSON");
    if (!check(answer, api_version, err))
        return false;
    *ret = (struct exec_credential){.token = take(status, "token"),
                                    .cert_pem = take(status, "clientCertificateData"),
                                    .key_pem = take(status, "clientKeyData"),
                                    .expires_s = expires_s(status)};
    return true;
}
