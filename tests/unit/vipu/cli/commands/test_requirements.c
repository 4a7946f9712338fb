#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/cli/commands/requirements.h"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

struct parsed {
    struct options options;
    struct vipu_requirements requirements;
    struct vipu_ipu *ipus;
    struct strv problems;
};

static struct parsed parse(int argc, char **argv)
{
    AUTO(strv) struct strv words = {0};
    struct parsed p = {0};

    options_parse(argc, argv, no_env, NULL, NULL, &p.options, &words, &p.problems);
    requirements_of(&p.options, "p1", &p.requirements, &p.ipus, &p.problems);
    return p;
}

static void parsed_release(struct parsed *p)
{
    opts_release(&options_spec, &p->options);
    mem_free(p->ipus);
    strv_release(&p->problems);
}

DEFINE_AUTO(parsed);

#define PARSE(...) parse(COUNT_OF(((char *[]){"vipu", __VA_ARGS__})), (char *[]){"vipu", __VA_ARGS__, NULL})

/* On record: the command line takes ringswnc; create partition takes --sync-type. */
TEST(a_request_with_everything)
{
    AUTO(parsed)
    struct parsed p = PARSE("--size=32", "--gcds=2", "--gcd-sync-replicas=4", "--num-ilds=2",
                            "--routing=ringswnc", "--gw-routing=ring", "--sync-type=pod-native-default",
                            "--cluster=c", "--allocation=a", "--relocatable", "--disable-auto-reset");
    const struct vipu_requirements *r = &p.requirements;

    CHECK_INT_EQ(p.problems.count, 0);
    CHECK_STR_EQ(r->id, "p1");
    CHECK_STR_EQ(r->cluster_id, "c");
    CHECK_STR_EQ(r->allocation_id, "a");
    CHECK(r->size == 32 && r->num_gcds == 2 && r->num_replicas == 4 && r->num_ilds == 2);
    CHECK(r->routing == VIPU_ROUTING_RINGSWNC && r->gateway_routing == VIPU_GATEWAY_RING);
    CHECK(r->sync_type == VIPU_SYNC_POD_NATIVE_DEFAULT);
    CHECK(r->relocatable && r->disable_auto_reset && !r->reconfigurable && r->ipu_count == 0);
}

/* "reconfigurable works only with sync type c2-compatible; giving another --sync-type fails, unless --index
 * is also given, in which case it silently falls back" [D: user partitions 5.2]. The controller has the first
 * half. */
/* On record: another sync type for a reconfigurable partition fails, unless an index is given: then it
 * falls back silently. */
TEST(an_index_makes_a_reconfigurable_partition_compatible)
{
    AUTO(parsed)
    struct parsed plain = PARSE("--size=4", "--reconfigurable", "--sync-type=pod-native-default");
    AUTO(parsed)
    struct parsed indexed =
        PARSE("--size=4", "--reconfigurable", "--sync-type=pod-native-default", "--index=1", "--cluster=c");

    CHECK(plain.requirements.sync_type == VIPU_SYNC_POD_NATIVE_DEFAULT);
    CHECK(indexed.requirements.sync_type == VIPU_SYNC_UNDEFINED);
}

TEST(lists_of_ipus)
{
    AUTO(parsed) struct parsed p = PARSE("--ipus=7,1:0-1,1:63");
    static const struct vipu_ipu want[] = {{0, 0, 7, 0}, {1, 1, 0, 1}, {1, 1, 1, 2}, {1, 1, 63, 3}};

    CHECK_INT_EQ(p.problems.count, 0);
    CHECK_INT_EQ(p.requirements.size, 4);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        CHECK_INT_EQ(p.ipus[i].domain_topology_id, want[i].domain_topology_id);
        CHECK_INT_EQ(p.ipus[i].domain_routing_id, want[i].domain_routing_id);
        CHECK_INT_EQ(p.ipus[i].topology_id, want[i].topology_id);
        CHECK_INT_EQ(p.ipus[i].routing_id, want[i].routing_id);
    }
}

TEST(lists_that_are_none)
{
    static const char *const rows[] = {"x",  "",   "4-",   "-4",   "7-4",     "64",
                                       "0:", ":4", "1:64", "4--5", "99999:1", "0-4294967295"};

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *flag = mem_printf("--ipus=%s", *row);
        AUTO(parsed) struct parsed p = PARSE(flag);

        CHECK_INT_EQ(p.problems.count, 1);
        CHECK_HAS(p.problems.items[0], **row ? "--ipus must be topology IDs" : "--ipus is empty");
    }
}
