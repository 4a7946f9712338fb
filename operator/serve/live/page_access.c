#include "operator/serve/live/page_access.h"

#include <string.h>

#include "base/core/mem.h"

#define LOGIN "/login"
#define LIVE "/live"

static void set_secret(char ret[ACCESS_SECRET_LEN + 1], const unsigned char *random)
{
    struct str text = {0};

    str_add_hex(&text, random, ACCESS_SECRET_BYTES);
    memcpy(ret, str_text(&text), ACCESS_SECRET_LEN + 1);
    mem_free_secret(str_take(&text));
}

void page_access_init(struct page_access *access, const char *ip, uint16_t port, const struct asset *assets,
                      const unsigned char random[2 * ACCESS_SECRET_BYTES])
{
    bool is_v6 = strchr(ip, ':') != NULL;

    *access =
        (struct page_access){.address = mem_printf("%s%s%s:%u", is_v6 ? "[" : "", ip, is_v6 ? "]" : "", port),
                             .local_name = mem_printf("localhost:%u", port),
                             .cookie_name = mem_printf("ipu-live-%u", port),
                             .assets = assets};
    set_secret(access->token, random);
    set_secret(access->cookie, random + ACCESS_SECRET_BYTES);
}

void page_access_release(struct page_access *access)
{
    mem_free(access->address);
    mem_free(access->local_name);
    mem_free(access->cookie_name);
    explicit_bzero(access, sizeof(*access));
}

char *page_access_url(const struct page_access *access)
{
    return mem_printf("http://%s" LOGIN "#%s", access->address, access->token);
}

/* Takes the same time for every text of the right length. */
static bool is_secret(struct slice text, const char *secret)
{
    unsigned char difference = 0;

    if (text.len != ACCESS_SECRET_LEN)
        return false;
    for (size_t i = 0; i < ACCESS_SECRET_LEN; i++)
        difference |= (unsigned char)(text.ptr[i] ^ secret[i]);
    return difference == 0;
}

static struct page_access_answer reject(int status, const char *why)
{
    return (struct page_access_answer){.way = ACCESS_REJECT, .status = status, .why = why};
}

static struct page_access_answer reject_method(const char *allow)
{
    return (struct page_access_answer){
        .way = ACCESS_REJECT, .status = 405, .why = "method not allowed", .allow = allow};
}

static bool is_own_origin(const struct request_head *head)
{
    static const char scheme[] = "http://";
    size_t len = sizeof(scheme) - 1;

    return head->origin.len == len + head->host.len && memcmp(head->origin.ptr, scheme, len) == 0 &&
           memcmp(head->origin.ptr + len, head->host.ptr, head->host.len) == 0;
}

static bool is_upgrade(const struct request_head *head)
{
    enum { KEY_LEN = 24 }; /* sixteen bytes as base64 */

    return request_head_has_word(head->upgrade, "websocket") &&
           request_head_has_word(head->connection, "upgrade") && slice_eq(head->websocket_version, "13") &&
           head->websocket_key.len == KEY_LEN;
}

/* Of several cookies of this name, any may be the page's own. */
static bool has_cookie(const struct page_access *access, const struct request_head *head)
{
    struct slice rest = head->cookie;

    while (rest.len > 0) {
        if (is_secret(request_head_cookie(&rest, access->cookie_name), access->cookie))
            return true;
    }
    return false;
}

static struct page_access_answer ask_live(const struct page_access *access, const struct request_head *head)
{
    if (!slice_eq(head->method, "GET"))
        return reject_method("GET");
    if (head->origin.len == 0)
        return reject(403, "a WebSocket needs the header Origin");
    if (!has_cookie(access, head))
        return reject(401, "open the URL that kubectl ipu ui has printed");
    if (!is_upgrade(head))
        return reject(426, "this path is for WebSocket, version 13");
    return (struct page_access_answer){.way = ACCESS_LIVE, .status = 101};
}

static const struct asset *find_asset(const struct page_access *access, struct slice path)
{
    for (const struct asset *asset = access->assets; asset->path; asset++) {
        if (slice_eq(path, asset->path))
            return asset;
    }
    return NULL;
}

static struct page_access_answer ask_login(const struct request_head *head)
{
    if (head->origin.len == 0)
        return reject(403, "a login needs the header Origin");
    if (head->body_len > ACCESS_BODY_MAX)
        return reject(413, "request body too large");
    return (struct page_access_answer){.way = ACCESS_LOGIN, .status = 204};
}

struct page_access_answer page_access_ask(const struct page_access *access, const struct request_head *head)
{
    const struct asset *asset = find_asset(access, head->path);
    bool reads = slice_eq(head->method, "GET") || slice_eq(head->method, "HEAD");

    if (!slice_eq(head->host, access->address) && !slice_eq(head->host, access->local_name))
        return reject(403, "this server has another name; open the URL that kubectl ipu ui has printed");
    if (head->origin.len > 0 && !is_own_origin(head))
        return reject(403, "requests of other pages are rejected");
    if (slice_eq(head->path, LOGIN) && slice_eq(head->method, "POST"))
        return ask_login(head);
    if (head->body_len > 0)
        return reject(400, "request body not allowed");
    if (slice_eq(head->path, LIVE))
        return ask_live(access, head);
    if (!asset)
        return reject(404, "not found");
    if (!reads)
        return reject_method(slice_eq(head->path, LOGIN) ? "GET, HEAD, POST" : "GET, HEAD");
    return (struct page_access_answer){.way = ACCESS_ASSET, .status = 200, .asset = asset};
}

struct page_access_answer page_access_login(struct page_access *access, struct slice body)
{
    if (!is_secret(body, access->token))
        return reject(403, "wrong token; open the URL that kubectl ipu ui has printed");
    if (access->is_token_used)
        return reject(403,
                      "this URL was used already; end kubectl ipu ui and start it again for another one");
    access->is_token_used = true;
    return (struct page_access_answer){.way = ACCESS_LOGIN, .status = 204};
}
