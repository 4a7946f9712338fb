/* vipu: the command line of a V-IPU controller. Files, environment, output and exit status only. */
#include "vipu/cli/main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/cli/args/completion.h"
#include "vipu/cli/args/hcl.h"
#include "vipu/cli/args/help.h"
#include "vipu/cli/args/options.h"
#include "vipu/cli/commands/commands.h"
#include "vipu/cli/commands/inventory.h"
#include "vipu/cli/output/progress.h"
#include "vipu/cli/output/show.h"

#define EXIT_USAGE 2
#define CONNECT_PATIENCE_MS 5000
#define COMPLETE_TIMEOUT_S 5 /* completion must not keep the user waiting for longer */

static const char *environment(const char *name)
{
    return getenv(name);
}

/* A named file must exist; the default one may be missing. */
static bool read_file(const char *named, struct str *ret, struct strv *problems)
{
    struct err err;

    if (file_read(named ? named : OPTIONS_DEFAULT_FILE, HCL_MAX_BYTES, ret, &err))
        return true;
    if (named || err.kind != ERR_NOT_FOUND)
        strv_push(problems, err.msg);
    return false;
}

/* Parsed twice: the first time only to get the name of the file. */
static enum opts_result parse(int argc, char **argv, struct options *options, struct strv *words,
                              struct strv *problems)
{
    AUTO(strv) struct strv ignored_words = {0}, ignored = {0};
    AUTO(str) struct str file = {0};
    struct options first = {0};
    enum opts_result result =
        options_parse(argc, argv, environment, NULL, NULL, &first, &ignored_words, &ignored);
    const char *name = first.config ? first.config : OPTIONS_DEFAULT_FILE;
    bool has_file = result != OPTS_HELP && result != OPTS_VERSION && read_file(first.config, &file, problems);

    result = options_parse(argc, argv, environment, has_file ? &file : NULL, name, options, words, problems);
    opts_release(&options_spec, &first);
    return result == OPTS_RUN && problems->count ? OPTS_BAD : result;
}

static void print_errors_json(const struct strv *errors)
{
    AUTO(str) struct str text = {0};

    show_errors_json(errors, &text);
    (void)fputs(str_text(&text), stderr);
}

static int print_problems(const struct options *options, const struct strv *problems)
{
    if (options->showjson) {
        print_errors_json(problems);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "vipu: %s\n", problems->items[i]);
    (void)fputs("Run 'vipu --help' for usage.\n", stderr);
    return EXIT_USAGE;
}

