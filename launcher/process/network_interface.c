#include "launcher/process/network_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "base/core/mem.h"

struct address {
    int family;
    struct in6_addr bytes; /* of IPv4: the first four */
    size_t len;
};

static bool parse(const char *text, struct address *ret)
{
    *ret = (struct address){.family = strchr(text, ':') ? AF_INET6 : AF_INET};
    ret->len = ret->family == AF_INET6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
    return inet_pton(ret->family, text, &ret->bytes) == 1;
}

static bool has_address(const struct ifaddrs *interface, const struct address *address)
{
    const struct sockaddr *own = interface->ifa_addr;

    if (!own || own->sa_family != address->family)
        return false;
    if (own->sa_family == AF_INET6)
        return memcmp(&((const struct sockaddr_in6 *)(const void *)own)->sin6_addr, &address->bytes,
                      address->len) == 0;
    return memcmp(&((const struct sockaddr_in *)(const void *)own)->sin_addr, &address->bytes,
                  address->len) == 0;
}

void network_interface_complete(struct envv *env)
{
    const char *text = envv_get(env, NETWORK_INTERFACE_ENV_ADDRESS);
    struct ifaddrs *all;
    struct address address;

    if (!text || !parse(text, &address) || getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *interface = all; interface; interface = interface->ifa_next) {
        if (!has_address(interface, &address))
            continue;
        envv_default(env, "GLOO_SOCKET_IFNAME", interface->ifa_name);
        envv_default(env, "TP_SOCKET_IFNAME", interface->ifa_name);
        break;
    }
    freeifaddrs(all);
}
