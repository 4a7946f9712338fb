#include "operator/api/pod/pod_references.h"

#include "base/core/mem.h"
#include "base/core/str.h"

#define TOLD_MAX 8

struct needs {
    struct str text;
    size_t count;
};

/* Where a volume, or a part of a projected one, has the name. */
static const struct source {
    const char *kind, *at, *name;
} sources[] = {
    {"Secret", "secret", "secretName"},
    {"Secret", "secret", "name"}, /* projected */
    {"ConfigMap", "configMap", "name"},
    {"claim", "persistentVolumeClaim", "claimName"},
};

static void add(const cJSON *volume, const struct source *source, struct needs *needs)
{
    const cJSON *object = json_at(volume, source->at);
    const char *name = json_str(object, source->name, NULL);

    if (!name || json_bool(object, "optional", false))
        return;
    if (needs->count++ < TOLD_MAX)
        str_addf(&needs->text, "%s%s %s", needs->text.len ? ", " : "", source->kind, name);
}

static void add_all(const cJSON *volume, struct needs *needs)
{
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        add(volume, &sources[i], needs);
}

char *pod_references_describe(const cJSON *template)
{
    struct needs needs = {0};

    JSON_EACH (volume, json_at(template, "spec/volumes")) {
        add_all(volume, &needs);
        JSON_EACH (part, json_at(volume, "projected/sources"))
            add_all(part, &needs);
    }
    if (needs.count > TOLD_MAX)
        str_addf(&needs.text, " and %zu more", needs.count - TOLD_MAX);
    return str_take(&needs.text);
}
