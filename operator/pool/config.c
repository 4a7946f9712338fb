#include "operator/pool/config.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/doc/yaml.h"

#define DEFAULT_PORT 8090

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
    if (!equals || equals == at)
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

static bool add_entry(struct pool_config *config, const char *entry, char **ret_problem)
{
    const char *rest = NULL;
    AUTO(mem) char *host = take_host(entry, &rest);
    AUTO(mem) char *label = NULL;
    AUTO(mem) char *value = NULL;
    AUTO(mem) char *port_text = NULL;
    uint32_t port = DEFAULT_PORT;
    const char *selector;

    if (!host) {
        *ret_problem = mem_printf("\"%s\" is no V-IPU controller: expected host:port:label=value", entry);
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
        *ret_problem = mem_printf("\"%s\": V-IPU controller %s port %u is given twice", entry, host, port);
        return false;
    }
    add(config, TAKE(host), (uint16_t)port, TAKE(label), TAKE(value));
    return true;
}

static void add_text(struct pool_config *config, const char *text, const char *where, struct strv *problems)
{
    while (*text) {
        size_t len, blanks = strspn(text, " \n");
        char *problem = NULL;

        text += blanks;
        len = strcspn(text, ",");
        AUTO(mem) char *entry = mem_strndup(text, len);

        if (*entry && !add_entry(config, entry, &problem)) {
            strv_pushf(problems, "%s%s", where, problem);
            mem_free(problem);
        }
        text += len + (text[len] == ',');
    }
}

void pool_config_add_text(struct pool_config *config, const char *text, struct strv *problems)
{
    add_text(config, text, "", problems);
}

/* One {host, port, selector} of the list is the same entry in other clothes. */
static void add_item(struct pool_config *config, const cJSON *item, const char *where, struct strv *problems)
{
    const char *host = json_str(item, "host", NULL);
    const char *selector = json_str(item, "selector", "");
    int64_t port = json_i64(item, "port", DEFAULT_PORT);
    AUTO(mem) char *entry = NULL;

    if (!host || !*host) {
        strv_pushf(problems, "%shost is required for a V-IPU controller", where);
        return;
    }
    entry = mem_printf(strchr(host, ':') ? "[%s]:%lld:%s" : "%s:%lld:%s", host, (long long)port, selector);
    add_text(config, entry, where, problems);
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
    static const char *const keys[] = {"host", "port", "selector", NULL};

    JSON_EACH (item, list) {
        AUTO(mem) char *where = mem_printf("%s: line %u: ", name, yaml_line(doc, item));

        check_keys(doc, item, keys, name, problems);
        if (cJSON_IsString(item))
            add_text(config, item->valuestring, where, problems);
        else
            add_item(config, item, where, problems);
    }
}

void pool_config_add_yaml(struct pool_config *config, struct slice yaml, const char *name,
                          struct strv *problems)
{
    static const char *const keys[] = {"vipuControllers", NULL};
    AUTO(yaml) struct yaml_doc doc = {0};
    struct err err = {0};
    const cJSON *value;

    if (!yaml_parse(yaml, name, &doc, &err)) {
        strv_push(problems, err.msg);
        return;
    }
    check_keys(&doc, doc.root, keys, name, problems);
    value = json_at(doc.root, "vipuControllers");
    if (cJSON_IsString(value)) {
        AUTO(mem) char *where = mem_printf("%s: line %u: ", name, yaml_line(&doc, value));

        add_text(config, value->valuestring, where, problems);
    } else if (cJSON_IsArray(value)) {
        add_list(config, &doc, value, name, problems);
    } else if (value && !cJSON_IsNull(value)) {
        strv_pushf(problems, "%s: line %u: vipuControllers must be a text or a list", name,
                   yaml_line(&doc, value));
    }
}

void pool_config_release(struct pool_config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        mem_free(config->items[i].name);
        mem_free(config->items[i].host);
        mem_free(config->items[i].node_label);
        mem_free(config->items[i].node_value);
    }
    mem_free(config->items);
    *config = (struct pool_config){0};
}
