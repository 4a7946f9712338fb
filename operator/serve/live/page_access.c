#include "operator/serve/live/page_access.h"

#include <string.h>
#include <strings.h>

#include "base/core/mem.h"

#define HOME "/"
#define LOGIN "/login"
#define LIVE "/live"
/* Browsers take cookies of this prefix only by TLS, for all paths, and not from another host of the domain.
 */
#define SERVICE_COOKIE "__Host-ipu-live"

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

void page_access_init_service(struct page_access *access, const struct strv *hosts,
                              const struct asset *assets)
{
    *access =
        (struct page_access){.hosts = hosts, .cookie_name = mem_strdup(SERVICE_COOKIE), .assets = assets};
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

static struct page_access_answer redirect_to_login(void)
{
    return (struct page_access_answer){.way = ACCESS_REJECT, .status = 303, .location = LOGIN};
}

struct page_access_answer page_access_reject(enum access_way way, int status, const char *why)
{
    return way == ACCESS_ASSET && status == 401 ? redirect_to_login() : reject(status, why);
}

/* The digits after the last colon, which may be in the brackets of an address. */
static bool is_own_name(const struct strv *hosts, struct slice host)
{
    AUTO(mem) char *name = host.len > 0 ? mem_strndup(host.ptr, host.len) : mem_strdup("");
    char *colon = strrchr(name, ':');

    if (colon && colon[strspn(colon, ":0123456789")] == '\0')
        *colon = '\0';
    for (size_t i = 0; i < hosts->count; i++) {
        if (strcasecmp(name, hosts->items[i]) == 0)
            return true;
    }
    return false;
}

static bool is_own_host(const struct page_access *access, struct slice host)
{
    return access->hosts ? is_own_name(access->hosts, host)
                         : slice_eq(host, access->address) || slice_eq(host, access->local_name);
}

static bool is_own_origin(const struct page_access *access, const struct request_head *head)
{
    const char *scheme = access->hosts ? "https://" : "http://";
    size_t len = strlen(scheme);

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

/* What may be in a cookie; all tokens of Kubernetes are of such characters. */
static bool is_token(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || strchr("\",;\\", text.ptr[i]))
            return false;
    }
    return text.len > 0 && text.len <= ACCESS_TOKEN_MAX;
}

static struct slice token_of(const struct page_access *access, const struct request_head *head)
{
    struct slice rest = head->cookie, token = request_head_cookie(&rest, access->cookie_name);

    return is_token(token) ? token : (struct slice){0};
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
    struct slice token = access->hosts ? token_of(access, head) : (struct slice){0};

    if (!slice_eq(head->method, "GET"))
        return reject_method("GET");
    if (head->origin.len == 0)
        return reject(403, "a WebSocket needs the header Origin");
    if (access->hosts && token.len == 0)
        return reject(401, "log in first");
    if (!access->hosts && !has_cookie(access, head))
        return reject(401, "open the URL that kubectl ipu ui has printed");
    if (!is_upgrade(head))
        return reject(426, "this path is for WebSocket, version 13");
    return (struct page_access_answer){.way = ACCESS_LIVE, .status = 101, .token = token};
}

static const struct asset *find_asset(const struct page_access *access, struct slice path)
{
    for (const struct asset *asset = access->assets; asset->path; asset++) {
        if (slice_eq(path, asset->path))
            return asset;
    }
    return NULL;
}

/* A service's page is shown to those alone who are logged in, so that all others find where to do that. */
static struct page_access_answer ask_asset(const struct page_access *access, const struct request_head *head,
                                           const struct asset *asset)
{
    struct page_access_answer answer = {.way = ACCESS_ASSET, .status = 200, .asset = asset};

    if (!access->hosts || !str_eq(asset->path, HOME))
        return answer;
    answer.token = token_of(access, head);
    return answer.token.len > 0 ? answer : redirect_to_login();
}

static struct page_access_answer ask_login(const struct page_access *access, const struct request_head *head)
{
    if (head->origin.len == 0)
        return reject(403, "a login needs the header Origin");
    if (access->hosts && head->body_len > ACCESS_TOKEN_MAX)
        return reject(413, "this token is longer than the 4,000 bytes that browsers keep in a cookie");
    if (!access->hosts && head->body_len > ACCESS_BODY_MAX)
        return reject(413, "request body too large");
    return (struct page_access_answer){.way = ACCESS_LOGIN, .status = 204};
}

struct page_access_answer page_access_ask(const struct page_access *access, const struct request_head *head)
{
    const struct asset *asset = find_asset(access, head->path);
    bool reads = slice_eq(head->method, "GET") || slice_eq(head->method, "HEAD");

    if (!is_own_host(access, head->host))
        return reject(403,
                      access->hosts
                          ? "this server has another name; an admin adds names by livePage.hosts"
                          : "this server has another name; open the URL that kubectl ipu ui has printed");
    if (head->origin.len > 0 && !is_own_origin(access, head))
        return reject(403, "requests of other pages are rejected");
    if (slice_eq(head->path, LOGIN) && slice_eq(head->method, "POST"))
        return ask_login(access, head);
    if (head->body_len > 0)
        return reject(400, "request body not allowed");
    if (slice_eq(head->path, LIVE))
        return ask_live(access, head);
    if (!asset)
        return reject(404, "not found");
    if (!reads)
        return reject_method(slice_eq(head->path, LOGIN) ? "GET, HEAD, POST" : "GET, HEAD");
    return ask_asset(access, head, asset);
}

struct page_access_answer page_access_login(struct page_access *access, struct slice body)
{
    if (access->hosts && body.len == 0)
        return (struct page_access_answer){.way = ACCESS_LOGOUT, .status = 204};
    if (access->hosts)
        return is_token(body) ? (struct page_access_answer){.way = ACCESS_LOGIN, .status = 204, .token = body}
                              : reject(400, "this is no token: it has characters that tokens do not have");
    if (!is_secret(body, access->token))
        return reject(403, "wrong token; open the URL that kubectl ipu ui has printed");
    if (access->is_token_used)
        return reject(403,
                      "this URL was used already; end kubectl ipu ui and start it again for another one");
    access->is_token_used = true;
    return (struct page_access_answer){.way = ACCESS_LOGIN, .status = 204};
}
