#include "local/run/controller_credentials.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "local/run/run_dir.h"
#include "operator/pool/controller_secret.h"

#define FILE_MAX_BYTES ((size_t)1024 * 1024)

bool controller_credentials_put(const struct run_dir *dir, const char *key, struct slice value,
                                struct err *err)
{
    AUTO(mem) char *folder = mem_printf("%s/" CONTROLLER_SECRET, dir->credentials);
    AUTO(mem) char *path = mem_printf("%s/%s", folder, key);

    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot create %s", folder);
    return file_write(path, 0600, value, err);
}

/* The user's programs are the user's own: they reach the controller with the same key. */
static const struct row {
    const char *key, *variable;
    bool is_file;
} rows[] = {
    {ACCESS_USER_ID, "VIPU_CLI_API_USER_ID", false},
    {ACCESS_KEY, "VIPU_CLI_API_ACCESS_KEY", false},
    {ACCESS_JOB_USER_ID, "VIPU_CLI_API_USER_ID", false},
    {ACCESS_JOB_KEY, "VIPU_CLI_API_ACCESS_KEY", false},
    {ACCESS_CA, "VIPU_CLI_API_CA_CERT", true},
    {ACCESS_CERTIFICATE, "VIPU_CLI_API_CLIENT_CERT", true},
    {ACCESS_CERTIFICATE_KEY, "VIPU_CLI_API_CLIENT_KEY", true},
};

static bool copy(const struct run_dir *dir, const struct row *row, const char *value, struct err *err)
{
    AUTO(str) struct str text = {0};

    if (!row->is_file)
        return controller_credentials_put(dir, row->key, slice_of(value), err);
    if (!file_read(value, FILE_MAX_BYTES, &text, err))
        return err_wrap(err, "variable %s", row->variable);
    return controller_credentials_put(dir, row->key, str_slice(&text), err);
}

bool controller_credentials_copy(const struct run_dir *dir, const char *(*environment)(const char *),
                                 struct vipu_controller_config *config, struct err *err)
{
    const char *tls = environment("VIPU_CLI_API_TLS"), *certificate = environment("VIPU_CLI_API_CLIENT_CERT");
    bool has_secret = false;

    config->tls =
        str_eq(tls, "true") || str_eq(tls, "1") || environment("VIPU_CLI_API_CA_CERT") || certificate;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *value = environment(rows[i].variable);

        if (!value && str_eq(rows[i].key, ACCESS_CERTIFICATE_KEY))
            value = certificate; /* as for vipu, the file may hold both */
        if (value && !copy(dir, &rows[i], value, err))
            return false;
        has_secret = has_secret || value;
    }
    if (has_secret)
        mem_set_str(&config->secret, CONTROLLER_SECRET);
    return true;
}
