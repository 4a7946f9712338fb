#include "operator/pool/partition_key.h"

#include "base/core/str.h"
#include "lib/check.h"

/* echo -n UID/ID | openssl dgst -sha256 -hmac SECRET */
TEST(a_key_is_an_hmac_of_job_and_partition)
{
    char *key = partition_key_derive("secret", "p-a-b-c-0", "8d3a");

    CHECK_STR_EQ(key, "04cb3602db2b2b3abe0fabab93785ca060642ab6e719232f83ac6cf1300e4a82");
    mem_free_secret(key);
}

TEST(each_secret_partition_and_job_has_another_key)
{
    static const struct {
        const char *secret, *id, *uid;
    } rows[] = {{"secret", "p-a-b-c-0", "8d3a"},
                {"secreT", "p-a-b-c-0", "8d3a"},
                {"secret", "p-a-b-c-1", "8d3a"},
                {"secret", "p-a-b-c-0", "8d3b"}};
    char *keys[COUNT_OF(rows)];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        keys[i] = partition_key_derive(rows[i].secret, rows[i].id, rows[i].uid);
        for (size_t k = 0; k < i; k++)
            CHECK(!str_eq(keys[i], keys[k]));
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        mem_free_secret(keys[i]);
}
