#include "launcher/poprun/options/options.h"

#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/options/shell_words.h"

bool poprun_is_given(const struct poprun_options *options, const char *name)
{
    const struct option_row *row = option_find(name);

    return row && options->given[option_index(row)];
}

static const char *const exclusive[][2] = {
    {"import-config", "export-config"},
    {"host", "hostfile"},
    {"process-placement", "numa-aware"},
    {"vipu-cluster", "vipu-allocation"},
};

static void check_exclusive(const struct poprun_options *options, struct strv *problems)
{
    for (size_t i = 0; i < COUNT_OF(exclusive); i++)
        if (poprun_is_given(options, exclusive[i][0]) && poprun_is_given(options, exclusive[i][1]))
            strv_pushf(problems, "--%s and --%s cannot be used at the same time", exclusive[i][0],
                       exclusive[i][1]);
}

void poprun_options_fill(const struct settings *settings, struct poprun_options *target,
                         struct strv *problems)
{
    struct err err;

    for (const struct option_row *row = option_rows; row->name; row++)
        if (row->fallback && !option_set(row, target, row->fallback, &err))
            strv_push(problems, err.msg);
    for (size_t i = 0; i < settings->count; i++) {
        const struct setting *setting = &settings->items[i];

        target->given[option_index(setting->row)] = true;
        if (!option_set(setting->row, target, setting->value, &err))
            strv_pushf(problems, "%s%s%s", setting->where ? setting->where : "", setting->where ? ": " : "",
                       err.msg);
    }
    check_exclusive(target, problems);
}

enum placement poprun_placement(const struct poprun_options *options)
{
    return options->numa_aware ? (enum placement)options->process_placement : PLACEMENT_DISABLED;
}

static void check_counts(const struct poprun_options *options, struct strv *problems)
{
    uint32_t instances = options->num_instances;

    if (options->num_replicas % instances)
        strv_pushf(
            problems,
            "--num-replicas=%u cannot be divided evenly among --num-instances=%u; use a multiple of %u",
            options->num_replicas, instances, instances);
    if (poprun_is_given(options, "only-output-from-instance") &&
        options->only_output_from_instance >= instances)
        strv_pushf(problems, "--only-output-from-instance=%u: expected an instance from 0 to %u",
                   options->only_output_from_instance, instances - 1);
}

static void check_absent(const struct poprun_options *options, struct strv *problems)
{
    const struct {
        bool asked;
        const char *name, *remedy;
    } rows[] = {
        {options->synchronise_python_venv, "synchronise-python-venv",
         "put the environment on a shared file system or copy it to the same place on each host"},
        {options->synchronise_poplar_sdk, "synchronise-poplar-sdk",
         "put the SDK on a shared file system or install it at the same place on each host"},
        {options->distribute_ssh_key, "distribute-ssh-key", "run ssh-copy-id HOST once for each host"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].asked)
            strv_pushf(problems, "--%s is not supported; %s", rows[i].name, rows[i].remedy);
}

static void check_cache(const struct poprun_options *options, const char *(*env)(const char *),
                        struct strv *problems)
{
    static const char *const names[] = {"POPTORCH_CACHE_DIR", "POPART_CACHE_DIR", "POPXL_CACHE_DIR"};

    for (size_t i = 0; i < COUNT_OF(names) && poprun_is_given(options, "executable-cache-path"); i++)
        if (env(names[i]) && *env(names[i]))
            strv_pushf(problems,
                       "--executable-cache-path and the variable %s cannot be used at the same time",
                       names[i]);
}

static bool names_directory(const char *engine_options)
{
    return engine_options && strstr(engine_options, "autoReport.directory");
}

static bool exports_directory(const struct strv *words)
{
    for (size_t i = 0; i < words->count; i++)
        if (str_has_prefix(words->items[i], "POPLAR_ENGINE_OPTIONS=") && names_directory(words->items[i]))
            return true;
    return false;
}

/* Adds the words of each string; "N:words" if they are for one instance. */
static void split_all(const struct strv *texts, const char *name, uint32_t instances, struct strv *words,
                      struct strv *problems)
{
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i], *colon = instances ? strchr(text, ':') : NULL;
        AUTO(mem) char *number = colon ? mem_strndup(text, (size_t)(colon - text)) : NULL;
        uint32_t index;
        struct err err;

        if (instances && (!number || !parse_u32(number, 0, instances - 1, &index)))
            strv_pushf(problems, "--%s: expected an instance from 0 to %u and a colon, got \"%.80s\"", name,
                       instances - 1, text);
        else if (!shell_words_split(colon ? colon + 1 : text, words, &err))
            strv_pushf(problems, "--%s: %s", name, err.msg);
    }
}

/* Of the names that scripts give their variables. */
static const char variable_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/* NAME=VALUE, as a shell has it before a command. */
static bool is_assignment(const char *word)
{
    size_t name = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    return name > 0 && !isdigit((unsigned char)word[0]) && word[name] == '=';
}

/* mpirun would take the next option for the value, and a value for the program. */
static bool has_value(const struct strv *words, size_t at)
{
    const char *value = at < words->count ? words->items[at] : "-";
    bool is_negative = value[0] == '-' && value[1] >= '0' && value[1] <= '9';

    return value[0] && (value[0] != '-' || is_negative);
}

