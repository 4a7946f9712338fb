#include "operator/kube/client/status.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"

/* What admission rejects is worth another try when its rules change, whatever status a webhook or a policy
 * gives it: a policy's is 422 unless it says otherwise, a webhook's 400. Every release words the messages of
 * admission webhooks and ValidatingAdmissionPolicies this way. */
static bool is_admissions(const char *message)
{
    return (strstr(message, "admission webhook \"") != NULL &&
            strstr(message, "denied the request") != NULL) ||
           (strstr(message, "ValidatingAdmissionPolicy '") != NULL &&
            strstr(message, "denied request") != NULL);
}

static enum err_kind kind_of(int http_status, const char *reason)
{
    switch (http_status) {
    case 401:
    case 403:
        return ERR_DENIED;
    case 404:
        return ERR_NOT_FOUND;
    case 408:
    case 504:
        return ERR_TIMEOUT;
    case 409:
        return str_eq(reason, "AlreadyExists") ? ERR_EXISTS : ERR_CONFLICT;
    case 410:
        return ERR_GONE;
    case 429:
    case 503:
        return ERR_BUSY;
    default:
        return http_status >= 400 && http_status < 500 ? ERR_INVALID : ERR_IO;
    }
}

static bool has_cause(const cJSON *body, const char *reason)
{
    JSON_EACH (cause, json_at(body, "details/causes"))
        if (str_eq(json_str(cause, "reason", ""), reason))
            return true;
    return false;
}

/* The API has no reason of its own for quota and pod security; every release words the messages this way
 * (admission plugins ResourceQuota and PodSecurity), and client libraries rely on it too. */
static enum kube_denial denial_of(int http_status, const cJSON *body, const char *message)
{
    if (http_status == 401)
        return KUBE_DENIAL_CREDENTIALS;
    if (http_status != 403)
        return is_admissions(message) ? KUBE_DENIAL_RULES : KUBE_DENIAL_NONE;
    if (has_cause(body, "NamespaceTerminating") || strstr(message, "because it is being terminated") != NULL)
        return KUBE_DENIAL_NAMESPACE_TERMINATING;
    if (strstr(message, "exceeded quota") != NULL)
        return KUBE_DENIAL_QUOTA;
    if (strstr(message, "violates PodSecurity") != NULL)
        return KUBE_DENIAL_POD_SECURITY;
    return KUBE_DENIAL_RULES;
}

/* The message nearly always names every cause already; one that it leaves out is appended. */
static void add_cause(struct str *out, const cJSON *cause)
{
    const char *field = json_str(cause, "field", "");
    const char *text = json_str(cause, "message", "");

    if (text[0] == '\0' || strstr(str_text(out), text) != NULL)
        return;
    str_adds(out, "; ");
    if (field[0] != '\0')
        str_addf(out, "%s: ", field);
    str_adds(out, text);
}

static char *status_message(int http_status, const cJSON *body)
{
    AUTO(str) struct str out = {.max = KUBE_MESSAGE_MAX_BYTES};
    const char *message = json_str(body, "message", "");
    size_t length = strlen(message);

    if (length > KUBE_MESSAGE_MAX_BYTES)
        length = KUBE_MESSAGE_MAX_BYTES;
    str_add(&out, message, length);
    if (length == 0 && http_status == 404) /* an object that is not there is answered with a message */
        str_adds(&out, "the API server does not have this resource (status 404); is its "
                       "CustomResourceDefinition installed?");
    else if (length == 0)
        str_addf(&out, "the API server responded with status %d and no message", http_status);
    JSON_EACH (cause, json_at(body, "details/causes"))
        add_cause(&out, cause);
    return visible_new(str_text(&out), VISIBLE_LINES);
}

static int64_t retry_after_of(const cJSON *body, int64_t retry_after_ms)
{
    int64_t seconds = json_i64(body, "details/retryAfterSeconds", 0);

    if (retry_after_ms >= 0)
        return retry_after_ms;
    return seconds > 0 && seconds < 3600 ? seconds * 1000 : -1;
}

void kube_status_read(int http_status, const cJSON *body, int64_t retry_after_ms, struct kube_status *ret)
{
    const char *reason = json_str(body, "reason", "");
    char *message = status_message(http_status, body);
    enum err_kind kind = kind_of(http_status, reason);

    if ((kind == ERR_INVALID || kind == ERR_IO) && is_admissions(message))
        kind = ERR_DENIED;
    *ret = (struct kube_status){
        .denial = denial_of(http_status, body, message),
        .reason = mem_strdup(reason),
        .message = message,
        .retry_after_ms = retry_after_of(body, retry_after_ms),
    };
    err_set_code(&ret->err, kind, http_status, "%s", message);
}

void kube_status_release(struct kube_status *status)
{
    mem_free(status->reason);
    mem_free(status->message);
    *status = (struct kube_status){0};
}

int kube_status_code(const cJSON *status)
{
    int64_t code = json_i64(status, "code", 0);
    const char *reason = json_str(status, "reason", "");

    if (code >= 400 && code <= 599)
        return (int)code;
    return str_eq(reason, "Expired") || str_eq(reason, "Gone") ? 410 : 500;
}
