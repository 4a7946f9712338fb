#include "operator/pool/config.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/doc/yaml.h"
#include "operator/pool/claims.h"

#define DEFAULT_PORT 8090
#define SECRET_NAME_MAX 253
#define SECRET_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-."
/* Of a node label's value. */
#define LABEL_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

static void add(struct pool_config *config, char *host, uint16_t port, char *label, char *value)
{
    struct vipu_controller_config *item;

    config->items = mem_grow(config->items, config->count + 1, sizeof(*config->items));
    item = &config->items[config->count++];
    *item =
        (struct vipu_controller_config){.host = host, .port = port, .node_label = label, .node_value = value};
    item->name = mem_printf(strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
}

static bool is_known(const struct pool_config *config, const char *host, uint16_t port)
{
    for (size_t i = 0; i < config->count; i++) {
        if (config->items[i].port == port && str_eq(config->items[i].host, host))
            return true;
    }
    return false;
}

/* "label=value" at *at; false when it is neither empty nor that. */
static bool take_selector(const char *at, char **label, char **value)
{
    const char *equals = strchr(at, '=');

    if (!*at)
        return true;
    if (!equals || equals == at || equals[1 + strspn(equals + 1, LABEL_CHARACTERS)])
        return false;
    *label = mem_strndup(at, (size_t)(equals - at));
    *value = mem_strdup(equals + 1);
    return true;
}

/* The host, and what comes after the ':' behind it; NULL when the text is no entry. */
static char *take_host(const char *entry, const char **rest)
{
    const char *end;

    if (entry[0] == '[') {
        end = strchr(entry, ']');
        if (!end || end == entry + 1 || (end[1] && end[1] != ':'))
            return NULL;
        *rest = end[1] ? end + 2 : end + 1;
        return mem_strndup(entry + 1, (size_t)(end - entry) - 1);
    }
    end = strchrnul(entry, ':');
    if (end == entry)
        return NULL;
    *rest = *end ? end + 1 : end;
    return mem_strndup(entry, (size_t)(end - entry));
}

/* A selector with a comma in it looks like two entries, of which the second is no host. */
static bool is_host(const char *text)
{
    return text && !text[strspn(text, LABEL_CHARACTERS ":%")];
}

static bool add_entry(struct pool_config *config, const char *entry, char **ret_problem)
{
    const char *rest = NULL;
    AUTO(mem) char *host = take_host(entry, &rest);
    AUTO(mem) char *label = NULL;
    AUTO(mem) char *value = NULL;
    AUTO(mem) char *port_text = NULL;
    uint32_t port = DEFAULT_PORT;
    const char *selector;

    if (!is_host(host)) {
        *ret_problem = mem_printf("invalid V-IPU controller \"%s\": expected host:port:label=value", entry);
        return false;
    }
    selector = strchrnul(rest, ':');
    port_text = mem_strndup(rest, (size_t)(selector - rest));
    if (*port_text && !parse_u32(port_text, 1, 65535, &port)) {
        *ret_problem =
            mem_printf("\"%s\": the port must be a number from 1 to 65535, got \"%s\"", entry, port_text);
        return false;
    }
    if (*selector && !take_selector(selector + 1, &label, &value)) {
        *ret_problem =
            mem_printf("\"%s\": the node selector must be label=value, got \"%s\"", entry, selector + 1);
        return false;
    }
    if (is_known(config, host, (uint16_t)port)) {
        *ret_problem = mem_printf("\"%s\": V-IPU controller %s port %u is listed twice", entry, host, port);
        return false;
    }
    add(config, TAKE(host), (uint16_t)port, TAKE(label), TAKE(value));
    return true;
}

static bool add_one(struct pool_config *config, const char *entry, const char *where, struct strv *problems)
{
    AUTO(mem) char *problem = NULL;

    if (add_entry(config, entry, &problem))
        return true;
    strv_pushf(problems, "%s%s", where, problem);
    return false;
}

static void add_text(struct pool_config *config, const char *text, const char *where, struct strv *problems)
{
    static const char blanks[] = " \t\r\n";

    while (*text) {
        size_t len = strcspn(text, ","), lead = strspn(text, blanks), end = len;

        while (end > lead && strchr(blanks, text[end - 1]))
            end--;
        if (end > lead) {
            AUTO(mem) char *entry = mem_strndup(text + lead, end - lead);

            (void)add_one(config, entry, where, problems);
        }
        text += len + (text[len] == ',');
    }
}

void pool_config_add_text(struct pool_config *config, const char *text, struct strv *problems)
{
    add_text(config, text, "", problems);
}

/* A member's text; numbers are as good. "" when it is absent, NULL when it is something else. */
static char *member_text(const cJSON *item, const char *key)
{
    const cJSON *value = json_at(item, key);

    if (!value || cJSON_IsNull(value))
        return mem_strdup("");
    if (cJSON_IsString(value))
        return mem_strdup(value->valuestring);
    return cJSON_IsNumber(value) ? json_print(value) : NULL;
}

/* A name of Kubernetes, which is a folder's too. */
static bool is_secret_name(const char *name)
{
    size_t len = strlen(name);

    return len && len <= SECRET_NAME_MAX && name[strspn(name, SECRET_CHARACTERS)] == '\0' &&
           !strchr("-.", name[0]) && !strchr("-.", name[len - 1]);
}

/* The name, owned by the caller; NULL if none is given, or with a problem. */
static char *take_secret(const cJSON *item, const char *host, const char *where, struct strv *problems)
{
    const cJSON *reference = json_at(item, "secretRef");
    const char *name = json_str(reference, "name", "");

    if (!reference || cJSON_IsNull(reference))
        return NULL;
    if (cJSON_IsObject(reference) && cJSON_GetArraySize(reference) == 1 && is_secret_name(name))
        return mem_strdup(name);
    strv_pushf(problems, "%ssecretRef of V-IPU controller %s must be {name: NAME}, with the name of a Secret",
               where, host);
    return NULL;
}

/* A key is not sent in cleartext unless that is configured. */
static bool take_tls(const cJSON *item, bool has_secret, const char *host, const char *where,
                     struct strv *problems)
{
    const cJSON *value = json_at(item, "tls");

    if (!value || cJSON_IsNull(value))
        return has_secret;
    if (!cJSON_IsBool(value))
        strv_pushf(problems, "%stls of V-IPU controller %s must be true or false", where, host);
    return cJSON_IsTrue(value);
}

/* False: the queue's own policy, or with a problem. */
static bool take_policy(const cJSON *item, const char *host, const char *where, struct strv *problems,
                        enum forecast_policy *ret)
{
    const cJSON *value = json_at(item, "policy");

    if (!value || cJSON_IsNull(value))
        return false;
    for (size_t i = 0; CLAIMS_POLICIES[i]; i++) {
        if (str_eq(cJSON_GetStringValue(value), CLAIMS_POLICIES[i])) {
            *ret = (enum forecast_policy)i;
            return true;
        }
    }
    strv_pushf(problems, "%spolicy of V-IPU controller %s must be strict, bounded or predicted", where, host);
    return false;
}

/* One {host, port, selector} of the list is the same entry in other clothes; the rest only a list can say. */
static void add_item(struct pool_config *config, const cJSON *item, const char *where, struct strv *problems)
{
    AUTO(mem) char *host = member_text(item, "host");
    AUTO(mem) char *port = member_text(item, "port");
    AUTO(mem) char *selector = member_text(item, "selector");
    AUTO(mem) char *entry = NULL;
    AUTO(mem) char *secret = NULL;
    enum forecast_policy policy = FORECAST_STRICT;
    bool tls, has_policy;

    if (!host || !*host) {
        strv_pushf(problems, "%shost is required for a V-IPU controller", where);
        return;
    }
    if (!port || !selector) {
        strv_pushf(problems, "%s%s of V-IPU controller %s must be a single value", where,
                   port ? "selector" : "port", host);
        return;
    }
    secret = take_secret(item, host, where, problems);
    tls = take_tls(item, secret != NULL, host, where, problems);
    has_policy = take_policy(item, host, where, problems, &policy);
    entry = mem_printf(strchr(host, ':') ? "[%s]:%s:%s" : "%s:%s:%s", host, port, selector);
    if (!add_one(config, entry, where, problems))
        return;
    config->items[config->count - 1].secret = TAKE(secret);
    config->items[config->count - 1].tls = tls;
    config->items[config->count - 1].has_policy = has_policy;
    config->items[config->count - 1].policy = policy;
}

static void check_keys(const struct yaml_doc *doc, const cJSON *object, const char *const *known,
                       const char *name, struct strv *problems)
{
    JSON_EACH (member, object) {
        const char *const *k = known;

        while (*k && !str_eq(*k, json_key(member)))
            k++;
        if (!*k)
            strv_pushf(problems, "%s: line %u: unknown key \"%s\"", name, yaml_line(doc, member),
                       json_key(member));
    }
}

static void add_list(struct pool_config *config, const struct yaml_doc *doc, const cJSON *list,
                     const char *name, struct strv *problems)
{
    static const char *const keys[] = {"host", "port", "selector", "secretRef", "tls", "policy", NULL};

    JSON_EACH (item, list) {
        AUTO(mem) char *where = mem_printf("%s: line %u: ", name, yaml_line(doc, item));

        if (cJSON_IsString(item)) {
            (void)add_one(config, item->valuestring, where, problems);
        } else if (cJSON_IsObject(item)) {
            check_keys(doc, item, keys, name, problems);
            add_item(config, item, where, problems);
        } else {
            strv_pushf(
                problems,
                "%sV-IPU controller: expected a string or {host, port, selector, secretRef, tls, policy}",
                where);
        }
    }
}

/* They quote what they found, and that may be anything. */
static void keep_to_one_line(struct strv *problems, size_t first)
{
    for (size_t i = first; i < problems->count; i++) {
        for (char *p = problems->items[i]; *p; p++) {
            if ((unsigned char)*p < ' ')
                *p = ' ';
        }
    }
}

static void add_yaml(struct pool_config *config, struct slice yaml, const char *name, struct strv *problems)
{
    static const char *const keys[] = {"vipuControllers", NULL};
    AUTO(yaml) struct yaml_doc doc = {0};
    struct err err = {0};
    const cJSON *value;

    if (!yaml_parse(yaml, name, &doc, &err)) {
        strv_push(problems, err.msg);
        return;
    }
    /* The vendor's ConfigMap has the text alone, without a key. */
    value = doc.root;
    if (cJSON_IsObject(doc.root)) {
        check_keys(&doc, doc.root, keys, name, problems);
        value = json_at(doc.root, "vipuControllers");
    }
    if (cJSON_IsString(value)) {
        AUTO(mem) char *where = mem_printf("%s: line %u: ", name, yaml_line(&doc, value));

        add_text(config, value->valuestring, where, problems);
    } else if (cJSON_IsArray(value)) {
        add_list(config, &doc, value, name, problems);
    } else if (value && !cJSON_IsNull(value)) {
        strv_pushf(problems, "%s: line %u: vipuControllers must be a string or a list", name,
                   yaml_line(&doc, value));
    }
}

void pool_config_add_yaml(struct pool_config *config, struct slice yaml, const char *name,
                          struct strv *problems)
{
    size_t before = problems->count;

    add_yaml(config, yaml, name, problems);
    keep_to_one_line(problems, before);
}

void pool_config_release(struct pool_config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        mem_free(config->items[i].name);
        mem_free(config->items[i].host);
        mem_free(config->items[i].node_label);
        mem_free(config->items[i].node_value);
        mem_free(config->items[i].secret);
    }
    mem_free(config->items);
    *config = (struct pool_config){0};
}
