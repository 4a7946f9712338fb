#include "launcher/poprun/numa_wrapper/nodes.h"

#include "base/core/mem.h"
#include "base/io/file.h"
#include "lib/check.h"
#include "lib/golden.h"

/* Folders as Linux shows machines of these kinds in /sys/devices/system/node, and in `allowed` the CPUs that
 * a process may use. */
static const char *const machines[] = {"two-sockets",   "one-node",     "offline-cpus",
                                       "missing-nodes", "small-cpuset", "no-lists"};

static void read_allowed(const char *folder, struct cpu_set *ret)
{
    AUTO(mem) char *path = mem_printf("%s/allowed", folder);
    AUTO(str) struct str text = {0};
    struct err err;

    CHECK_OK(file_read(path, 4096, &text, &err), err);
    CHECK(cpu_set_read(str_text(&text), ret));
}

static void add_list(const struct cpu_set *set, struct str *out)
{
    const char *comma = "";

    for (uint32_t first = 0, end; first < NUMA_CPUS_MAX; first = end + 1) {
        for (end = first; cpu_set_has(set, end);)
            end++;
        if (end == first)
            continue;
        (void)str_addf(out, end > first + 1 ? "%s%u-%u" : "%s%u", comma, first, end - 1);
        comma = ",";
    }
}

static void add_instances(const struct nodes *nodes, uint32_t count, struct str *out)
{
    (void)str_addf(out, "instances: %u\n", count);
    for (uint32_t index = 0; index < count; index++) {
        struct cpu_set cpus, memory;

        numa_place(nodes->items, nodes->count, index, count, &cpus, &memory);
        (void)str_addf(out, "  %u: memory of nodes ", index);
        add_list(&memory, out);
        (void)str_adds(out, ", CPUs ");
        add_list(&cpus, out);
        (void)str_addc(out, '\n');
    }
}

/* On record: spreadnuma divides a host's NUMA nodes among its instances; older releases take nodes round
 * robin. */
TEST(each_machines_nodes_are_divided_among_its_instances)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 8};

    CHECK_ROWS (machine, machines) {
        AUTO(mem) char *folder = mem_printf("%s/%s", NUMA_MACHINES, *machine);
        AUTO(mem) char *golden = mem_printf("poprun/numa/%s.txt", *machine);
        AUTO(nodes) struct nodes nodes = {0};
        AUTO(str) struct str text = {0};
        struct cpu_set allowed;

        read_allowed(folder, &allowed);
        nodes_read(folder, &allowed, &nodes);
        if (!nodes.count)
            (void)str_adds(&text, "nothing is known\n");
        CHECK_ROWS (count, counts)
            if (nodes.count)
                add_instances(&nodes, *count, &text);
        golden_check(golden, str_text(&text));
    }
}
