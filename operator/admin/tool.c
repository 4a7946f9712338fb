#include "operator/admin/tool.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/opts.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client.h"
#include "operator/kube/identity.h"

static int run(const struct tool *tool, const char *(*env)(const char *))
{
    struct identity identity = {0};
    struct err err = {0};
    int exit_code = TOOL_REFUSED;

    if (identity_load(&(struct identity_options){.kubeconfig = *tool->kubeconfig,
                                                 .context = *tool->context,
                                                 .env = env},
                      &identity, &err)) {
        struct loop *loop = loop_new();
        struct kube *kube =
            kube_new(loop, &identity, &(struct kube_options){.program = "ipu-operator"}, &err);

        if (kube) {
            exit_code = tool->run(tool->settings, loop, kube);
            kube_free(kube);
        }
        loop_free(loop);
    }
    if (err.kind != ERR_NONE)
        (void)fprintf(stderr, "ipu-operator: %s\n", err.msg);
    identity_release(&identity);
    return exit_code;
}

int tool_main(const struct tool *tool, int argc, char **argv, const char *(*env)(const char *))
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};
    int exit_code = TOOL_BAD_USAGE;

    log_setup(LOG_WARN, false);
    switch (opts_parse(tool->spec, argc, argv, env, false, tool->settings, &words, &problems)) {
    case OPTS_HELP:
        opts_help(tool->spec, &text);
        exit_code = fputs(str_text(&text), stdout) < 0 ? TOOL_BAD_USAGE : TOOL_DONE;
        break;
    case OPTS_VERSION:
        exit_code = puts("ipu-operator " IPU_OPERATOR_VERSION) < 0 ? TOOL_BAD_USAGE : TOOL_DONE;
        break;
    case OPTS_RUN:
    case OPTS_BAD:
        for (size_t i = 0; i < words.count; i++)
            strv_pushf(&problems, "\"%s\" is no option; see --help", words.items[i]);
        for (size_t i = 0; i < problems.count; i++)
            (void)fprintf(stderr, "%s: %s\n", tool->spec->program, problems.items[i]);
        if (problems.count == 0)
            exit_code = run(tool, env);
        break;
    }
    opts_release(tool->spec, tool->settings);
    return exit_code;
}
