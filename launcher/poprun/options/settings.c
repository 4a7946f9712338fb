#include "launcher/poprun/options/settings.h"

#include <string.h>

#include "base/core/mem.h"

static void add(struct settings *settings, const struct option_row *row, const char *value, const char *where)
{
    if (settings->count == settings->cap) {
        settings->cap = settings->cap ? settings->cap * 2 : 16;
        settings->items = mem_grow(settings->items, settings->cap, sizeof(*settings->items));
    }
    settings->items[settings->count++] =
        (struct setting){row, mem_strdup(value), where ? mem_strdup(where) : NULL};
}

bool settings_has(const struct settings *settings, const struct option_row *row)
{
    for (size_t i = 0; i < settings->count; i++)
        if (settings->items[i].row == row)
            return true;
    return false;
}

static const char *value_of(const struct settings *settings, const struct option_row *row)
{
    size_t i = 0;

    while (settings->items[i].row != row)
        i++;
    return settings->items[i].value;
}

void settings_add(struct settings *settings, const struct option_row *row, const char *value,
                  const char *where, struct strv *problems)
{
    bool is_there = settings_has(settings, row);

    if (row->type == OPTION_SWITCH && is_there)
        return;
    if (row->type != OPTION_LIST && is_there)
        strv_pushf(problems, "%s%s--%s is given more than once, as \"%.60s\" and \"%.60s\"; keep one of them",
                   where ? where : "", where ? ": " : "", row->name, value_of(settings, row), value);
    else
        add(settings, row, value, where);
}

/* One pass over argv. */
struct walk {
    struct settings *settings;
    char *const *argv;
    int argc;
    int at; /* the word being read */
    struct strv *problems;
};

/* Detects "--host --num-replicas 2". Any other word may be a value: mpirun's options are. */
static bool is_own_option(const char *word)
{
    AUTO(mem) char *name = NULL;

    if (!str_has_prefix(word, "--"))
        return false;
    name = mem_strndup(word + 2, strcspn(word + 2, "="));
    return option_find(name) != NULL;
}

/* `attached` is the rest of the same word, or NULL. */
static void take(struct walk *walk, const struct option_row *row, const char *attached)
{
    bool has_next = walk->at + 1 < walk->argc && !is_own_option(walk->argv[walk->at + 1]);

    if (row->type == OPTION_SWITCH && attached)
        strv_pushf(walk->problems, "--%s takes no value", row->name);
    else if (row->type == OPTION_SWITCH)
        settings_add(walk->settings, row, "yes", NULL, walk->problems);
    else if (attached)
        settings_add(walk->settings, row, attached, NULL, walk->problems);
    else if (has_next)
        settings_add(walk->settings, row, walk->argv[++walk->at], NULL, walk->problems);
    else
        strv_pushf(walk->problems, "--%s requires a value: --%s %s", row->name, row->name, row->arg);
}

/* "--ipus-per replica=4": a space in place of a hyphen. */
static bool is_torn(struct walk *walk, const char *name, struct err *err)
{
    const char *next = walk->at + 1 < walk->argc ? walk->argv[walk->at + 1] : "";
    AUTO(mem) char *whole = mem_printf("%.100s-%.*s", name, (int)strcspn(next, "="), next);

    if (strchr(name, '=') || option_find(name) || !option_find(whole))
        return false;
    walk->at++;
    return !err_set(err, ERR_NOT_FOUND, "unknown option --%.40s %.40s; did you mean --%s%.40s?", name, next,
                    whole, next + strcspn(next, "="));
}

static bool take_long(struct walk *walk, const char *name, struct err *err)
{
    size_t len = strcspn(name, "=");
    const struct option_row *row;

    if (is_torn(walk, name, err))
        return false;
    if (!option_match(name, len, &row, err))
        return false;
    take(walk, row, name[len] ? name + len + 1 : NULL);
    return true;
}

/* One dash: a letter, a long name ("-vv", "-host=a"), or a letter with its value ("-Ha,b"). */
static void take_dash(struct walk *walk, const char *name)
{
    const struct option_row *row = option_of_letter(name[0]);
    struct err err;

    if (row && !name[1])
        take(walk, row, NULL);
    else if (take_long(walk, name, &err))
        return;
    else if (row && row->type != OPTION_SWITCH)
        take(walk, row, name[1] == '=' ? name + 2 : name + 1);
    else
        strv_push(walk->problems, err.msg);
}

void settings_read_words(struct settings *settings, int argc, char *const *argv, struct strv *problems)
{
    struct walk walk = {settings, argv, argc, 1, problems};
    struct err err;

    for (; walk.at < argc && argv[walk.at][0] == '-'; walk.at++) {
        const char *word = argv[walk.at];

        if (strcmp(word, "--") == 0) {
            walk.at++;
            break;
        }
        if (word[1] != '-')
            take_dash(&walk, word + 1);
        else if (!take_long(&walk, word + 2, &err))
            strv_push(problems, err.msg);
    }
    for (; walk.at < argc; walk.at++)
        strv_push(&settings->program, argv[walk.at]);
}

static void release_one(struct setting *setting)
{
    mem_free(setting->value);
    mem_free(setting->where);
}

static void drop(struct settings *settings, const struct option_row *row)
{
    size_t kept = 0;

    for (size_t i = 0; i < settings->count; i++) {
        if (settings->items[i].row == row)
            release_one(&settings->items[i]);
        else
            settings->items[kept++] = settings->items[i];
    }
    settings->count = kept;
}

void settings_overlay(struct settings *lower, const struct settings *upper)
{
    for (size_t i = 0; i < upper->count; i++)
        drop(lower, upper->items[i].row);
    for (size_t i = 0; i < upper->count; i++)
        add(lower, upper->items[i].row, upper->items[i].value, upper->items[i].where);
    if (upper->program.count == 0)
        return;
    strv_release(&lower->program);
    for (size_t i = 0; i < upper->program.count; i++)
        strv_push(&lower->program, upper->program.items[i]);
}

void settings_release(struct settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        release_one(&settings->items[i]);
    mem_free(settings->items);
    strv_release(&settings->program);
    *settings = (struct settings){0};
}
