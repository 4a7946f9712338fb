/* Access keys: what is one, and who has it. */
#include "lib/check.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/server/config/access_keys.h"

#define SALT "00112233445566778899aabbccddeeff"
#define HASH SALT SALT

TEST(sound_keys)
{
    static const struct {
        const char *key;
        bool sound;
    } rows[] = {
        {"685X_K4uCzN", true}, {"12345678", true},  {"!~~~~~~~", true},     {"1234567", false},
        {"", false},           {"1234 678", false}, {"1234567\x7f", false}, {"1234567\xc3\xa4", false},
        {"1234567\n", false},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(access_key_is_well_formed(row->key), row->sound);
    }
}

TEST(lines_that_are_hashes)
{
    static const struct {
        const char *text;
        bool is_hash;
    } rows[] = {
        {"hmac-sha256:" SALT ":" HASH, true},
        {"hmac-sha256:" SALT ":" HASH "0", false},
        {"hmac-sha256:" SALT ":" SALT, false},
        {"hmac-sha256:" SALT HASH, false},
        {"hmac-sha256:" HASH ":" SALT, false},
        {"hmac-sha512:" SALT ":" HASH, false},
        {"hmac-sha256:00112233445566778899AABBCCDDEEFF:" HASH, false},
        {"hmac-sha256:", false},
        {"", false},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(access_key_is_hash(row->text), row->is_hash);
    }
}

TEST(a_hash_lets_its_key_in_and_no_other)
{
    AUTO(str) struct str one = {0};
    AUTO(str) struct str two = {0};
    struct user user = {0};
    struct err err;

    CHECK_OK(access_key_hash("685X_K4uCzN", &one, &err), err);
    CHECK_OK(access_key_hash("685X_K4uCzN", &two, &err), err);
    CHECK(access_key_is_hash(str_text(&one)));
    CHECK(strcmp(str_text(&one), str_text(&two)) != 0);
    user.key.hash = one.ptr;
    CHECK(access_key_matches(&user, "685X_K4uCzN"));
    CHECK(!access_key_matches(&user, "685X_K4uCzM"));
    CHECK(!access_key_matches(&user, "685X_K4uCz"));
    CHECK(!access_key_matches(&user, ""));
    CHECK_ERR(access_key_hash("short", &one, &err), err, ERR_INVALID);
}

TEST(a_user_without_a_key_grants_no_access)
{
    CHECK(!access_key_matches(&(struct user){0}, ""));
    CHECK(!access_key_matches(&(struct user){.key.file = "not-read"}, "not-read"));
}

static bool load(const char *content, struct users *users, struct strv *problems)
{
    struct err err;

    *users = (struct users){.items = NEW(struct user), .count = 1};
    users->items[0].line = 7;
    users->items[0].key.file = mem_printf("%s/key", check_tmpdir());
    CHECK_OK(file_write(users->items[0].key.file, 0600, slice_of(content), &err), err);
    return access_keys_load(users, "config", problems);
}

TEST(keys_from_files)
{
    static const char *const good[] = {"12345678", "12345678\n", "12345678\r\n", "12345678\n\n"};
    static const char *const bad[] = {"", "\n", "1234567\n", "12345678\n12345678\n", " 12345678\n"};
    struct users users;

    CHECK_ROWS (row, good) {
        AUTO(strv) struct strv problems = {0};

        CHECK(load(*row, &users, &problems));
        CHECK(access_key_matches(&users.items[0], "12345678"));
        users_release(&users);
    }
    CHECK_ROWS (row, bad) {
        AUTO(strv) struct strv problems = {0};

        CHECK(!load(*row, &users, &problems));
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], "config: line 7: ");
        CHECK_HAS(problems.items[0], ACCESS_KEY_RULE);
        users_release(&users);
    }
}
