#include "operator/api/names.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"

#define UID "64d842cc-1663-d522-aaaa-bbbbccccdddd"

TEST(names_are_those_of_the_original)
{
    AUTO(mem) char *pod = name_worker_pod("bert-training-multi-ipu-x7k2p", 0);
    AUTO(mem) char *id = name_partition("p", "bert-poprun-64ipus", "gc-dev", 0);
    AUTO(mem) char *mnist = name_worker_pod("mnist-training", 0);
    AUTO(mem) char *service = name_worker_service("mnist-training", UID);

    CHECK_STR_EQ(pod, "bert-training-multi-ipu-x7k2p-worker-0");
    CHECK_STR_EQ(id, "p-bert-poprun-64ipus-gc-dev-0");
    CHECK_STR_EQ(mnist, "mnist-training-worker-0");
    CHECK_STR_EQ(service, "mnist-training-workers");
}

TEST(a_host_name_is_the_pods_where_that_can_be_one)
{
    static const struct {
        const char *job;
        uint32_t n;
        const char *host, *service;
    } rows[] = {
        {"train", 12, "train-worker-12", "train-workers"},
        {"n23456789012345678901234567890123456789012345678901234", 9,
         "n23456789012345678901234567890123456789012345678901234-worker-9",
         "n23456789012345678901234567890123456789012345678901234-workers"},
        {"n23456789012345678901234567890123456789012345678901234", 10,
         "n23456789012345678901234567890123456789012-64d842cc16-worker-10",
         "n23456789012345678901234567890123456789012345678901234-workers"},
        {"n23456789012345678901234567890123456789012345678901234567890123", 0,
         "n234567890123456789012345678901234567890123-64d842cc16-worker-0",
         "n2345678901234567890123456789012345678901234-64d842cc16-workers"},
        {"v1.2", 0, "v1-2-64d842cc16-worker-0", "v1-2-64d842cc16-workers"},
        {"2nd", 0, "2nd-worker-0", "job-2nd-64d842cc16-workers"},
        {"n234567890123456789012345678901234567890.----------------------", 0,
         "n234567890123456789012345678901234567890-64d842cc16-worker-0",
         "n234567890123456789012345678901234567890-64d842cc16-workers"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *host = name_worker_host(row->job, UID, row->n);
        AUTO(mem) char *service = name_worker_service(row->job, UID);

        CHECK_STR_EQ(host, row->host);
        CHECK_STR_EQ(service, row->service);
        CHECK(strlen(host) <= LABEL_MAX && strlen(service) <= LABEL_MAX);
    }
}

TEST(what_a_launcher_has_is_named_after_job_and_instance)
{
    AUTO(mem) char *first = name_launcher_pod("train", 0);
    AUTO(mem) char *third = name_launcher_pod("train", 2);
    AUTO(mem) char *keys = name_keys_secret("train", UID, true, 0, 4);
    AUTO(mem) char *keys_of_third = name_keys_secret("train", UID, true, 2, 4);
    AUTO(mem) char *keys_without_launcher = name_keys_secret("train", UID, false, 2, 4);
    AUTO(mem) char *policy = name_network_policy("train");

    CHECK_STR_EQ(first, "train-launcher");
    CHECK_STR_EQ(third, "train-launcher-2");
    CHECK_STR_EQ(keys, "train-mpi-64d842cc-4");
    CHECK_STR_EQ(keys_of_third, "train-mpi-64d842cc-2-4");
    CHECK_STR_EQ(keys_without_launcher, "train-vipu-64d842cc-2-4");
    CHECK_STR_EQ(policy, "train-peers");
}

TEST(a_readable_id_has_at_most_63_characters)
{
    char job[64] = {0};

    memset(job, 'a', 54); /* "p-" + 54 + "-team-0" is 63 */
    AUTO(mem) char *fits = name_partition("p", job, "team", 0);
    AUTO(mem) char *too_long = name_partition("p", job, "team", 10);

    CHECK(fits);
    CHECK_INT_EQ(strlen(fits), 63);
    CHECK(!too_long);
}

TEST(a_hashed_id_says_uid_instance_and_attempt)
{
    AUTO(mem) char *id = name_partition_hashed("p", "train", UID, 3, 12);

    CHECK_STR_EQ(id, "p-train-64d842cc16-3-12");
}

TEST(a_hashed_id_cuts_the_jobs_name_not_what_makes_it_unique)
{
    char job[254] = {0};

    memset(job, 'j', 253);
    AUTO(mem) char *id = name_partition_hashed("p", job, UID, 65535, UINT32_MAX);
    AUTO(mem)
    char *long_prefix =
        name_partition_hashed("a-prefix-of-28-characters-xy", job, UID, UINT32_MAX, UINT32_MAX);

    CHECK_INT_EQ(strlen(id), PARTITION_ID_MAX);
    CHECK(str_has_suffix(id, "-64d842cc16-65535-4294967295"));
    CHECK(strlen(long_prefix) <= PARTITION_ID_MAX);
    CHECK(str_has_suffix(long_prefix, "-64d842cc16-4294967295-4294967295"));
}

TEST(a_hashed_id_is_known_by_its_end_whatever_the_prefix)
{
    AUTO(mem) char *readable = name_partition("p", "train", "team", 3);
    AUTO(mem) char *hashed = name_partition_hashed("p", "train", UID, 3, 12);
    AUTO(mem) char *other_prefix = name_partition_hashed("other", "train", UID, 3, 12);

    AUTO(mem) char *later_uid = name_uid_of_later_operator(UID, "system");
    AUTO(mem) char *later = name_partition_hashed("p", "train", later_uid, 3, 12);

    CHECK(!name_is_hashed(readable, UID, "system", 3, 12));
    CHECK(name_is_hashed(hashed, UID, "system", 3, 12));
    CHECK(name_is_hashed(other_prefix, UID, "system", 3, 12));
    CHECK(name_is_hashed(later, UID, "system", 3, 12));
    CHECK(!name_is_hashed(later, UID, "other-system", 3, 12));
    CHECK(!name_is_hashed(hashed, UID, "system", 3, 1));
    CHECK(!name_is_hashed(hashed, "74d842cc-1663-d522", "system", 3, 12));
}

/* The record of a partition has its id as a name, and names know no ".-". */
TEST(a_cut_name_does_not_end_in_a_dot)
{
    char job[64] = {0};

    memset(job, 'j', 45);
    memset(job + 42, '.', 3);
    AUTO(mem) char *id = name_partition_hashed("p", job, UID, 0, 0);

    CHECK(!strstr(id, ".-"));
    CHECK(str_has_suffix(id, "j-64d842cc16-0-0"));
}

TEST(ids_of_different_attempts_instances_and_jobs_differ)
{
    AUTO(mem) char *a = name_partition_hashed("p", "train", UID, 0, 1);
    AUTO(mem) char *b = name_partition_hashed("p", "train", UID, 1, 0);
    AUTO(mem) char *c = name_partition_hashed("p", "train", "74d842cc-1663-d522", 0, 1);

    CHECK(!str_eq(a, b));
    CHECK(!str_eq(a, c));
}

TEST(an_id_says_which_jobs_it_could_be_of)
{
    static const struct {
        const char *prefix, *id;
        const char *want; /* with their instance, separated by commas */
    } rows[] = {
        {"p", "p-train-team-0", "team/train#0"},
        {"p", "p-a-b-c-12", "b-c/a#12,c/a-b#12"},
        {"my-p", "my-p-train-team-3", "team/train#3"},
        {"p", "q-train-team-0", ""},
        {"p", "p-train-0", ""},
        {"p", "p--team-0", ""},
        {"p", "p-train--0", ""},
        {"p", "p-train-team-x", ""},
        {"p", "p-train-team-4294967296", ""},
        {"p", "p-train-team-", ""},
        {"p", "p", ""},
        {"p", "", ""},
        {"a-long-prefix", "p-1", ""},
    };

    CHECK_ROWS (row, rows) {
        AUTO(str) struct str found = {0};
        uint32_t instance;
        char *key;

        for (size_t at = 0; (key = partition_id_next_owner(row->prefix, row->id, &at, &instance));) {
            str_addf(&found, "%s%s#%u", found.len ? "," : "", key, instance);
            mem_free(key);
        }
        CHECK_STR_EQ(str_text(&found), row->want);
    }
}

TEST(the_master_port_is_stable_and_above_the_well_known_ones)
{
    CHECK_INT_EQ(name_master_port(UID, 0), name_master_port(UID, 0));
    CHECK(name_master_port(UID, 0) != name_master_port(UID, 1));
    for (uint32_t i = 0; i < 1000; i++)
        CHECK(name_master_port(UID, i) >= 20000 && name_master_port(UID, i) <= 29999);
}
