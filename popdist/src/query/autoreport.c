/* The folder for the reports of this instance if poprun --autoreport-dir requested them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "popdist/contract.h"
#include "popdist/popdist.h"
#include "popdist/src/core/fail.h"
#include "popdist/src/query/settings.h"

#define ENV_ENGINE_OPTIONS "POPLAR_ENGINE_OPTIONS"
#define PREFIX "\"autoReport."

/* The value of the key at `at`, without its opening quote; NULL if `at` is not a key of a JSON object. */
static const char *value_of(const char *at)
{
    at = strchr(at + 1, '"');
    if (!at)
        return NULL;
    at += 1 + strspn(at + 1, " \t\r\n");
    if (*at != ':')
        return NULL;
    at += 1 + strspn(at + 1, " \t\r\n");
    return *at == '"' ? at + 1 : at;
}

/* Whether the engine options mention reports, and whether they switch all of them off. */
static bool mentions_reports(const char *options, bool *ret_off)
{
    bool mentions = false;

    *ret_off = false;
    for (const char *at = strstr(options, PREFIX); at; at = strstr(at + 1, PREFIX)) {
        const char *value = value_of(at);

        if (!value)
            continue;
        mentions = true;
        if (strncmp(at, PREFIX "all\"", sizeof PREFIX "all\"" - 1) == 0)
            *ret_off = strncmp(value, "false", 5) == 0;
    }
    return mentions;
}

static enum popdist_status make_directories(char *path, struct popdist_error *error)
{
    for (char *at = path + 1;; at++) {
        char kept = *at;

        if (kept != '/' && kept)
            continue;
        *at = '\0';
        if (mkdir(path, 0777) && errno != EEXIST) {
            int code = errno;
            enum popdist_status status = fail(error, POPDIST_INVALID,
                                              "cannot create the report directory %.500s: %s; set poprun "
                                              "--autoreport-dir to a writable directory",
                                              path, strerrordesc_np(code));

            *at = kept;
            return status;
        }
        *at = kept;
        if (!kept)
            return POPDIST_OK;
    }
}

enum popdist_status popdist_autoreport(char *directory, size_t size, bool *enable_all,
                                       struct popdist_error *error)
{
    const char *parent = setting_text(POPDIST_ENV_AUTOREPORT_DIRECTORY);
    const char *options = setting_text(ENV_ENGINE_OPTIONS);
    bool off = false, mentioned = options && mentions_reports(options, &off);
    uint32_t index = 0;
    enum popdist_status status = parent ? popdist_instance_index(&index, error) : POPDIST_OK;
    int length;

    if (status)
        return status;
    if (!size)
        return fail(error, POPDIST_INVALID, "out of memory for the name of the report directory");
    length = parent ? snprintf(directory, size, "%s/%" PRIu32, parent, index) : 0;
    if (length < 0 || (size_t)length >= size)
        return fail(error, POPDIST_INVALID, "%s is longer than %zu bytes; use a shorter directory",
                    POPDIST_ENV_AUTOREPORT_DIRECTORY, size);
    directory[length] = '\0';
    if (parent && !off)
        status = make_directories(directory, error);
    if (!status)
        *enable_all = parent && !mentioned;
    return status;
}
