/* Reads an object of a configuration file by a table: a row is the key, its allowed values, the default, the
 * help text and the offset in a struct. Unknown keys are reported with the most similar known one. The
 * reader continues after a mistake, so that all of them are reported, each with its line. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"
#include "base/doc/yaml.h"

enum setting_kind {
    SETTING_TEXT,    /* char *, owned by the target; not empty */
    SETTING_ADDRESS, /* char *: "[HOST]:PORT" */
    SETTING_NUMBER,  /* uint32_t in [min, max] */
    SETTING_WORD,    /* unsigned: index into words */
    SETTING_FLAG,    /* bool: true or false */
    SETTING_OTHER,   /* read by other code: a list or an object */
};

struct setting {
    const char *key;
    enum setting_kind kind;
    size_t offset;
    const char *fallback; /* the default as it would be written; NULL: none */
    const char *help;     /* one sentence without period */
    uint32_t min, max;
    const char *const *words; /* ends with NULL */
};

/* Rows of a table: SETTING("stall", AS_FLAG(struct faults, stall), "hold all calls", .fallback = "false"). */
#define SETTING(key_, kind_, ...)                                                                            \
    {                                                                                                        \
        .key = (key_), .kind = kind_, .help = __VA_ARGS__                                                    \
    }
#define AS_NUMBER(type, field, min_, max_)                                                                   \
    SETTING_NUMBER, .offset = offsetof(type, field), .min = (min_), .max = (max_)
#define AS_FLAG(type, field) SETTING_FLAG, .offset = offsetof(type, field)
#define AS_TEXT(type, field) SETTING_TEXT, .offset = offsetof(type, field)
#define AS_WORD(type, field, words_) SETTING_WORD, .offset = offsetof(type, field), .words = (words_)
#define AS_ADDRESS(type, field) SETTING_ADDRESS, .offset = offsetof(type, field)

/* The rows that are allowed under one path, such as "clusters[]."; rows end with key NULL. */
struct setting_group {
    const char *path;
    const struct setting *rows;
};

struct settings_reader {
    struct yaml_doc doc;
    const char *name; /* of the file, for messages */
    struct strv *problems;
};

/* Sets every row that has a default; strings are replaced. */
void settings_defaults(const struct setting *rows, void *target);
/* Sets every row that the object has. Reports, at `node`, that it is no object; false then. */
bool settings_read(struct settings_reader *r, const cJSON *object, const struct setting *rows, void *target);
void settings_release(const struct setting *rows, void *target);
void settings_help(const struct setting_group *groups, struct str *out); /* ends with path NULL */

/* Reports one mistake at the line of `node`. */
void settings_add_error(struct settings_reader *r, const cJSON *node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The list at key; NULL if it is missing; anything else is a mistake. */
const cJSON *settings_list(struct settings_reader *r, const cJSON *object, const char *key);
/* The object's id: letters, digits, '.', '_' and '-'. NULL after a mistake. Borrowed from the document. */
const char *settings_id(struct settings_reader *r, const cJSON *object, const char *what);
bool settings_is_name(const char *text);
