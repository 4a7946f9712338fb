#include "kubectl/core/redact.h"

#include <string.h>

#include "base/core/mem.h"

#define OURS "graphcore.ai/"

/* Lists of words that a program is started with, also of probes and hooks; lists of names and values; and
 * what a storage driver gets. */
static const char *const COMMANDS[] = {"command", "args", NULL};
static const char *const VARIABLES[] = {"env", "httpHeaders", NULL};
static const char *const DRIVER_OPTIONS[] = {"volumeAttributes", "options", NULL};

static bool is_one_of(const char *key, const char *const *names)
{
    for (; *names; names++) {
        if (str_eq(key, *names))
            return true;
    }
    return false;
}

static void redact_text(cJSON *item)
{
    if (cJSON_IsString(item))
        (void)cJSON_SetValuestring(item, REDACTED);
}

static void redact_members(cJSON *parent)
{
    for (cJSON *item = parent->child; item; item = item->next)
        redact_text(item);
}

/* A reference to a Secret tells only its name. */
static void redact_variables(cJSON *list)
{
    for (cJSON *variable = list->child; variable; variable = variable->next)
        redact_text(json_at_mut(variable, "value"));
}

static void redact_annotations(cJSON *annotations)
{
    for (cJSON *item = annotations->child; item; item = item->next) {
        if (!str_has_prefix(item->string, OURS))
            redact_text(item);
    }
}

void redact_object(cJSON *object)
{
    for (cJSON *item = object ? object->child : NULL, *next; item; item = next) {
        next = item->next;
        if (!item->string || !(cJSON_IsArray(item) || cJSON_IsObject(item)))
            redact_object(item);
        else if (str_eq(item->string, "managedFields"))
            cJSON_DeleteItemFromObjectCaseSensitive(object, "managedFields");
        else if (cJSON_IsArray(item) && is_one_of(item->string, COMMANDS))
            redact_members(item);
        else if (cJSON_IsObject(item) && is_one_of(item->string, DRIVER_OPTIONS))
            redact_members(item);
        else if (cJSON_IsArray(item) && is_one_of(item->string, VARIABLES))
            redact_variables(item);
        else if (cJSON_IsObject(item) && str_eq(item->string, "annotations"))
            redact_annotations(item);
        else
            redact_object(item);
    }
}
