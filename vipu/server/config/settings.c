#include "vipu/server/config/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/suggest.h"

#define NAME_MAX_BYTES 63u

union slot {
    void *any;
    char **text;
    uint32_t *number;
    unsigned *word;
    bool *flag;
};

static union slot slot_of(const struct setting *row, void *target)
{
    return (union slot){.any = (char *)target + row->offset};
}

void settings_add_error(struct settings_reader *r, const cJSON *node, const char *fmt, ...)
{
    char text[400]; /* holds the longest list of words */
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    strv_pushf(r->problems, "%s: line %u: %s", r->name, yaml_line(&r->doc, node), text);
}

static unsigned word_index(const struct setting *row, const char *text)
{
    unsigned i = 0;

    while (row->words[i] && !str_eq(row->words[i], text))
        i++;
    return i;
}

void settings_defaults(const struct setting *rows, void *target)
{
    for (const struct setting *row = rows; row->key; row++) {
        union slot slot = slot_of(row, target);

        if (!row->fallback)
            continue;
        switch (row->kind) {
        case SETTING_TEXT:
        case SETTING_ADDRESS:
            mem_set_str(slot.text, row->fallback);
            break;
        case SETTING_NUMBER:
            (void)parse_u32(row->fallback, row->min, row->max, slot.number);
            break;
        case SETTING_WORD:
            *slot.word = word_index(row, row->fallback);
            break;
        case SETTING_FLAG:
            *slot.flag = str_eq(row->fallback, "true");
            break;
        case SETTING_OTHER:
            break;
        }
    }
}

void settings_release(const struct setting *rows, void *target)
{
    for (const struct setting *row = rows; row->key; row++)
        if (row->kind == SETTING_TEXT || row->kind == SETTING_ADDRESS)
            mem_set_str(slot_of(row, target).text, NULL);
}

static void read_text(struct settings_reader *r, const struct setting *row, const cJSON *node, char **slot)
{
    if (!cJSON_IsString(node) || !*node->valuestring)
        settings_add_error(r, node, "%s must be a string", row->key);
    else
        mem_set_str(slot, node->valuestring);
}

static void read_address(struct settings_reader *r, const struct setting *row, const cJSON *node, char **slot)
{
    const char *colon = cJSON_IsString(node) ? strrchr(node->valuestring, ':') : NULL;
    uint32_t port;

    if (!colon || !parse_u32(colon + 1, 0, 65535, &port))
        settings_add_error(
            r, node, "%s must be an address and a port, such as \"127.0.0.1:8090\" or \":8090\"", row->key);
    else
        mem_set_str(slot, node->valuestring);
}

static void read_number(struct settings_reader *r, const struct setting *row, const cJSON *object,
                        uint32_t *slot)
{
    int64_t value = json_i64(object, row->key, -1);

    if (value < row->min || value > row->max)
        settings_add_error(r, json_at(object, row->key), "%s must be a number from %u to %u", row->key,
                           row->min, row->max);
    else
        *slot = (uint32_t)value;
}

static void read_word(struct settings_reader *r, const struct setting *row, const cJSON *node, unsigned *slot)
{
    unsigned index = word_index(row, cJSON_IsString(node) ? node->valuestring : "");
    AUTO(str) struct str list = {0};

    if (row->words[index]) {
        *slot = index;
        return;
    }
    for (size_t i = 0; row->words[i]; i++)
        str_addf(&list, "%s%s", i == 0 ? "" : row->words[i + 1] ? ", " : " or ", row->words[i]);
    settings_add_error(r, node, "%s must be %s", row->key, str_text(&list));
}

static void read_row(struct settings_reader *r, const struct setting *row, const cJSON *object, void *target)
{
    const cJSON *node = json_at(object, row->key);
    union slot slot = slot_of(row, target);

    switch (row->kind) {
    case SETTING_TEXT:
        read_text(r, row, node, slot.text);
        break;
    case SETTING_ADDRESS:
        read_address(r, row, node, slot.text);
        break;
    case SETTING_NUMBER:
        read_number(r, row, object, slot.number);
        break;
    case SETTING_WORD:
        read_word(r, row, node, slot.word);
        break;
    case SETTING_FLAG:
        if (cJSON_IsBool(node))
            *slot.flag = cJSON_IsTrue(node);
        else
            settings_add_error(r, node, "%s must be true or false", row->key);
        break;
    case SETTING_OTHER:
        break;
    }
}

static void add_unknown_setting(struct settings_reader *r, const cJSON *member, const struct setting *rows)
{
    struct suggest suggest = suggest_init(json_key(member));
    const char *meant;

    for (const struct setting *row = rows; row->key; row++)
        suggest_candidate(&suggest, row->key);
    meant = suggest_best(&suggest);
    if (meant)
        settings_add_error(r, member, "unknown setting \"%.40s\"; did you mean \"%s\"?", json_key(member),
                           meant);
    else
        settings_add_error(r, member, "unknown setting \"%.40s\"", json_key(member));
}

bool settings_read(struct settings_reader *r, const cJSON *object, const struct setting *rows, void *target)
{
    if (!cJSON_IsObject(object)) {
        settings_add_error(r, object, "expected settings, such as \"%s:\"", rows[0].key);
        return false;
    }
    JSON_EACH (member, object) {
        const struct setting *row = rows;

        while (row->key && !str_eq(row->key, json_key(member)))
            row++;
        if (!row->key)
            add_unknown_setting(r, member, rows);
        else if (row->kind != SETTING_OTHER)
            read_row(r, row, object, target);
    }
    return true;
}

const cJSON *settings_list(struct settings_reader *r, const cJSON *object, const char *key)
{
    const cJSON *node = json_at(object, key);

    if (!node || cJSON_IsArray(node))
        return node;
    settings_add_error(r, node, "%s must be a list", key);
    return NULL;
}

bool settings_is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(text);

    return len > 0 && len <= NAME_MAX_BYTES && strspn(text, allowed) == len;
}

const char *settings_id(struct settings_reader *r, const cJSON *object, const char *what)
{
    const cJSON *node = json_at(object, "id");

    if (cJSON_IsString(node) && settings_is_name(node->valuestring))
        return node->valuestring;
    settings_add_error(r, node ? node : object,
                       "%s requires an id of letters, digits, '.', '_' and '-', up to %u bytes", what,
                       NAME_MAX_BYTES);
    return NULL;
}

void settings_help(const struct setting_group *groups, struct str *out)
{
    for (const struct setting_group *group = groups; group->path; group++) {
        for (const struct setting *row = group->rows; row->key; row++) {
            AUTO(mem) char *path = mem_printf("%s%s", group->path, row->key);

            str_addf(out, "  %-34s  %s", path, row->help);
            if (row->fallback)
                str_addf(out, " (default %s)", row->fallback);
            str_adds(out, "\n");
        }
    }
}
