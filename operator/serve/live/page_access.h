/* Who may have what from the live page's server. Pure.
 *
 * The page and its scripts hold no data; anybody may have them. The data pass only through /live, which takes
 * a cookie. A GET changes nothing. A page of another origin is told apart by Host (a name that was made to
 * lead here) and by Origin, which browsers send with every WebSocket and every POST.
 *
 * On a person's own machine, the page that the printed URL opens gets the cookie for the URL's token, once.
 * The token is in the URL's fragment, which a browser sends to no server. A service, which has many callers,
 * gets each caller's own token of the cluster by its login page and returns it as the cookie, so that every
 * replica knows it; who it belongs to is for the API server to say. */
#pragma once

#include <stdint.h>

#include "operator/serve/live/request_head.h"

#define ACCESS_SECRET_BYTES 32
#define ACCESS_SECRET_LEN (2 * ACCESS_SECRET_BYTES)
#define ACCESS_BODY_MAX 128
#define ACCESS_TOKEN_MAX ((size_t)4000) /* browsers drop cookies of more than 4096 bytes */

struct asset {
    const char *path, *type;
    const unsigned char *gzip;
    size_t len;
};

struct page_access {
    char *address;            /* "127.0.0.1:8080", "[::1]:8080" */
    char *local_name;         /* "localhost:8080" */
    const struct strv *hosts; /* of a service: its names, with any port; NULL: the two above */
    char *cookie_name;        /* browsers do not tell the ports of a host apart */
    char token[ACCESS_SECRET_LEN + 1];
    char cookie[ACCESS_SECRET_LEN + 1];
    bool is_token_used;
    const struct asset *assets; /* ends with path NULL */
};

/* Two secrets, from random bytes. */
void page_access_init(struct page_access *access, const char *ip, uint16_t port, const struct asset *assets,
                      const unsigned char random[2 * ACCESS_SECRET_BYTES]);
/* hosts must outlive it. */
void page_access_init_service(struct page_access *access, const struct strv *hosts,
                              const struct asset *assets);
void page_access_release(struct page_access *access);
char *page_access_url(const struct page_access *access); /* owned by the caller */

enum access_way { ACCESS_REJECT, ACCESS_ASSET, ACCESS_LOGIN, ACCESS_LOGOUT, ACCESS_LIVE };

struct page_access_answer {
    enum access_way way;
    int status;                /* of HTTP */
    const char *why;           /* of a rejection: a sentence */
    const char *allow;         /* methods, with 405 */
    const char *location;      /* with 303 */
    const struct asset *asset; /* NULL without ACCESS_ASSET */
    struct slice token;        /* of a service's caller, to be reviewed before the rest holds; empty: holds */
};

/* After the head; a login is decided by its body. */
struct page_access_answer page_access_ask(const struct page_access *access, const struct request_head *head);
struct page_access_answer page_access_login(struct page_access *access, struct slice body);
/* What a caller gets whose token was reviewed with another result than success. */
struct page_access_answer page_access_reject(enum access_way way, int status, const char *why);