static int print(const char *text)
{
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    if (errno != EPIPE) /* as `vipu list partitions | head -1`: the reader has enough */
        (void)fprintf(stderr, "vipu: cannot write the output: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

static struct vipu_sync_client *client_of(const struct options *options, uint32_t timeout_s)
{
    struct vipu_endpoint endpoint = {.host = options->api_host,
                                     .port = options->api_port,
                                     .user_id = options->api_user_id,
                                     .access_key = options->api_access_key,
                                     .tls = options->api_tls,
                                     .ca_file = options->api_ca_cert,
                                     .cert_file = options->api_client_cert,
                                     .key_file = options->api_client_key};

    return vipu_sync_new(&endpoint, "vipu/" IPU_OPERATOR_VERSION, timeout_s);
}

static void prepare_for_interrupt(const struct command *command, const char *id)
{
    AUTO(mem) char *sentence = NULL;

    if (command->name == COMMAND_CREATE_PARTITION)
        sentence =
            mem_printf("create partition (%s): interrupted; the controller continues, and no IPUoF files are "
                       "written. Check with `vipu get partition %s`, undo with `vipu remove partition %s`",
                       id, id, id);
    else if (command->name == COMMAND_RESET_PARTITION || command->name == COMMAND_REMOVE_PARTITION)
        sentence = mem_printf(
            "%s partition (%s): interrupted; the controller continues. Check with `vipu get partition %s`",
            command->verb, id, id);
    if (sentence)
        progress_on_interrupt(sentence);
}

/* NULL: --server-version. */
static bool run_command(const struct command *command, struct command_context *context, struct err *err)
{
    struct progress progress = progress_new();
    bool ok;

    vipu_sync_watch(context->client, progress_show, &progress);
    ok = vipu_sync_connect(context->client, CONNECT_PATIENCE_MS, err);
    if (ok && command)
        prepare_for_interrupt(command, context->id);
    if (ok)
        ok = command ? command_run(command->name, context, err) : command_server_version(context, err);
    progress_end(&progress);
    return ok;
}

/* `meant` is the command line as far as it could be parsed. */
static int run(const struct options *options, const struct command *command,
               const struct command_context *meant)
{
    struct command_context context = *meant;
    AUTO(strv) struct strv remarks = {0};
    AUTO(str) struct str out = {.max = SIZE_MAX / 2}, failure = {0};
    struct err err;
    bool ok;

    context.options = options;
    context.home = environment("HOME");
    context.out = &out;
    context.remarks = &remarks;
    context.failure = &failure;
    context.client = client_of(options, options->api_timeout_s);
    ok = run_command(command, &context, &err);
    vipu_sync_free(context.client);
    if (!ok)
        strv_push(&remarks, failure.len ? str_text(&failure) : err.msg);
    if (options->showjson && remarks.count)
        print_errors_json(&remarks);
    for (size_t i = 0; !options->showjson && i < remarks.count; i++)
        (void)fprintf(stderr, "%s\n", remarks.items[i]);
    return ok ? print(str_text(&out)) : EXIT_FAILURE;
}

/* The complete command line, checked before any request. */
static int check_and_run(const struct options *options, const struct strv *words, struct strv *problems)
{
    const struct command *command = options->server_version ? NULL : grammar_find(words, problems);
    AUTO(mem) struct vipu_ipu *ipus = NULL;
    AUTO(str) struct str script = {0};
    struct vipu_requirements requirements;
    struct command_context context = {.requirements = &requirements, .index = -1, .gcd = -1};

    requirements_gcd(options, &context.gcd, problems);
    requirements_index(options, &context.index, problems);
    if (command) {
        context.id = command->word == WORD_NONE ? NULL : words->items[words->count - 1];
        options_check(options, command, problems);
        if (command->name == COMMAND_CREATE_PARTITION)
            requirements_of(options, context.id, &requirements, &ipus, problems);
        if (command->name == COMMAND_COMPLETION &&
            !opts_completion_script(context.id, COMPLETION_NAMES, COMPLETION_SOURCE, &script))
            strv_pushf(problems, "completion supports bash, zsh and fish, not \"%.40s\"", context.id);
    }
    if (problems->count)
        return print_problems(options, problems);
    if (command && command->name == COMMAND_COMPLETION)
        return print(str_text(&script));
    return run(options, command, &context);
}

static void add_ids(struct completion *completion, struct vipu_sync_client *client)
{
    AUTO(vipu_partitions) struct vipu_partitions partitions = {0};
    AUTO(vipu_allocation_list) struct vipu_allocation_list allocations = {0};
    AUTO(vipu_cluster_list) struct vipu_cluster_list clusters = {0};
    struct err err;
    bool partial;

    if (completion->ids == WORD_PARTITION && vipu_sync_partitions(client, NULL, &partitions, &err))
        for (size_t i = 0; i < partitions.count; i++)
            completion_add_id(completion, partitions.items[i].id);
    if (completion->ids == WORD_ALLOCATION && inventory_allocations(client, &allocations, &partial, &err))
        for (size_t i = 0; i < allocations.count; i++)
            completion_add_id(completion, allocations.items[i].id);
    if (completion->ids == WORD_CLUSTER && inventory_clusters(client, &clusters, &partial, &err))
        for (size_t i = 0; i < clusters.count; i++)
            completion_add_id(completion, clusters.items[i].id);
}

/* argv is "vipu __complete WORD...". After any failure the user gets fewer candidates and no message. */
static int complete(int argc, char **argv)
{
    AUTO(strv) struct strv words = {0}, ignored_words = {0}, ignored = {0};
    AUTO(completion) struct completion completion = {0};
    AUTO(str) struct str out = {0};
    struct options options = {0};
    struct vipu_sync_client *client;

    for (int i = 2; i < argc; i++)
        strv_push(&words, argv[i]);
    completion_of(&words, &completion);
    if (completion.ids != WORD_NONE) {
        /* The word being typed does not count as an option yet. */
        parse(argc - 2, argv + 1, &options, &ignored_words, &ignored);
        client = client_of(&options, COMPLETE_TIMEOUT_S);
        add_ids(&completion, client);
        vipu_sync_free(client);
        opts_release(&options_spec, &options);
    }
    opts_completion_print(&completion.words, &out);
    return print(str_text(&out));
}

static int print_help(const struct strv *words)
{
    bool is_command = words->count && str_eq(words->items[0], "help");
    struct strv of = {.items = words->items + is_command, .count = words->count - is_command};
    AUTO(str) struct str text = {0};

    help_of(&of, &text);
    return print(str_text(&text));
}

static int print_page(void (*page)(struct str *out))
{
    AUTO(str) struct str text = {0};

    page(&text);
    return print(str_text(&text));
}

int vipu_main(int argc, char **argv)
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    struct options options = {0};
    int status = EXIT_SUCCESS;

    /* For the shells' completion scripts and the build; not documented. */
    if (argc > 1 && str_eq(argv[1], "__complete"))
        return complete(argc, argv);
    if (argc > 1 && str_eq(argv[1], "__man"))
        return print_page(help_man);
    switch (parse(argc, argv, &options, &words, &problems)) {
    case OPTS_RUN:
    case OPTS_BAD:
        if (!problems.count && words.count && str_eq(words.items[0], "help"))
            status = print_help(&words);
        else
            status = check_and_run(&options, &words, &problems);
        break;
    case OPTS_HELP:
        status = print_help(&words);
        break;
    case OPTS_VERSION:
        status = print("vipu " IPU_OPERATOR_VERSION "\n");
        break;
    }
    opts_release(&options_spec, &options);
    return status;
}
