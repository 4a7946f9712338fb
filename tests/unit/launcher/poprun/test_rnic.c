#include "launcher/poprun/rnic.h"

#include <arpa/inet.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/golden.h"

static const struct {
    const char *address, *mask, *network;
} networks[] = {
    {"10.5.3.7", "255.255.0.0", "10.5.0.0/16"},
    {"192.168.1.130", "255.255.255.128", "192.168.1.128/25"},
    {"10.0.0.1", "255.255.255.255", "10.0.0.1/32"},
    {"127.0.0.1", "255.0.0.0", "127.0.0.0/8"},
};

TEST(an_address_is_in_a_network)
{
    CHECK_ROWS (row, networks) {
        struct in_addr address, mask;

        CHECK_INT_EQ(inet_pton(AF_INET, row->address, &address), 1);
        CHECK_INT_EQ(inet_pton(AF_INET, row->mask, &mask), 1);
        AUTO(mem) char *network = rnic_network_of(address, mask);
        CHECK_STR_EQ(network, row->network);
    }
}

static void put(void *ctx, enum journal_level level, const char *text)
{
    static const struct journal_stamp stamp = {10, 10, 50, 154, 1};

    journal_line(&stamp, level, text, ctx);
}

/* Folders as Linux has them in /sys/class: two dead ports, as in the public logs; ports that say nothing; and
 * a live one behind them, whose interface is lo here. */
static const struct {
    const char *machine, *network;
} machines[] = {{"none", NULL}, {"two-dead", NULL}, {"silent", NULL}, {"one-live", "127.0.0.0/8"}};

/* On record: Skipping port 1 of IB device uverbs0 because its state (1) doesn't seem active. Information in
 * sysfs might be invalid or might not exist; with hosts the network may come from an RNIC's address or
 * gateway. */
TEST(the_first_live_port_tells_the_network)
{
    AUTO(str) struct str text = {0};
    struct journal journal = {JOURNAL_DEBUG, put, &text};

    CHECK_ROWS (row, machines) {
        AUTO(mem) char *folder = mem_printf("%s/%s", RNIC_MACHINES, row->machine);

        (void)str_addf(&text, "%s\n", row->machine);
        AUTO(mem) char *network = rnic_network(folder, &journal);
        CHECK_STR_EQ(network, row->network);
    }
    golden_check("poprun/rnic.txt", str_text(&text));
}
