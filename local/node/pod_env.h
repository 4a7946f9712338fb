/* The environment and the words of a container, as a kubelet makes them from a pod: `envFrom`, `env` with
 * `valueFrom`, and $(NAME) in values, command and args. Pure. */
#pragma once

#include "base/core/err.h"
#include "base/doc/json.h"

/* Where a pod's ConfigMaps, Secrets and tokens are. */
struct pod_source {
    /* The object of that kind and name in the pod's namespace, borrowed; NULL: there is none. */
    const cJSON *(*find)(void *ctx, const char *plural, const char *ns, const char *name);
    char *(*token)(void *ctx, const cJSON *pod); /* owned by the caller */
    void *ctx;
};

/* The bytes of one key of a ConfigMap or a Secret, appended; false: the object does not have it. */
bool pod_source_value(const cJSON *object, const char *key, struct str *ret);
/* NULL if it does not exist; ERR_NOT_FOUND then, unless the reference is optional. */
const cJSON *pod_source_find(const struct pod_source *source, const char *plural, const cJSON *pod,
                             const cJSON *reference, const char *name, struct err *err);
/* The value of a fieldRef; NULL: it is not one that a kubelet knows. Owned by the caller. */
char *pod_field(const cJSON *pod, const char *path);

/* Adds "NAME=value" for each variable to `env`, in which earlier ones are replaced. */
MUST_USE bool pod_env_make(const cJSON *pod, const cJSON *container, const struct pod_source *source,
                           struct strv *env, struct err *err);
const char *pod_env_find(const struct strv *env, const char *name); /* NULL: it is not set */
void pod_env_set(struct strv *env, const char *name, const char *value);
/* "$(NAME)" becomes the variable's value, if there is one, and "$$" becomes "$". Owned by the caller. */
char *pod_env_expand(const struct strv *env, const char *text);
/* The words of command and args, or of one list. */
void pod_env_add_words(const struct strv *env, const cJSON *list, struct strv *words);
