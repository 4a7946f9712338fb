#include "operator/admin/apply_crd.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/loop.h"
#include "operator/admin/subcommand.h"
#include "operator/kube/client/client.h"

/* Helm 4 applies the definition itself when it installs a release, in this name. A different field manager
 * would own it too, and the next install with another definition would be rejected as a conflict. */
#define FIELD_MANAGER "helm"

enum { FILE_MAX_BYTES = 1 << 20 };

/* The chart's. */
#define FOLDER "/etc/ipu-operator/crd/"
static const char *const FILES[] = {FOLDER "ipujobs.graphcore.ai.yaml",
                                    FOLDER "vipucontrollers.graphcore.ai.yaml"};

struct settings {
    struct subcommand_access access;
    struct strv files;
};

#define AT(field) offsetof(struct settings, field)

static const struct opt ROWS[] = {
    OPT_VALUE("file", OPT_LIST, AT(files), "FILE",
              "CustomResourceDefinition of the operator, as YAML or JSON; may be repeated; default: those in "
              "/etc/ipu-operator/crd"),
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator apply-crd",
    .usage = "ipu-operator apply-crd [options]",
    .about = "Applies the CustomResourceDefinitions of the operator from files. Exits with status 0 on "
             "success.",
    .rows = ROWS,
};

struct applying {
    struct loop *loop;
    const char *name; /* of the definition */
    bool is_done;
};

static void on_answer(void *ctx, struct kube_response *res)
{
    struct applying *a = ctx;

    loop_stop(a->loop);
    a->is_done = res->err.kind == ERR_NONE;
    if (!a->is_done)
        (void)fprintf(stderr, "ipu-operator: cannot apply CustomResourceDefinition %s: %s\n", a->name,
                      res->message[0] ? res->message : res->err.msg);
}

static bool send(struct loop *loop, struct kube *kube, const char *name, struct slice text)
{
    struct applying a = {.loop = loop, .name = name};

    kube_send(kube,
              &(struct kube_request){
                  .method = "PATCH",
                  .resource = &KUBE_CRDS,
                  .name = name,
                  .query = (const char *[]){"fieldManager", FIELD_MANAGER, "force", "true", NULL},
                  .text = text,
                  .content_type = KUBE_APPLY_PATCH,
              },
              on_answer, &a);
    loop_run(loop);
    return a.is_done;
}

/* The API server compares it with the definition's own. False: it is no definition of the operator. */
static bool find_name(const char *text, struct str *ret)
{
    static const struct kube_resource *const known[] = {&KUBE_IPUJOBS, &KUBE_VIPU_CONTROLLERS};

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        str_clear(ret);
        str_addf(ret, "%s.%s", known[i]->plural, known[i]->group);
        if (strstr(text, str_text(ret)))
            return true;
    }
    return false;
}

static bool apply_file(struct loop *loop, struct kube *kube, const char *file)
{
    AUTO(str) struct str text = {0};
    AUTO(str) struct str name = {0};
    struct err err = {0};

    if (!file_read(file, FILE_MAX_BYTES, &text, &err)) {
        (void)fprintf(stderr, "ipu-operator: %s\n", err.msg);
        return false;
    }
    if (!find_name(str_text(&text), &name)) {
        (void)fprintf(stderr, "ipu-operator: %s is not a CustomResourceDefinition of the operator\n", file);
        return false;
    }
    return send(loop, kube, str_text(&name), str_slice(&text));
}

static int apply(void *ctx, struct loop *loop, struct kube *kube)
{
    const struct settings *settings = ctx;
    size_t count = settings->files.count;
    const char *const *files = count ? (const char *const *)settings->files.items : FILES;

    for (size_t i = 0; i < (count ? count : COUNT_OF(FILES)); i++) {
        if (!apply_file(loop, kube, files[i]))
            return SUBCOMMAND_FAILED;
    }
    return puts("The CustomResourceDefinitions are up to date.") < 0 ? SUBCOMMAND_FAILED : SUBCOMMAND_OK;
}

int apply_crd_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {0};

    return subcommand_main(&SPEC, &settings.access, apply, argc, argv, env);
}
