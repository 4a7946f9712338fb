#include "operator/pool/controller_secret.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "lib/check.h"

#define FILES 6

struct file {
    const char *name, *text;
};

/* A Secret as it is mounted: a folder of files. */
static char *mounted(const struct file *files)
{
    static unsigned count;
    char *folder = mem_printf("%s/secret-%u", check_tmpdir(), count++);

    CHECK_INT_EQ(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < FILES && files[i].name; i++) {
        AUTO(mem) char *path = mem_printf("%s/%s", folder, files[i].name);
        struct err err = {0};

        CHECK_OK(file_write(path, 0400, slice_of(files[i].text), &err), err);
    }
    return folder;
}

static const struct file whole[FILES] = {{"user-id", "operator\n"},
                                         {"access-key", " key-of-the-operator \r\n"},
                                         {"ca.crt", "-----BEGIN\n"},
                                         {"job-user-id", "jobs"},
                                         {"job-access-key", "key-of-jobs"}};

TEST(a_secret_is_read_from_its_files)
{
    AUTO(mem) char *folder = mounted(whole);
    AUTO(mem) char *ca_file = mem_printf("%s/ca.crt", folder);
    AUTO(controller_secret) struct controller_secret controller_secret = {0};
    struct err err = {0};

    CHECK_OK(controller_secret_read(folder, &controller_secret, &err), err);
    CHECK_STR_EQ(controller_secret.user_id, "operator");
    CHECK_STR_EQ(controller_secret.key, "key-of-the-operator");
    CHECK_STR_EQ(controller_secret.ca_pem, "-----BEGIN\n");
    CHECK_STR_EQ(controller_secret.ca_file, ca_file);
    CHECK_STR_EQ(controller_secret.job_user_id, "jobs");
    CHECK_STR_EQ(controller_secret.job_key, "key-of-jobs");
}

TEST(a_part_is_enough)
{
    static const struct {
        struct file files[FILES];
        bool has_user, has_ca, has_job_user, has_partition_secret;
    } rows[] = {
        {{{"user-id", "a"}, {"access-key", "k"}}, true, false, false, false},
        {{{"ca.crt", "pem"}}, false, true, false, false},
        {{{"job-user-id", "a"}, {"job-access-key", "k"}}, false, false, true, false},
        {{{"user-id", "a"}, {"access-key", "k"}, {"partition-secret", "s"}}, true, false, false, true}};

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *folder = mounted(row->files);
        AUTO(controller_secret) struct controller_secret controller_secret = {0};
        struct err err = {0};

        CHECK_OK(controller_secret_read(folder, &controller_secret, &err), err);
        CHECK_INT_EQ(controller_secret.user_id != NULL, row->has_user);
        CHECK_INT_EQ(controller_secret.ca_file != NULL, row->has_ca);
        CHECK_INT_EQ(controller_secret.job_key != NULL, row->has_job_user);
        CHECK_INT_EQ(controller_secret.partition_secret != NULL, row->has_partition_secret);
    }
}

TEST(everything_that_is_wrong_with_a_secret_is_reported_and_nothing_of_it_shown)
{
    static const struct {
        struct file files[FILES];
        const char *want;
    } rows[] = {
        {{{0}}, "Secret not found, or it has neither user-id and access-key nor ca.crt"},
        {{{"user-id", "PLANTED"}}, "Secret has user-id but not access-key"},
        {{{"access-key", "PLANTED"}, {"job-user-id", "PLANTED"}},
         "Secret has access-key but not user-id; Secret has job-user-id but not job-access-key"},
        {{{"user-id", "PLANTED"}, {"access-key", " \n"}, {"ca.crt", ""}},
         "access-key is empty; ca.crt is empty"},
        {{{"job-user-id", "PLANTED"}, {"job-access-key", "PLANTED"}, {"partition-secret", "PLANTED"}},
         "Secret has both job-user-id and partition-secret; remove one of them"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *folder = mounted(row->files);
        AUTO(controller_secret) struct controller_secret controller_secret = {0};
        struct err err = {0};

        CHECK_ERR(controller_secret_read(folder, &controller_secret, &err), err, ERR_INVALID);
        CHECK_STR_EQ(err.msg, row->want);
    }
}

TEST(what_was_known_stays_when_a_secret_cannot_be_read)
{
    AUTO(mem) char *folder = mounted(whole);
    AUTO(controller_secret) struct controller_secret controller_secret = {0}, same = {0};
    AUTO(mem) char *path = mem_printf("%s/access-key", folder);
    struct err err = {0};

    CHECK_OK(controller_secret_read(folder, &controller_secret, &err), err);
    CHECK_OK(controller_secret_read(folder, &same, &err), err);
    CHECK(controller_secret_equal(&controller_secret, &same));
    CHECK_INT_EQ(remove(path), 0);
    CHECK_ERR(controller_secret_read(folder, &controller_secret, &err), err, ERR_INVALID);
    CHECK(controller_secret_equal(&controller_secret, &same));
    CHECK_OK(file_write(path, 0400, SLICE_LIT("another"), &err), err);
    CHECK_OK(controller_secret_read(folder, &controller_secret, &err), err);
    CHECK(!controller_secret_equal(&controller_secret, &same));
}

TEST(a_key_longer_than_any_is_rejected)
{
    AUTO(str) struct str text = {0};
    struct err err = {0};
    AUTO(controller_secret) struct controller_secret controller_secret = {0};

    for (int i = 0; i < 2000; i++)
        str_addc(&text, 'k');
    AUTO(mem)
    char *folder = mounted((const struct file[FILES]){{"user-id", "a"}, {"access-key", text.ptr}});
    CHECK_ERR(controller_secret_read(folder, &controller_secret, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "access-key");
    CHECK(!strstr(err.msg, "kkk"));
}

TEST(a_denied_user_learns_where_to_look)
{
    static const struct {
        const char *secret;
        bool sent;
        enum err_kind kind;
        const char *want;
    } rows[] = {
        {"pod1", true, ERR_DENIED, "no; check user-id and access-key in Secret pod1"},
        {"pod1", false, ERR_DENIED, "no; check ca.crt in Secret pod1"},
        {NULL, true, ERR_DENIED,
         "no; set secretRef in vipuControllers to a Secret with user-id and access-key"},
        {NULL, false, ERR_DENIED, "no; set secretRef in vipuControllers to a Secret with ca.crt"},
        {"pod1", true, ERR_IO, "no"},
    };

    CHECK_ROWS (row, rows) {
        struct vipu_controller_config config = {.secret = row->secret ? mem_strdup(row->secret) : NULL};
        struct err err = {0};

        err_set(&err, row->kind, "no");
        controller_secret_explain_error(&config, row->sent, &err);
        CHECK_STR_EQ(err.msg, row->want);
        CHECK_INT_EQ(err.kind, row->kind);
        mem_free(config.secret);
    }
}
