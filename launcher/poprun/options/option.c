#include "launcher/poprun/options/option.h"

#include <string.h>
#include <strings.h>

#include "base/core/mem.h"
#include "base/text/suggest.h"
#include "base/core/str.h"

const struct option_row *option_find(const char *name)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

const struct option_row *option_of_letter(char letter)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (row->letter && row->letter == letter)
            return row;
    return NULL;
}

size_t option_index(const struct option_row *row)
{
    return (size_t)(row - option_rows);
}

/* Options of mpirun that are written among poprun's own, and where they belong. */
static const struct {
    const char *name, *remedy;
} of_mpirun[] = {
    {"x", "--mpi-local-args=\"-x NAME=value\""},
    {"n", "--num-instances"},
    {"np", "--num-instances"},
    {"mca", "--mpi-global-args=\"--mca NAME VALUE\""},
    {"tag-output", "--mpi-global-args=--tag-output"},
    {"bind-to", "--mpi-global-args=\"--bind-to VALUE\""},
    {"map-by", "--mpi-global-args=\"--map-by VALUE\""},
    {"npernode", "--mpi-global-args=\"--npernode N\""},
    {"oversubscribe", "--mpi-global-args=--oversubscribe"},
    {"output-filename", "--mpi-global-args=\"--output-filename NAME\""},
    {"report-bindings", "--mpi-global-args=--report-bindings"},
};

const char *option_suggest(const char *word)
{
    struct suggest suggest = suggest_init(word);
    AUTO(mem) char *tail = mem_printf("-%s", word);

    for (const struct option_row *row = option_rows; row->name; row++)
        suggest_candidate(&suggest, row->name);
    for (const struct option_row *row = option_rows; row->name && !suggest_best(&suggest); row++)
        if (*word && str_has_suffix(row->name, tail))
            return row->name;
    return suggest_best(&suggest);
}

static const char *remedy_of_mpirun(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(of_mpirun); i++)
        if (strcmp(word, of_mpirun[i].name) == 0)
            return of_mpirun[i].remedy;
    return NULL;
}

/* `all` has the options that it may stand for. */
static bool reject(const char *word, const char *all, struct err *err)
{
    const char *best = option_suggest(word), *remedy = remedy_of_mpirun(word);

    if (remedy)
        return err_set(err, ERR_NOT_FOUND, "%s%s is an option of mpirun; with poprun use %s",
                       strlen(word) == 1 ? "-" : "--", word, remedy);
    if (*all)
        return err_set(err, ERR_INVALID, "--%s is ambiguous: %s", word, all);
    if (best)
        return err_set(err, ERR_NOT_FOUND, "unknown option --%s; did you mean --%s?", word, best);
    return err_set(err, ERR_NOT_FOUND, "unknown option --%s; see poprun --help", word);
}

bool option_match(const char *name, size_t len, const struct option_row **ret, struct err *err)
{
    AUTO(mem) char *word = mem_strndup(name, len < 100 ? len : 100);
    AUTO(str) struct str all = {0};
    const struct option_row *found = NULL;
    size_t count = 0;

    for (const struct option_row *row = option_rows; row->name; row++) {
        if (len == 0 || strncmp(row->name, name, len) != 0)
            continue;
        found = row;
        if (row->name[len] == '\0') {
            count = 1;
            break;
        }
        (void)str_addf(&all, "%s--%s", count++ ? ", " : "", row->name);
    }
    if (count != 1)
        return reject(word, str_text(&all), err);
    *ret = found;
    return true;
}

/* What a script writes as --NAME=$VARIABLE. */
static const char *if_empty(const char *text)
{
    return *text ? "" : "; is a variable of your script empty?";
}

static bool set_bool(const struct option_row *row, bool *place, const char *text, struct err *err)
{
    static const char *const yes[] = {"yes", "on", "true", "1"}, *const no[] = {"no", "off", "false", "0"};

    for (size_t i = 0; i < COUNT_OF(yes); i++) {
        if (strcasecmp(text, yes[i]) != 0 && strcasecmp(text, no[i]) != 0)
            continue;
        *place = strcasecmp(text, yes[i]) == 0;
        return true;
    }
    return err_set(err, ERR_INVALID, "--%s: expected yes or no, got \"%.80s\"; use --%s=yes or --%s=no%s",
                   row->name, text, row->name, row->name, if_empty(text));
}

static bool set_choice(const struct option_row *row, int *place, const char *text, struct err *err)
{
    AUTO(str) struct str all = {0};

    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *place = i;
            return true;
        }
        (void)str_addf(&all, "%s%s", i ? ", " : "", row->choices[i]);
    }
    return err_set(err, ERR_INVALID, "--%s: expected one of %s, got \"%.80s\"%s", row->name, str_text(&all),
                   text, if_empty(text));
}

static bool set_count(const struct option_row *row, uint32_t *place, const char *text, struct err *err)
{
    if (!parse_u32(text, row->min, row->max, place))
        return err_set(err, ERR_INVALID, "--%s: expected a number from %u to %u, got \"%.80s\"%s", row->name,
                       row->min, row->max, text, if_empty(text));
    return true;
}

bool option_set(const struct option_row *row, void *target, const char *text, struct err *err)
{
    void *place = (char *)target + row->offset;

    switch (row->type) {
    case OPTION_SWITCH:
    case OPTION_BOOL:
        return set_bool(row, place, text, err);
    case OPTION_COUNT:
        return set_count(row, place, text, err);
    case OPTION_TEXT:
        mem_set_str(place, text);
        return true;
    case OPTION_LIST:
        strv_push(place, text);
        return true;
    case OPTION_CHOICE:
        return set_choice(row, place, text, err);
    }
    return err_set(err, ERR_INTERNAL, "--%s: the table row has no type", row->name);
}
