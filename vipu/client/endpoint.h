/* Where a V-IPU controller is and who asks: what every client of one needs to know. Borrowed strings. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct vipu_endpoint {
    const char *host;       /* name or address; IPv6 with or without brackets */
    uint32_t port;          /* 0: 8090 */
    const char *user_id;    /* secure mode; NULL or "": none is sent */
    const char *access_key; /* secure mode */
    bool tls;               /* implied by ca_file */
    const char *ca_file;    /* PEM; NULL or "": the system's */
};