/* Of an option that the table has not, how many words behind it are its values is not known. */
#define UNKNOWN_COUNT SIZE_MAX

static size_t count_values(const char *word)
{
    static const struct {
        const char *name;
        size_t values;
    } rows[] = {
        {"x", 1}, {"mca", 2}, {"gmca", 2}, {"tag-output", 0}, {"oversubscribe", 0}, {"allow-run-as-root", 0},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(word + strspn(word, "-"), rows[i].name) == 0)
            return rows[i].values;
    return UNKNOWN_COUNT;
}

static bool is_option(const struct strv *words, size_t at)
{
    return at < words->count && words->items[at][0] == '-';
}

/* Returns the first word behind the option and its values. */
static size_t check_mpi_option(const struct strv *words, size_t at, struct strv *problems)
{
    size_t values = count_values(words->items[at]), end = at + 1;

    if (values == UNKNOWN_COUNT) {
        while (end < words->count && !is_option(words, end))
            end++;
        return end;
    }
    while (end <= at + values && has_value(words, end))
        end++;
    if (end <= at + values)
        strv_pushf(problems, "options for mpirun: no value behind %.80s; is a variable of your script empty?",
                   words->items[end - 1]);
    return end;
}

/* mpirun would run such a word in place of the program, with those behind it as its arguments. */
static void reject_mpi_word(const char *word, struct strv *problems)
{
    const char *remedy = "";

    if (is_assignment(word) || !word[strspn(word, variable_letters)])
        remedy = "; put -x before it";
    else if (*word == '\\' || !word[strspn(word, " \t\r\n")])
        remedy = "; remove the backslash, or the space behind it";
    strv_pushf(problems, "options for mpirun: \"%.80s\" is not an option%s", word, remedy);
}

static void check_mpi_values(const struct strv *words, struct strv *problems)
{
    for (size_t i = 0; i < words->count;) {
        if (is_option(words, i)) {
            i = check_mpi_option(words, i, problems);
            continue;
        }
        if (words->items[i][0] && strcmp(words->items[i], ":") != 0)
            reject_mpi_word(words->items[i], problems);
        while (i < words->count && !is_option(words, i))
            i++;
    }
}

/* It would start another program, unknown to poprun. */
static void check_mpi_words(const struct strv *words, struct strv *problems)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], ":") == 0)
            strv_push(problems,
                      "options for mpirun must not contain a lone colon: poprun creates the instances");
}

static void check_mpi_args(const struct poprun_options *options, const char *(*env)(const char *),
                           struct strv *problems)
{
    AUTO(strv) struct strv words = {0};

    split_all(&options->mpi_local_args, "mpi-local-args", 0, &words, problems);
    split_all(&options->instance_mpi_local_args, "instance-mpi-local-args", options->num_instances, &words,
              problems);
    if (options->autoreport_dir &&
        (names_directory(env("POPLAR_ENGINE_OPTIONS")) || exports_directory(&words)))
        strv_push(problems, "autoreport-dir command line argument cannot be specified when "
                            "POPLAR_ENGINE_OPTIONS contains autoReport.directory setting.");
    split_all(&options->mpi_global_args, "mpi-global-args", 0, &words, problems);
    check_mpi_words(&words, problems);
    check_mpi_values(&words, problems);
}

static void check_program(const struct strv *program, struct strv *problems)
{
    const char *word = program->count ? program->items[0] : "";
    size_t blanks = strspn(word, " \t\r\n");

    if (!word[blanks])
        strv_push(problems, "no program given: poprun [options] program [program args] (in a script, check "
                            "for a missing backslash at the end of a line, or a space behind it)");
    else if (blanks)
        strv_pushf(problems, "\"%s\" is not a program: remove the backslash, or the quote, before the space",
                   word);
    else if (is_assignment(word))
        strv_pushf(problems,
                   "\"%s\" is not a program: put the variable before poprun (in a script, check "
                   "for a backslash too many at the end of the line before)",
                   word);
}

void poprun_options_check(const struct poprun_options *options, const struct strv *program,
                          const char *(*env)(const char *), struct strv *problems)
{
    check_counts(options, problems);
    check_absent(options, problems);
    check_cache(options, env, problems);
    check_mpi_args(options, env, problems);
    check_program(program, problems);
}

/* "DIR" in place of "$DIR". */
static bool names_variable(const char *value, const char *(*env)(const char *))
{
    return *value && !value[strspn(value, variable_letters)] && env(value) && *env(value);
}

void poprun_options_hint(const struct poprun_options *options, const char *(*env)(const char *),
                         struct strv *hints)
{
    for (const struct option_row *row = option_rows; row->name; row++) {
        const char *const *value = (const void *)((const char *)options + row->offset);

        if (row->type == OPTION_TEXT && *value && names_variable(*value, env))
            strv_pushf(hints, "--%s=%.80s is the name of a variable; did you mean $%.80s?", row->name, *value,
                       *value);
    }
}

void poprun_options_release(struct poprun_options *options)
{
    for (const struct option_row *row = option_rows; row->name; row++) {
        void *place = (char *)options + row->offset;

        if (row->type == OPTION_TEXT)
            mem_set_str(place, NULL);
        if (row->type == OPTION_LIST)
            strv_release(place);
    }
}
