#include "launcher/poprun/run/rnic.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"

#define LINE_MAX_BYTES ((size_t)4096)
#define STATE_ACTIVE 4u /* as RDMA numbers them; the kernel writes "4: ACTIVE" */

enum { DEVICES_MAX = 64, PORTS_MAX = 255 };

/* The file's only line. The caller frees it; NULL if it cannot be read. */
static char *read_line(const char *path)
{
    AUTO(str) struct str text = {0};
    struct err err;

    if (!file_read(path, LINE_MAX_BYTES, &text, &err))
        return NULL;
    return mem_strndup(str_text(&text), strcspn(str_text(&text), "\n"));
}

/* Of an existing port; 0 if the kernel does not report it. */
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

bool rnic_network_has(const struct rnic_network *network, const struct strv *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        struct in_addr host;

        if (inet_pton(AF_INET, hosts->items[i], &host) != 1 ||
            (host.s_addr & network->mask.s_addr) != (network->address.s_addr & network->mask.s_addr))
            return false;
    }
    return true;
}

char *rnic_network_text(const struct rnic_network *network)
{
    struct in_addr first = {.s_addr = network->address.s_addr & network->mask.s_addr};
    char text[INET_ADDRSTRLEN] = "";

    (void)inet_ntop(AF_INET, &first, text, sizeof(text));
    return mem_printf("%s/%d", text, __builtin_popcount(network->mask.s_addr));
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

static bool find_of_interface(const char *interface, struct rnic_network *ret)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
        found = is_inet(at, interface);
        if (found)
            *ret = (struct rnic_network){inet_of(at->ifa_addr), inet_of(at->ifa_netmask)};
    }
    freeifaddrs(all);
    return found;
}

static bool find_of_port(const char *port, struct rnic_network *ret)
{
    AUTO(mem) char *path = mem_printf("%s/gid_attrs/ndevs/0", port);
    AUTO(mem) char *interface = read_line(path);

    return interface && find_of_interface(interface, ret);
}

static bool find_of_device(const char *folder, uint32_t number, const char *device, const struct run_log *log,
                           struct rnic_network *ret)
{
    for (uint32_t port = 1; port <= PORTS_MAX; port++) {
        AUTO(mem) char *path = mem_printf("%s/infiniband/%s/ports/%u", folder, device, port);
        uint32_t state;

        if (!read_state(path, &state) && port > 1)
            return false;
        if (state != STATE_ACTIVE)
            run_log_write(
                log, RUN_LOG_DEBUG,
                "Skipping port %u of IB device uverbs%u because its state (%u) doesn't seem active. "
                "Information in sysfs might be invalid or might not exist",
                port, number, state);
        else if (find_of_port(path, ret))
            return true;
    }
    return false;
}

bool rnic_find_network(const char *folder, const struct run_log *log, struct rnic_network *ret)
{
    for (uint32_t number = 0; number < DEVICES_MAX; number++) {
        AUTO(mem) char *path = mem_printf("%s/infiniband_verbs/uverbs%u/ibdev", folder, number);
        AUTO(mem) char *device = read_line(path);

        if (device && find_of_device(folder, number, device, log, ret))
            return true;
    }
    return false;
}
