#include "launcher/env/envv.h"

#include <string.h>

#include "base/core/mem.h"

static void reserve(struct envv *env, size_t count)
{
    if (count + 1 <= env->cap)
        return;
    env->cap = count + 32;
    env->items = mem_grow(env->items, env->cap, sizeof(*env->items));
}

void envv_init(struct envv *env, char *const *inherited)
{
    size_t count = 0;

    while (inherited[count])
        count++;
    *env = (struct envv){0};
    reserve(env, count);
    memcpy(env->items, inherited, (count + 1) * sizeof(*inherited));
    env->count = count;
}

void envv_release(struct envv *env)
{
    mem_free(env->items);
    strv_release(&env->added);
    *env = (struct envv){0};
}

static size_t name_len(const char *entry)
{
    const char *equals = strchr(entry, '=');

    return equals ? (size_t)(equals - entry) : 0;
}

static char **find(const struct envv *env, const char *name, size_t len)
{
    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            return &env->items[i];
    }
    return NULL;
}

const char *envv_get(const struct envv *env, const char *name)
{
    size_t len = strlen(name);
    char **entry = find(env, name, len);

    return entry ? *entry + len + 1 : NULL;
}

static bool is_wrapped(const char *entry, const char *prefix)
{
    size_t len = strlen(prefix);

    return str_has_prefix(entry, prefix) && name_len(entry) > len && !str_has_prefix(entry + len, prefix);
}

size_t envv_count(const struct envv *env, const char *prefix)
{
    size_t count = 0;

    for (size_t i = 0; i < env->count; i++)
        count += is_wrapped(env->items[i], prefix);
    return count;
}

static char **new_entry(struct envv *env)
{
    reserve(env, env->count + 1);
    env->items[env->count + 1] = NULL;
    return &env->items[env->count++];
}

/* A value that was set before is replaced in place, so that `added` has each name once. */
static void replace(struct envv *env, char **entry, char *text)
{
    for (size_t i = 0; i < env->added.count; i++) {
        if (env->added.items[i] == *entry) {
            mem_free(*entry);
            *entry = env->added.items[i] = text;
            return;
        }
    }
    strv_push_take(&env->added, text);
    *entry = text;
}

void envv_set(struct envv *env, const char *name, const char *value)
{
    char *text = mem_printf("%s=%s", name, value); /* value may be the one that is replaced */
    char **entry = find(env, name, strlen(name));

    if (entry) {
        replace(env, entry, text);
        return;
    }
    strv_push_take(&env->added, text);
    *new_entry(env) = text;
}

void envv_default(struct envv *env, const char *name, const char *value)
{
    if (!find(env, name, strlen(name)))
        envv_set(env, name, value);
}

/* An entry that was added stays allocated until the end. */
void envv_unset(struct envv *env, const char *name)
{
    char **entry = find(env, name, strlen(name));

    if (!entry)
        return;
    for (; *entry; entry++)
        entry[0] = entry[1];
    env->count--;
}

/* Removes the prefix, in an owned copy; false if the name is taken. */
static bool unwrap(struct envv *env, const char *prefix, char **entry)
{
    const char *bare = *entry + strlen(prefix);

    if (find(env, bare, name_len(bare)))
        return false;
    *entry = mem_strdup(bare);
    strv_push_take(&env->added, *entry);
    return true;
}

void envv_unwrap(struct envv *env, const char *prefix)
{
    size_t kept = 0;

    for (size_t i = 0; i < env->count; i++) {
        char *entry = env->items[i];

        if (!is_wrapped(entry, prefix) || unwrap(env, prefix, &entry))
            env->items[kept++] = entry;
    }
    env->count = kept;
    env->items[kept] = NULL;
}
