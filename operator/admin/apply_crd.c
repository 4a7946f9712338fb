#include "operator/admin/apply_crd.h"

#include <stdio.h>

#include "base/io/file.h"
#include "base/io/loop.h"
#include "operator/admin/subcommand.h"
#include "operator/kube/client/client.h"

/* Helm 4 applies the definition itself when it installs a release, in this name. A different field manager
 * would own it too, and the next install with another definition would be rejected as a conflict. */
#define FIELD_MANAGER "helm"

enum { FILE_MAX_BYTES = 1 << 20 };

struct settings {
    struct subcommand_access access;
    char *file;
};

#define AT(field) offsetof(struct settings, field)

static const struct opt ROWS[] = {
    OPT_VALUE("file", OPT_STR, AT(file), "FILE", "CustomResourceDefinition of IPUJobs, as YAML or JSON",
              .fallback = "/etc/ipu-operator/crd/ipujobs.graphcore.ai.yaml"),
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator apply-crd",
    .usage = "ipu-operator apply-crd [options]",
    .about = "Applies the CustomResourceDefinition of IPUJobs from a file. Exits with status 0 on success.",
    .rows = ROWS,
};

struct applying {
    struct loop *loop;
    int exit_code;
};

static void on_answer(void *ctx, struct kube_response *res)
{
    struct applying *a = ctx;

    loop_stop(a->loop);
    if (res->err.kind == ERR_NONE) {
        a->exit_code = puts("The CustomResourceDefinition of IPUJobs is up to date.") < 0 ? SUBCOMMAND_FAILED
                                                                                          : SUBCOMMAND_OK;
        return;
    }
    (void)fprintf(stderr, "ipu-operator: cannot apply the CustomResourceDefinition of IPUJobs: %s\n",
                  res->message[0] ? res->message : res->err.msg);
}

static int apply(void *ctx, struct loop *loop, struct kube *kube)
{
    const struct settings *settings = ctx;
    struct applying a = {.loop = loop, .exit_code = SUBCOMMAND_FAILED};
    AUTO(str) struct str text = {0};
    AUTO(str) struct str name = {0};
    struct err err = {0};

    if (!file_read(settings->file, FILE_MAX_BYTES, &text, &err)) {
        (void)fprintf(stderr, "ipu-operator: %s\n", err.msg);
        return SUBCOMMAND_FAILED;
    }
    str_addf(&name, "%s.%s", KUBE_IPUJOBS.plural, KUBE_IPUJOBS.group);
    kube_send(kube,
              &(struct kube_request){
                  .method = "PATCH",
                  .resource = &KUBE_CRDS,
                  .name = str_text(&name),
                  .query = (const char *[]){"fieldManager", FIELD_MANAGER, "force", "true", NULL},
                  .text = str_slice(&text),
                  .content_type = KUBE_APPLY_PATCH,
              },
              on_answer, &a);
    loop_run(loop);
    return a.exit_code;
}

int apply_crd_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {0};

    return subcommand_main(&SPEC, &settings.access, apply, argc, argv, env);
}
