#include "operator/pool/controller_secret.h"

#include <stddef.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"

#define WORD_MAX_BYTES ((size_t)1024)
#define CA_MAX_BYTES ((size_t)1024 * 1024) /* of a whole Secret */
#define BLANKS " \t\r\n"

static const struct row {
    const char *key;
    size_t offset;
    bool is_word; /* one line; blanks around it are dropped, as files often end in a new line */
} rows[] = {
    {ACCESS_USER_ID, offsetof(struct controller_secret, user_id), true},
    {ACCESS_KEY, offsetof(struct controller_secret, key), true},
    {ACCESS_CA, offsetof(struct controller_secret, ca_pem), false},
    {ACCESS_CERTIFICATE, offsetof(struct controller_secret, cert_pem), false},
    {ACCESS_CERTIFICATE_KEY, offsetof(struct controller_secret, cert_key_pem), false},
    {ACCESS_JOB_USER_ID, offsetof(struct controller_secret, job_user_id), true},
    {ACCESS_JOB_KEY, offsetof(struct controller_secret, job_key), true},
    {ACCESS_PARTITION_SECRET, offsetof(struct controller_secret, partition_secret), true},
};

static char **slot(const struct controller_secret *secret, const struct row *row)
{
    return (char **)(void *)((char *)(uintptr_t)secret + row->offset);
}

void controller_secret_release(struct controller_secret *secret)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        mem_free_secret(*slot(secret, &rows[i]));
    mem_free(secret->ca_file);
    mem_free(secret->cert_file);
    mem_free(secret->cert_key_file);
    *secret = (struct controller_secret){0};
}

bool controller_secret_equal(const struct controller_secret *a, const struct controller_secret *b)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!str_eq(*slot(a, &rows[i]), *slot(b, &rows[i])))
            return false;
    }
    return true;
}

static void trim(struct str *text)
{
    while (text->len && strchr(BLANKS, text->ptr[text->len - 1]))
        text->ptr[--text->len] = '\0';
    str_drop(text, strspn(str_text(text), BLANKS));
}

/* A missing file is NULL; check() decides whether it may be missing. */
static void read_row(const char *folder, const struct row *row, struct controller_secret *ret,
                     struct strv *problems)
{
    AUTO(mem) char *path = mem_printf("%s/%s", folder, row->key);
    AUTO(str) struct str text = {0};
    struct err err = {0};

    if (!file_read(path, row->is_word ? WORD_MAX_BYTES : CA_MAX_BYTES, &text, &err)) {
        if (err.kind != ERR_NOT_FOUND)
            strv_push(problems, err.msg);
        return;
    }
    if (row->is_word)
        trim(&text);
    if (text.len == 0 || memchr(text.ptr, '\0', text.len))
        strv_pushf(problems, "%s is %s", row->key, text.len ? "not text" : "empty");
    else
        *slot(ret, row) = str_take(&text);
}

static void check_pair(const char *id_key, const char *id, const char *key_key, const char *key,
                       struct strv *problems)
{
    if (!id != !key)
        strv_pushf(problems, "Secret has %s but not %s", id ? id_key : key_key, id ? key_key : id_key);
}

static void check(const struct controller_secret *secret, struct strv *problems)
{
    check_pair(ACCESS_USER_ID, secret->user_id, ACCESS_KEY, secret->key, problems);
    check_pair(ACCESS_CERTIFICATE, secret->cert_pem, ACCESS_CERTIFICATE_KEY, secret->cert_key_pem, problems);
    check_pair(ACCESS_JOB_USER_ID, secret->job_user_id, ACCESS_JOB_KEY, secret->job_key, problems);
    if (secret->job_user_id && secret->partition_secret)
        strv_push(problems, "Secret has both " ACCESS_JOB_USER_ID " and " ACCESS_PARTITION_SECRET
                            "; remove one of them");
    if (!secret->user_id && !secret->ca_pem && !secret->cert_pem && !secret->job_user_id)
        strv_push(problems,
                  "Secret not found, or it has neither " ACCESS_USER_ID " and " ACCESS_KEY " nor " ACCESS_CA);
}

bool controller_secret_read(const char *folder, struct controller_secret *ret, struct err *err)
{
    AUTO(controller_secret) struct controller_secret fresh = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        read_row(folder, &rows[i], &fresh, &problems);
    if (problems.count == 0)
        check(&fresh, &problems);
    for (size_t i = 0; i < problems.count; i++)
        str_addf(&text, "%s%s", i ? "; " : "", problems.items[i]);
    if (problems.count)
        return err_set(err, ERR_INVALID, "%s", str_text(&text));
    if (fresh.ca_pem)
        fresh.ca_file = mem_printf("%s/%s", folder, ACCESS_CA);
    if (fresh.cert_pem) {
        fresh.cert_file = mem_printf("%s/%s", folder, ACCESS_CERTIFICATE);
        fresh.cert_key_file = mem_printf("%s/%s", folder, ACCESS_CERTIFICATE_KEY);
    }
    controller_secret_release(ret);
    *ret = fresh;
    fresh = (struct controller_secret){0};
    return true;
}

void controller_secret_explain_error(const struct vipu_controller_config *config, bool sent, struct err *err)
{
    AUTO(mem) char *text = mem_strdup(err->msg);

    if (err->kind != ERR_DENIED)
        return;
    if (config->secret)
        err_set_code(err, err->kind, err->code, "%s; check %s in Secret %s", text,
                     sent ? ACCESS_USER_ID " and " ACCESS_KEY : ACCESS_CA, config->secret);
    else
        err_set_code(err, err->kind, err->code, "%s; set secretRef in vipuControllers to a Secret with %s",
                     text, sent ? ACCESS_USER_ID " and " ACCESS_KEY : ACCESS_CA);
}
