#include "launcher/poprun/rnic.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"

#define LINE_MAX_BYTES ((size_t)4096)
#define STATE_ACTIVE 4u /* as RDMA numbers them; the kernel writes "4: ACTIVE" */

enum { DEVICES_MAX = 64, PORTS_MAX = 255 };

/* The file's one line. Yours; NULL when it cannot be read. */
static char *read_line(const char *path)
{
    AUTO(str) struct str text = {0};
    struct err err;

    if (!file_read(path, LINE_MAX_BYTES, &text, &err))
        return NULL;
    return mem_strndup(str_text(&text), strcspn(str_text(&text), "\n"));
}

/* Of a port that is there; 0 when the kernel does not say. */
static bool read_state(const char *port, uint32_t *ret)
{
    AUTO(mem) char *path = mem_printf("%s/state", port);
    AUTO(mem) char *line = read_line(path);

    *ret = 0;
    if (!line)
        return false;
    line[strcspn(line, ":")] = '\0';
    if (!parse_u32(line, 0, UINT32_MAX, ret))
        *ret = 0;
    return true;
}

char *rnic_network_of(struct in_addr address, struct in_addr mask)
{
    struct in_addr network = {.s_addr = address.s_addr & mask.s_addr};
    char text[INET_ADDRSTRLEN] = "";

    (void)inet_ntop(AF_INET, &network, text, sizeof(text));
    return mem_printf("%s/%d", text, __builtin_popcount(mask.s_addr));
}

static bool is_inet(const struct ifaddrs *at, const char *interface)
{
    return at->ifa_addr && at->ifa_netmask && at->ifa_addr->sa_family == AF_INET &&
           strcmp(at->ifa_name, interface) == 0;
}

static struct in_addr inet_of(const struct sockaddr *address)
{
    return ((const struct sockaddr_in *)(const void *)address)->sin_addr;
}

/* Yours; NULL when the interface has no IPv4 address. */
static char *network_of_interface(const char *interface)
{
    struct ifaddrs *all = NULL;
    char *network = NULL;

    if (getifaddrs(&all) != 0)
        return NULL;
    for (const struct ifaddrs *at = all; at && !network; at = at->ifa_next)
        if (is_inet(at, interface))
            network = rnic_network_of(inet_of(at->ifa_addr), inet_of(at->ifa_netmask));
    freeifaddrs(all);
    return network;
}

static char *network_of_port(const char *port)
{
    AUTO(mem) char *path = mem_printf("%s/gid_attrs/ndevs/0", port);
    AUTO(mem) char *interface = read_line(path);

    return interface ? network_of_interface(interface) : NULL;
}

static char *network_of_device(const char *folder, uint32_t number, const char *device,
                               const struct journal *journal)
{
    char *network = NULL;

    for (uint32_t port = 1; port <= PORTS_MAX && !network; port++) {
        AUTO(mem) char *path = mem_printf("%s/infiniband/%s/ports/%u", folder, device, port);
        uint32_t state;

        if (!read_state(path, &state) && port > 1)
            break;
        if (state == STATE_ACTIVE)
            network = network_of_port(path);
        else
            journal_add(journal, JOURNAL_DEBUG,
                        "Skipping port %u of IB device uverbs%u because its state (%u) doesn't seem active. "
                        "Information in sysfs might be invalid or might not exist",
                        port, number, state);
    }
    return network;
}

char *rnic_network(const char *folder, const struct journal *journal)
{
    char *network = NULL;

    for (uint32_t number = 0; number < DEVICES_MAX && !network; number++) {
        AUTO(mem) char *path = mem_printf("%s/infiniband_verbs/uverbs%u/ibdev", folder, number);
        AUTO(mem) char *device = read_line(path);

        if (device)
            network = network_of_device(folder, number, device, journal);
    }
    return network;
}
