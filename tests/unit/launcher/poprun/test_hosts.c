#include "launcher/poprun/plan/hosts.h"

#include "base/core/mem.h"
#include "lib/check.h"

static void join(const struct strv *hosts, struct str *out)
{
    for (size_t i = 0; i < hosts->count; i++)
        (void)str_addf(out, "%s%s", i ? " " : "", hosts->items[i]);
}

static const struct {
    const char *list, *hosts;
} lists[] = {
    {"host0", "host0"},
    {"host0,host1", "host0 host1"},
    {"10.3.7.153,10.3.7.154", "10.3.7.153 10.3.7.154"},
    {"host[0-2,4]", "host0 host1 host2 host4"},
    {"pod[1-4]", "pod1 pod2 pod3 pod4"},
    {"gc-poplar-[01-03],b", "gc-poplar-01 gc-poplar-02 gc-poplar-03 b"},
    {"n[08-11]", "n08 n09 n10 n11"},
    {"n[0]", "n0"},
    {"r[1-2]n[3-4].lan", "r1n3.lan r1n4.lan r2n3.lan r2n4.lan"},
    {"a[1,3],b[2]", "a1 a3 b2"},
    /* graphcore/examples, the README of BERT for TensorFlow names its hosts so. */
    {"host_address_1,host_address_2", "host_address_1 host_address_2"},
    {"_gw,node_[1-2]_ib", "_gw node_1_ib node_2_ib"},
};

/* On record: -H, --host takes names or addresses, and ranges in brackets: host[0-2,4], pod[1-4]. */
TEST(a_list_of_hosts_is_spelled_out)
{
    CHECK_ROWS (row, lists) {
        AUTO(strv) struct strv hosts = {0};
        AUTO(str) struct str text = {0};
        AUTO(strv) struct strv problems = {0};

        hosts_read_list(row->list, &hosts, &problems);
        CHECK_INT_EQ(problems.count, 0);
        join(&hosts, &text);
        CHECK_STR_EQ(str_text(&text), row->hosts);
    }
}

static const struct {
    const char *list, *problem;
} bad_lists[] = {
    {"", "\"\" is not a host name or IPv4 address; is a variable of your script empty?"},
    /* mlcommons/training_results_v1.1, Graphcore/benchmarks/resnet/implementations/tensorflow/README.md:
     * "--host xxx.xxx.1.4, xxx.xxx.2.1" */
    {"a,", "the list ends with a comma; remove it, or the blank that follows it"},
    {"a,,b", "\"\" is not a host name"},
    {"-x", "\"-x\" is not a host name"}, /* mpirun would take it for an option */
    {"a b", "\"a b\" is not a host name"},
    {"::1", "\"::1\" is not a host name"},
    {"[::1]", "\"[::1]\" is not a host name"},
    {"a:4", "\"a:4\" is not a host name"},
    {"a,b,a", "duplicate host a"},
    {"a[0-1", "\"a[0-1\" has an empty or unclosed bracket"},
    {"a[]", "\"a[]\" has an empty or unclosed bracket"},
    {"a]", "\"a]\" is not a host name"},
    {"a[3-1]", "\"3-1\" in brackets is not a number or a range such as 0-3"},
    {"a[x]", "\"x\" in brackets is not a number"},
    {"a[1,]", "\"\" in brackets is not a number"},
    {"a[1-]", "\"1-\" in brackets is not a number"},
    {"a[0-4096]", "more than 4096 hosts"},
    {"a[0-999999999]", "more than 4096 hosts"},
};

TEST(a_bad_list_is_rejected)
{
    CHECK_ROWS (row, bad_lists) {
        AUTO(strv) struct strv hosts = {0};
        AUTO(strv) struct strv problems = {0};

        hosts_read_list(row->list, &hosts, &problems);
        CHECK(problems.count);
        CHECK_HAS(problems.items[0], row->problem);
    }
}

TEST(all_mistakes_are_reported_up_to_a_limit)
{
    AUTO(strv) struct strv hosts = {0};
    AUTO(strv) struct strv problems = {0};

    hosts_read_list("a,-x,b[3-1],a,c", &hosts, &problems);
    CHECK_INT_EQ(problems.count, 3);
    CHECK_HAS(problems.items[2], "duplicate host a");
    CHECK_INT_EQ(hosts.count, 2);
    strv_release(&problems);
    hosts_read_file(slice_of("d\nd\n-y\n"), "hosts", &hosts, &problems);
    CHECK_INT_EQ(problems.count, 2);
    CHECK_HAS(problems.items[1], "hosts: line 3: ");
    strv_release(&problems);
    hosts_read_list("-[0-999999999]", &hosts, &problems);
    CHECK_INT_EQ(problems.count, HOSTS_PROBLEMS_MAX);
}

