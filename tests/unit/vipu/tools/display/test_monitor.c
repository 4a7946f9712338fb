#include "lib/check.h"

#include "base/core/mem.h"
#include "base/doc/json.h"
#include "lib/golden.h"
#include "machines.h"
#include "vipu/tools/display/monitor.h"

#define HERE 4026531836u

static const struct machine_row two[] = {{"10.1.5.10", "0024.8203321"}, {"10.1.5.11", "0013.8204921"}};

static struct lock_record holder_of(uint32_t first, uint32_t count, int64_t pid, const char *command,
                                    const char *user)
{
    struct lock_record holder = {.first = first,
                                 .count = count,
                                 .pid = pid,
                                 .pid_space = HERE,
                                 .since_unix_s = 1000,
                                 .monitored = true};

    lock_record_set_text(holder.command, command);
    lock_record_set_text(holder.user, user);
    lock_record_set_text(holder.host, "gc-poplar-02");
    return holder;
}

static struct lock_records held_by(const struct lock_record *items, size_t count)
{
    return (struct lock_records){.items = mem_dup(items, count * sizeof(*items)), .count = count};
}

/* reference, 6.4: box headed "Partition: p1 (gcd:0) [active] has 8 reconfigurable IPUs"; columns "IPU-M |
 * Serial | IPU-M SW | Server version | ICU FW | Type | ID | IPU# | Routing"; a rule between machines; "No
 * attached processes in partition p1". */
TEST(eight_unused_ipus)
{
    AUTO(machines) struct machines p1 = machines_make("p1", two, 8);
    AUTO(str) struct str out = {0};
    const struct monitored_gcd gcd = {.view = &p1.view};

    monitor_print_cards(&p1.view, &out);
    monitor_print_processes(&gcd, HERE, 1010, &out);
    golden_check("tools/monitor_idle.txt", str_text(&out));
}

/* reference, 6.4: "Attached processes in partition p1" with PID, Command, Time, User, IPU ID/Clock/Temp,
 * Board Temp/Power. */
TEST(processes_of_this_namespace)
{
    AUTO(machines) struct machines p1 = machines_make("p1", two, 8);
    AUTO(str) struct str out = {0};
    const struct lock_record items[] = {holder_of(0, 1, 268524, "python3", "wilsonb"),
                                        holder_of(4, 4, 81816, "gc-hosttraffictest", "justina")};
    AUTO(lock_records) struct lock_records holders = held_by(items, COUNT_OF(items));
    const struct monitored_gcd gcd = {.view = &p1.view, .holders = holders};

    machines_tell(&p1, 4, "average die temp", "33.7 C");
    machines_tell(&p1, 4, "average board temp", "35.0 C");
    machines_tell(&p1, 4, "total board power", "113.7 W");
    machines_tell(&p1, 5, "average die temp", "37.4 C");
    monitor_print_processes(&gcd, HERE, 1241, &out);
    golden_check("tools/monitor_processes.txt", str_text(&out));
}

/* reference, 6.4: "Sensors need GCDA_MONITOR=1 in the application". */
TEST(sensors_are_not_shown_of_programs_that_do_not_read_them)
{
    AUTO(machines) struct machines p1 = machines_make("p1", two, 4);
    AUTO(str) struct str out = {0};
    struct lock_record item = holder_of(0, 1, 205698, "python", "trainee01");
    AUTO(lock_records) struct lock_records holders = {0};

    item.monitored = false;
    holders = held_by(&item, 1);
    machines_tell(&p1, 0, "average die temp", "33.7 C");
    monitor_print_processes(&(struct monitored_gcd){&p1.view, holders}, HERE, 1013, &out);
    CHECK_HAS(str_text(&out), "|  13s   | trainee01  | 0  | 1330MHz  |  N/A   |  N/A   |  N/A   |\n");
}

/* reference, 6.4: processes of other hosts: "IPUs in X attached from other namespaces" with "ID | Application
 * host | Clock | Temp | Temp | Power". */
TEST(processes_of_other_namespaces)
{
    AUTO(machines) struct machines p1 = machines_make("slurm_2616", two, 4);
    AUTO(str) struct str out = {0};
    struct lock_record item = holder_of(0, 1, 7, "python", "root");
    AUTO(lock_records) struct lock_records holders = {0};

    item.pid_space = HERE + 1;
    holders = held_by(&item, 1);
    machines_tell(&p1, 0, "average die temp", "24.2 C");
    machines_tell(&p1, 0, "average board temp", "21.1 C");
    machines_tell(&p1, 0, "total board power", "92.3 W");
    monitor_print_processes(&(struct monitored_gcd){&p1.view, holders}, HERE, 1013, &out);
    golden_check("tools/monitor_namespaces.txt", str_text(&out));
}

TEST(a_fixed_partition_with_one_ipu_and_long_names)
{
    static const struct machine_row far[] = {{"172.31.100.130", "0134.8210321"}};
    AUTO(machines) struct machines p1 = machines_make("p1", far, 1);
    AUTO(str) struct str out = {0};

    p1.view.reconfigurable = false;
    p1.view.gcd = 3;
    p1.view.active = false;
    p1.view.routing = VIPU_ROUTING_RINGSWNC;
    machines_tell(&p1, 0, "board type", "never told twice");
    monitor_print_cards(&p1.view, &out);
    CHECK_HAS(str_text(&out), " Partition: p1 (gcd:3) has 1 IPU ");
    CHECK_HAS(str_text(&out), "\n|...31.100.130| 0134.0002.8210321  |");
    CHECK_HAS(str_text(&out), "|RINGSWNC|\n");
}

/* reference, 6.4: "--json top level is an object". */
TEST(everything_as_json)
{
    AUTO(machines) struct machines p1 = machines_make("p1", two, 8);
    AUTO(str) struct str out = {0};
    const struct lock_record item = holder_of(4, 4, 81816, "python3", "justina");
    AUTO(lock_records) struct lock_records holders = held_by(&item, 1);
    const struct monitored_gcd gcd = {.view = &p1.view, .holders = holders};
    struct err err = {0};

    monitor_print_json(&gcd, 1, true, HERE, 1241, &out);
    AUTO(json) cJSON *document = json_parse(str_slice(&out), &err);
    CHECK_OK(document != NULL, err);
    const cJSON *first = json_at(document, "partitions")->child;
    CHECK_STR_EQ(json_str(first, "partition", NULL), "p1");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(first, "ipus")), 8);
    const cJSON *process = json_at(first, "processes")->child;
    CHECK_INT_EQ(json_i64(process, "pid", 0), 81816);
    CHECK_INT_EQ(json_i64(process, "seconds", 0), 241);
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(process, "ipus")), 4);
    CHECK(!json_bool(process, "otherNamespace", true));
}
