#include "launcher/poprun/plan/target_options.h"

#include "base/core/mem.h"
#include "base/doc/json.h"

#define OPTIONS_MAX_BYTES ((size_t)64 * 1024)

static const char *const order[] = {"ipuLinkDomainSize", "ipuLinkConfiguration", "ipuLinkTopology",
                                    "gatewayMode", "instanceSize"};

static bool is_object_of_strings(const cJSON *doc)
{
    if (!cJSON_IsObject(doc))
        return false;
    JSON_EACH (item, doc)
        if (!cJSON_IsString(item))
            return false;
    return true;
}

static cJSON *read_layer(const char *text, struct err *err)
{
    struct slice slice = slice_of(text && *text ? text : "{}");
    AUTO(json) cJSON *doc = NULL;

    if (slice.len > OPTIONS_MAX_BYTES) {
        err_set(err, ERR_INVALID, "the text is longer than 64 KiB");
        return NULL;
    }
    doc = json_parse(slice, err);
    if (doc && !is_object_of_strings(doc)) {
        err_set(err, ERR_INVALID,
                "expected a JSON object of strings, such as {\"ipuLinkDomainSize\":\"64\"}");
        return NULL;
    }
    return TAKE(doc);
}

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void put_first(cJSON *to, const char *key, const cJSON *const layers[3])
{
    for (size_t i = 0; i < 3 && !member(to, key); i++)
        if (member(layers[i], key))
            json_put_str(to, key, member(layers[i], key)->valuestring);
}

bool target_options_merge(const char *environment, const char *partition, const char *device, char **ret,
                          struct err *err)
{
    AUTO(json) cJSON *first = read_layer(environment, err);
    AUTO(json) cJSON *second = first ? read_layer(partition, err) : NULL;
    AUTO(json) cJSON *third = second ? read_layer(device, err) : NULL;
    AUTO(json) cJSON *merged = json_object();
    const cJSON *const layers[3] = {first, second, third};

    if (!third)
        return err_wrap(err, "%s", first ? "target options" : "variable POPLAR_TARGET_OPTIONS");
    for (size_t i = 0; i < COUNT_OF(order); i++)
        put_first(merged, order[i], layers);
    for (size_t i = 0; i < COUNT_OF(layers); i++)
        JSON_EACH (item, layers[i])
            put_first(merged, json_key(item), layers);
    *ret = json_print(merged);
    return true;
}

bool target_options_read(const char *environment, char **ret, struct err *err)
{
    AUTO(json) cJSON *doc = read_layer(environment, err);

    if (!doc)
        return err_wrap(err, "variable POPLAR_TARGET_OPTIONS");
    *ret = json_print(doc);
    return true;
}
