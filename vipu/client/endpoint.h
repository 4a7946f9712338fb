/* Address and credentials of a V-IPU controller, as every client needs them. Borrowed strings. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct vipu_endpoint {
    const char *host;       /* name or address; IPv6 with or without brackets */
    uint32_t port;          /* 0: 8090 */
    const char *user_id;    /* secure mode; NULL or "": not sent */
    const char *access_key; /* secure mode */
    bool tls;               /* implied by the files */
    const char *ca_file;    /* PEM; NULL or "": the system's CA certificates */
    const char *cert_file;  /* PEM; the client's certificate, in place of user and key; NULL or "": none */
    const char *key_file;   /* PEM; NULL or "": the private key is in cert_file, too */
};
