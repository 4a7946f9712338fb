#include "operator/admin/subcommand.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "base/options/opts_completion.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/kube/auth/config_loader.h"

static int run_connected(subcommand_fn run, struct subcommand_access *access,
                         const char *(*env)(const char *))
{
    struct client_config config = {0};
    struct err err = {0};
    int exit_code = SUBCOMMAND_FAILED;

    if (client_config_load(&(struct client_config_options){.kubeconfig = access->kubeconfig,
                                                           .context = access->context,
                                                           .may_run_plugins = true,
                                                           .env = env},
                           &config, &err)) {
        struct loop *loop = loop_new();
        struct kube *kube = kube_new(loop, &config, &(struct kube_options){.program = "ipu-operator"}, &err);

        if (kube) {
            access->ns = config.ns;
            exit_code = run(access, loop, kube);
            kube_free(kube);
        }
        loop_free(loop);
    }
    if (err.kind != ERR_NONE)
        (void)fprintf(stderr, "ipu-operator: %s\n", err.msg);
    client_config_release(&config);
    return exit_code;
}

static void read_argument(struct subcommand_access *access, const struct strv *words, struct strv *problems)
{
    size_t taken = access->noun && words->count ? 1 : 0;

    if (taken)
        access->word = mem_strdup(words->items[0]);
    else if (access->noun)
        strv_pushf(problems, "missing %s; see --help", access->noun);
    for (size_t i = taken; i < words->count; i++)
        strv_pushf(problems, "unexpected argument \"%s\"; see --help", words->items[i]);
}

int subcommand_main(const struct opts_spec *spec, struct subcommand_access *access, subcommand_fn run,
                    int argc, char **argv, const char *(*env)(const char *))
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};
    int exit_code = SUBCOMMAND_BAD_USAGE;

    log_setup(LOG_WARN, false);
    if (opts_completion_answer(spec, NULL, argc, argv, &text))
        return fputs(str_text(&text), stdout) < 0 ? SUBCOMMAND_BAD_USAGE : SUBCOMMAND_OK;
    switch (opts_parse(spec, argc, argv, env, false, access, &words, &problems)) {
    case OPTS_HELP:
        opts_help(spec, &text);
        exit_code = fputs(str_text(&text), stdout) < 0 ? SUBCOMMAND_BAD_USAGE : SUBCOMMAND_OK;
        break;
    case OPTS_VERSION:
        exit_code = puts("ipu-operator " IPU_OPERATOR_VERSION) < 0 ? SUBCOMMAND_BAD_USAGE : SUBCOMMAND_OK;
        break;
    case OPTS_RUN:
    case OPTS_BAD:
        read_argument(access, &words, &problems);
        for (size_t i = 0; i < problems.count; i++)
            (void)fprintf(stderr, "%s: %s\n", spec->program, problems.items[i]);
        if (problems.count == 0)
            exit_code = run_connected(run, access, env);
        break;
    }
    mem_free(access->word);
    opts_release(spec, access);
    return exit_code;
}
