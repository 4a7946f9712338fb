/* Address and credentials of a V-IPU controller, as every client needs them. Borrowed strings. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct vipu_endpoint {
    const char *host;       /* name or address; IPv6 with or without brackets */
    uint32_t port;          /* 0: 8090 */
    const char *user_id;    /* secure mode; NULL or "": not sent */
    const char *access_key; /* secure mode */
    bool tls;               /* implied by ca_file */
    const char *ca_file;    /* PEM; NULL or "": the system's CA certificates */
};
