#include <string.h>

#include "local/api/api.h"
#include "base/core/mem.h"

const struct api_kind api_kinds[] = {
    {"/api/v1", "pods", "Pod", true, true},
    {"/api/v1", "configmaps", "ConfigMap", false, false},
    {"/api/v1", "services", "Service", false, false},
    {"/apis/discovery.k8s.io/v1", "endpointslices", "EndpointSlice", false, false},
    {"/api/v1", "secrets", "Secret", false, false},
    {"/api/v1", "nodes", "Node", false, false},
    {"/api/v1", "namespaces", "Namespace", false, false},
    {"/apis/coordination.k8s.io/v1", "leases", "Lease", false, false},
    {"/apis/events.k8s.io/v1", "events", "Event", false, false},
    {"/apis/networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", false, false},
    {"/apis/graphcore.ai/v1alpha1", "ipujobs", "IPUJob", true, true},
    {"/apis/scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", false, false},
};
const size_t api_kind_count = COUNT_OF(api_kinds);

static const struct api_kind *find_kind(const char *path, const char *plural)
{
    for (size_t i = 0; i < api_kind_count; i++) {
        if (str_eq(api_kinds[i].path, path) && str_eq(api_kinds[i].plural, plural))
            return &api_kinds[i];
    }
    return NULL;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

static char *unescape(const char *text, size_t len)
{
    struct str out = {0};

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && i + 2 < len && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            str_addc(&out, (char)(hex(text[i + 1]) * 16 + hex(text[i + 2])));
            i += 2;
        } else {
            str_addc(&out, text[i]);
        }
    }
    return str_take(&out);
}

static void read_query(const char *at, struct strv *ret)
{
    while (*at) {
        size_t len = strcspn(at, "&");
        size_t key = strcspn(at, "=&");

        strv_push_take(ret, unescape(at, key));
        strv_push_take(ret, key < len ? unescape(at + key + 1, len - key - 1) : mem_strdup(""));
        at += len + (at[len] == '&');
    }
}

static void read_parts(const char *path, size_t len, struct strv *ret)
{
    for (size_t at = 0; at < len;) {
        size_t part = 0;

        while (at + part < len && path[at + part] != '/')
            part++;
        if (part)
            strv_push_take(ret, unescape(path + at, part));
        at += part + 1;
    }
}

/* "/api/v1" or "/apis/group/version", and how many parts that is. */
static char *read_group(const struct strv *parts, size_t *ret_used)
{
    bool is_core = parts->count > 2 && str_eq(parts->items[0], "api");

    if (!is_core && (parts->count < 4 || !str_eq(parts->items[0], "apis")))
        return NULL;
    *ret_used = is_core ? 2 : 3;
    return is_core ? mem_printf("/api/%s", parts->items[1])
                   : mem_printf("/apis/%s/%s", parts->items[1], parts->items[2]);
}

bool api_target_read(const char *url, struct api_target *ret)
{
    const char *host = strstr(url, "://");
    const char *path = host ? strchrnul(host + 3, '/') : url;
    size_t len = strcspn(path, "?"), at = 0;
    AUTO(strv) struct strv parts = {0};
    AUTO(mem) char *group = NULL;

    *ret = (struct api_target){0};
    read_parts(path, len, &parts);
    group = read_group(&parts, &at);
    if (!group)
        return false;
    if (at + 2 < parts.count && str_eq(parts.items[at], "namespaces")) {
        ret->ns = mem_strdup(parts.items[at + 1]);
        at += 2;
    }
    ret->kind = find_kind(group, parts.items[at]);
    ret->name = at + 1 < parts.count ? mem_strdup(parts.items[at + 1]) : NULL;
    ret->sub = at + 2 < parts.count ? mem_strdup(parts.items[at + 2]) : NULL;
    if (path[len] == '?')
        read_query(path + len + 1, &ret->query);
    if (ret->kind)
        return true;
    api_target_release(ret);
    return false;
}

void api_target_release(struct api_target *target)
{
    mem_free(target->ns);
    mem_free(target->name);
    mem_free(target->sub);
    strv_release(&target->query);
    *target = (struct api_target){0};
}

const char *api_target_query(const struct api_target *target, const char *key)
{
    for (size_t i = 0; i + 1 < target->query.count; i += 2) {
        if (str_eq(target->query.items[i], key))
            return target->query.items[i + 1];
    }
    return NULL;
}

bool api_selects(const char *selector, const cJSON *labels)
{
    size_t key = selector ? strcspn(selector, "=") : 0;
    const cJSON *label;
    AUTO(mem) char *name = NULL;

    if (!selector || !*selector)
        return true;
    name = mem_strndup(selector, key);
    label = cJSON_GetObjectItemCaseSensitive(labels, name);
    return label && (!selector[key] || str_eq(cJSON_GetStringValue(label), selector + key + 1));
}
