#include "operator/kube/auth/credential_files.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"
#include "base/io/loop.h"

#define CREDENTIAL_MAX_BYTES ((size_t)1024 * 1024)
/* A plugin runs again this long before its credentials expire: files are checked each minute. */
#define EXPIRING_S 120

static char **field_of(struct client_config *config, size_t field)
{
    return (char **)(void *)((char *)config + field);
}

/* A token in a header line, or a PEM text, never holds a NUL byte. */
static bool read_source(const struct credential_file *file, char **ret, struct err *err)
{
    AUTO(str) struct str text = {0};

    if (!file_read(file->path, CREDENTIAL_MAX_BYTES, &text, err))
        return false;
    if (file->kind == SOURCE_TOKEN)
        str_trim(&text);
    if (text.len == 0 || memchr(text.ptr, '\0', text.len) != NULL)
        return err_set(err, ERR_INVALID, "%s: file is empty or not text", file->path);
    if (file->kind == SOURCE_TOKEN && strpbrk(text.ptr, " \t\r\n") != NULL)
        return err_set(err, ERR_INVALID, "%s: expected a single token", file->path);
    *ret = str_take(&text);
    return true;
}

static bool load_source(struct client_config *config, struct credential_file *file, struct err *err)
{
    char **slot = field_of(config, file->field);
    AUTO(mem) char *fresh = NULL;

    if (stat(file->path, &file->seen) != 0)
        file->seen = (struct stat){0}; /* the read reports why */
    if (!read_source(file, &fresh, err))
        return false;
    if (file->kind == SOURCE_PEM && !str_eq(*slot, fresh))
        config->generation++;
    mem_free(*slot);
    *slot = TAKE(fresh);
    return true;
}

static struct credential_files *sources_of(struct client_config *config)
{
    if (config->sources == NULL)
        config->sources = NEW(struct credential_files);
    return config->sources;
}

bool credential_files_add(struct client_config *config, const char *path, enum source_kind kind, size_t field,
                          struct err *err)
{
    struct credential_files *sources = sources_of(config);
    struct credential_file *file;

    sources->items = mem_grow(sources->items, sources->count + 1, sizeof(*sources->items));
    file = &sources->items[sources->count++];
    *file = (struct credential_file){.path = mem_strdup(path), .kind = kind, .field = field};
    return load_source(config, file, err);
}

static void take_text(char **slot, char **fresh)
{
    mem_free(*slot);
    *slot = TAKE(*fresh);
}

static bool run_plugin(struct client_config *config, struct err *err)
{
    AUTO(exec_credential) struct exec_credential fresh = {0};

    if (!exec_plugin_run(config->sources->exec_plugin, &fresh, err))
        return false;
    config->sources->expires_s = fresh.expires_s;
    config->generation +=
        !str_eq(config->cert_pem, fresh.cert_pem) || !str_eq(config->key_pem, fresh.key_pem);
    take_text(&config->token, &fresh.token);
    take_text(&config->cert_pem, &fresh.cert_pem);
    take_text(&config->key_pem, &fresh.key_pem);
    return true;
}

bool credential_files_set_exec_plugin(struct client_config *config, struct exec_plugin *plugin,
                                      struct err *err)
{
    sources_of(config)->exec_plugin = plugin;
    return run_plugin(config, err);
}

static bool is_expiring(const struct credential_files *sources)
{
    return sources->expires_s != CREDENTIAL_NEVER_EXPIRES &&
           loop_unix_micros() / 1000000 + EXPIRING_S >= sources->expires_s;
}

void credential_files_free(struct credential_files *sources)
{
    if (sources == NULL)
        return;
    exec_plugin_free(sources->exec_plugin);
    for (size_t i = 0; i < sources->count; i++)
        mem_free(sources->items[i].path);
    mem_free(sources->items);
    mem_free(sources);
}

/* Kubernetes swaps a symbolic link in mounted volumes: the inode changes even if the times do not. */
static bool has_changed(const struct credential_file *file)
{
    struct stat now;

    if (stat(file->path, &now) != 0)
        return true;
    return now.st_ino != file->seen.st_ino || now.st_size != file->seen.st_size ||
           now.st_mtim.tv_sec != file->seen.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != file->seen.st_mtim.tv_nsec;
}

bool credential_files_refresh(struct client_config *config, bool force, struct err *err)
{
    size_t count = config->sources != NULL ? config->sources->count : 0;
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        struct credential_file *file = &config->sources->items[i];

        if (force || has_changed(file))
            good = load_source(config, file, err) && good;
    }
    if (config->sources != NULL && config->sources->exec_plugin != NULL &&
        (force || is_expiring(config->sources)))
        good = run_plugin(config, err) && good;
    return good;
}