TEST(nested_brackets_are_limited)
{
    AUTO(str) struct str list = {0};
    AUTO(strv) struct strv hosts = {0};
    AUTO(strv) struct strv problems = {0};

    for (int i = 0; i < 100000; i++)
        (void)str_adds(&list, "[1]");
    hosts_read_list(str_text(&list), &hosts, &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "longer than 4096 bytes");
}

/* On record: a host file has one host a line. */
TEST(a_host_file_has_one_host_a_line)
{
    AUTO(strv) struct strv hosts = {0};
    AUTO(str) struct str text = {0};
    AUTO(strv) struct strv problems = {0};

    hosts_read_file(slice_of("# two\nhost0 slots=2\n\n  host1\tmax_slots=4 # b\r\nn[1-2]"), "hosts", &hosts,
                    &problems);
    CHECK_INT_EQ(problems.count, 0);
    join(&hosts, &text);
    CHECK_STR_EQ(str_text(&text), "host0 host1 n1 n2");
}

static const struct {
    const char *file, *problem;
} bad_files[] = {
    {"", "hosts contains no host"},
    {"# none\n", "hosts contains no host"},
    {"a\nb c\n", "hosts: line 2: expected slots=N after the host, got \"c\""},
    {"a\na\n", "hosts: line 2: duplicate host a"},
};

TEST(a_bad_host_file_is_rejected)
{
    CHECK_ROWS (row, bad_files) {
        AUTO(strv) struct strv hosts = {0};
        AUTO(strv) struct strv problems = {0};

        hosts_read_file(slice_of(row->file), "hosts", &hosts, &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_STR_EQ(problems.items[0], row->problem);
    }
}

TEST(a_host_file_is_text)
{
    AUTO(strv) struct strv hosts = {0};
    AUTO(strv) struct strv problems = {0};

    hosts_read_file(SLICE_LIT("a\0b\n"), "hosts", &hosts, &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_STR_EQ(problems.items[0], "hosts is a binary file; expected text with one host per line");
}

static const struct {
    const char *list;
    uint32_t instances;
    const char *used, *unused;
} shares[] = {
    {"a,b", 1, "a", "b"},
    {"pod[1-4]", 2, "pod1 pod2", "pod3 pod4"},
    {"pod[1-4]", 3, "pod1 pod2 pod3", "pod4"},
    {"pod[1-4]", 4, "pod1 pod2 pod3 pod4", ""},
    {"pod[1-4]", 8, "pod1 pod2 pod3 pod4", ""},
    {"a", 3, "a", ""},
};

/* PopRun's guide, section 2.9 (docs.graphcore.ai, poprun-user-guide, launching.html): 2 instances with --host
 * pod[1-4], and 4 with the same hosts from the exported file. */
TEST(more_hosts_than_instances_leave_the_last_hosts_unused)
{
    CHECK_ROWS (row, shares) {
        AUTO(strv) struct strv hosts = {0}, unused = {0}, problems = {0};
        AUTO(str) struct str used_text = {0}, unused_text = {0};
        struct err err;

        hosts_read_list(row->list, &hosts, &problems);
        CHECK_OK(hosts_divide(&hosts, row->instances, &unused, &err), err);
        join(&hosts, &used_text);
        join(&unused, &unused_text);
        CHECK_STR_EQ(str_text(&used_text), row->used);
        CHECK_STR_EQ(str_text(&unused_text), row->unused);
    }
}

TEST(no_hosts_are_divided_among_any_number_of_instances)
{
    AUTO(strv) struct strv hosts = {0}, unused = {0};
    struct err err;

    CHECK_OK(hosts_divide(&hosts, 3, &unused, &err), err);
    CHECK_INT_EQ(hosts.count + unused.count, 0);
}

TEST(instances_that_the_hosts_do_not_divide_are_rejected)
{
    AUTO(strv) struct strv hosts = {0}, unused = {0}, problems = {0};
    struct err err;

    hosts_read_list("pod[1-4]", &hosts, &problems);
    CHECK_ERR(hosts_divide(&hosts, 6, &unused, &err), err, ERR_INVALID);
    CHECK_STR_EQ(err.msg,
                 "--num-instances=6 cannot be divided evenly among 4 hosts; use a multiple of 4, or fewer "
                 "hosts with --host");
    CHECK_INT_EQ(hosts.count, 4);
}
