#include "launcher/poprun/plan/app_file.h"

#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/host/wrapper_env.h"
#include "launcher/poprun/plan/word_list.h"

#define LINE_MAX_BYTES 1023u
/* Linux's MAX_ARG_STRLEN: no variable may be longer. */
#define VARIABLE_MAX_BYTES ((size_t)128 * 1024 - 1)

struct parts {
    const struct strv *items;
    size_t count;
};

/* The number of words before the wrapper: mpirun's. */
static size_t count_mpi_words(const struct strv *part)
{
    size_t i = 0;

    while (i < part->count && strcmp(part->items[i], WRAPPER_PROGRAM) != 0)
        i++;
    return i;
}

static bool sets(const struct strv *part, size_t at)
{
    return at > 0 && strcmp(part->items[at - 1], "-x") == 0 && strchr(part->items[at], '=');
}

static bool has_name_of(const char *word, const char *setting)
{
    size_t len = strcspn(setting, "=");

    return strncmp(word, setting, len) == 0 && (word[len] == '=' || word[len] == '\0');
}

/* The part sets it so, and mentions the variable nowhere else. */
static bool has_only(const struct strv *part, const char *setting)
{
    size_t count = count_mpi_words(part), uses = 0;
    bool is_there = false;

    for (size_t i = 1; i < count; i++) {
        if (strcmp(part->items[i - 1], "-x") != 0 || !has_name_of(part->items[i], setting))
            continue;
        uses++;
        is_there = strcmp(part->items[i], setting) == 0;
    }
    return uses == 1 && is_there;
}

/* mpirun itself needs these to find the wrapper, and adds its own folders to them. */
static bool is_for_mpirun(const char *setting)
{
    return has_name_of("PATH", setting) || has_name_of("LD_LIBRARY_PATH", setting);
}

static bool is_shared(const struct parts *parts, const char *setting)
{
    if (is_for_mpirun(setting))
        return false;
    for (size_t i = 0; i < parts->count; i++)
        if (!has_only(&parts->items[i], setting))
            return false;
    return true;
}

static void find_shared(const struct parts *parts, struct strv *ret)
{
    const struct strv *first = &parts->items[0];
    size_t count = count_mpi_words(first);

    for (size_t i = 0; i < count; i++)
        if (sets(first, i) && is_shared(parts, first->items[i]))
            strv_push(ret, first->items[i]);
}

/* Version 4.1 takes # and // for the start of a comment. */
static bool check_word(const char *word, struct err *err)
{
    if (*word && !word[strcspn(word, " \t\r\n#")] && !strstr(word, "//"))
        return true;
    return err_set(
        err, ERR_INVALID,
        "mpirun has to read this command from a file, which cannot contain \"%.60s\" (a space, # or //); use "
        "fewer instances, or change it",
        word);
}

static bool add_line(const struct strv *part, const struct strv *shared, struct strv *lines, struct err *err)
{
    static const char tail[] = "-x " WRAPPER_ENV_SHARED " -x " WRAPPER_ENV_PROGRAM " " WRAPPER_PROGRAM;
    size_t count = count_mpi_words(part);
    AUTO(str) struct str line = {0};

    for (size_t i = 0; i < count; i++) {
        bool is_pair = i + 1 < count && strcmp(part->items[i], "-x") == 0;

        if (is_pair && strv_has(shared, part->items[i + 1])) {
            i++;
            continue;
        }
        if (!check_word(part->items[i], err))
            return false;
        (void)str_addf(&line, "%s ", part->items[i]);
    }
    (void)str_adds(&line, tail);
    if (line.len > LINE_MAX_BYTES)
        return err_set(
            err, ERR_INVALID,
            "mpirun has to read this command from a file, and one of its lines is %zu bytes long, limit "
            "%u; use fewer instances, or shorter --mpi-local-args",
            line.len, LINE_MAX_BYTES);
    strv_push(lines, str_text(&line));
    return true;
}

static bool add_variable(const char *name, const struct str *list, struct strv *variables, struct err *err)
{
    if (strlen(name) + 1 + list->len > VARIABLE_MAX_BYTES)
        return err_set(
            err, ERR_INVALID,
            "mpirun has to read this command from a file, and the arguments and variables common to all "
            "instances are %zu bytes long, limit %zu; use fewer instances, or shorter program arguments",
            list->len, VARIABLE_MAX_BYTES);
    strv_pushf(variables, "%s=%s", name, str_text(list));
    return true;
}

bool app_file_make(const struct strv *parts, size_t count, struct strv *lines, struct strv *variables,
                   struct err *err)
{
    struct parts all = {parts, count};
    AUTO(strv) struct strv shared = {0};
    AUTO(str) struct str settings = {0}, program = {0};

    find_shared(&all, &shared);
    for (size_t i = 0; i < shared.count; i++)
        word_list_add(&settings, shared.items[i]);
    for (size_t i = count_mpi_words(&parts[0]) + 1; i < parts[0].count; i++)
        word_list_add(&program, parts[0].items[i]);
    for (size_t i = 0; i < count; i++)
        if (!add_line(&parts[i], &shared, lines, err))
            return false;
    return add_variable(WRAPPER_ENV_SHARED, &settings, variables, err) &&
           add_variable(WRAPPER_ENV_PROGRAM, &program, variables, err);
}
