#include "launcher/poprun/run/rnic.h"

#include <arpa/inet.h>

#include "base/core/mem.h"
#include "launcher/poprun/options/shell_words.h"
#include "lib/check.h"
#include "lib/golden.h"

static const struct {
    const char *address, *mask, *network, *hosts;
    bool has;
} networks[] = {
    {"10.5.3.7", "255.255.0.0", "10.5.0.0/16", "10.5.9.1 10.5.3.7", true},
    {"10.5.3.7", "255.255.0.0", "10.5.0.0/16", "10.5.9.1 10.6.3.7", false},
    {"10.5.3.7", "255.255.0.0", "10.5.0.0/16", "10.5.9.1 host1", false},
    {"10.5.3.7", "255.255.0.0", "10.5.0.0/16", "", true},
    {"192.168.1.130", "255.255.255.128", "192.168.1.128/25", "192.168.1.127", false},
    {"10.0.0.1", "255.255.255.255", "10.0.0.1/32", "10.0.0.1", true},
};

TEST(a_network_has_the_hosts_whose_addresses_are_in_it)
{
    CHECK_ROWS (row, networks) {
        AUTO(strv) struct strv hosts = {0};
        struct rnic_network network;
        struct err err;

        CHECK_INT_EQ(inet_pton(AF_INET, row->address, &network.address), 1);
        CHECK_INT_EQ(inet_pton(AF_INET, row->mask, &network.mask), 1);
        CHECK_OK(shell_words_split(row->hosts, &hosts, &err), err);
        AUTO(mem) char *text = rnic_network_text(&network);
        CHECK_STR_EQ(text, row->network);
        CHECK_INT_EQ(rnic_network_has(&network, &hosts), row->has);
    }
}

static void put(void *ctx, enum run_log_level level, const char *text)
{
    static const struct run_log_stamp stamp = {10, 10, 50, 154, 1};

    run_log_line(&stamp, level, text, ctx);
}

/* Folders as Linux has them in /sys/class: two dead ports, as in the public logs; ports that say nothing; and
 * a live one behind them, whose interface is lo here. */
static const struct {
    const char *machine, *network;
} machines[] = {{"none", NULL}, {"two-dead", NULL}, {"silent", NULL}, {"one-live", "127.0.0.0/8"}};

/* On record: Skipping port 1 of IB device uverbs0 because its state (1) doesn't seem active. Information in
 * sysfs might be invalid or might not exist; with hosts the network may come from an RNIC's address or
 * gateway. */
TEST(the_first_live_port_determines_the_network)
{
    AUTO(str) struct str text = {0};
    struct run_log log = {RUN_LOG_DEBUG, put, &text};

    CHECK_ROWS (row, machines) {
        AUTO(mem) char *folder = mem_printf("%s/%s", RNIC_MACHINES, row->machine);

        (void)str_addf(&text, "%s\n", row->machine);
        struct rnic_network network;
        bool found = rnic_find_network(folder, &log, &network);
        AUTO(mem) char *found_text = found ? rnic_network_text(&network) : NULL;
        CHECK_STR_EQ(found_text, row->network);
    }
    golden_check("poprun/rnic.txt", str_text(&text));
}
