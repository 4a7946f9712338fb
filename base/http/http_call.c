#include "base/http/http_call.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"

enum { CONNECT_TIMEOUT_MS = 10 * 1000, HEADERS_MAX_BYTES = 64 * 1024 };

#define BODY_DEFAULT_MAX ((size_t)4 * 1024 * 1024)

/* Fails without memory, or for an option that this libcurl was built without: neither can be handled. */
#define SET(easy, option, value)                                                                             \
    do {                                                                                                     \
        CURLcode set_ = curl_easy_setopt(easy, option, value);                                               \
        assert(set_ == CURLE_OK);                                                                            \
        (void)set_;                                                                                          \
    } while (0)

void http_settings_init(struct http_settings *settings, const struct http_client_options *options)
{
    *settings = (struct http_settings){
        .user_agent = mem_strdup(options->user_agent),
        .ca_pem = mem_strdup(options->ca_pem),
        .cert_pem = mem_strdup(options->cert_pem),
        .key_pem = mem_strdup(options->key_pem),
        .server_name = mem_strdup(options->server_name),
        .proxy_url = mem_strdup(options->proxy_url),
        .env_proxy = options->env_proxy,
        .insecure = options->insecure,
    };
}

void http_settings_release(struct http_settings *settings)
{
    mem_free(settings->user_agent);
    mem_free(settings->ca_pem);
    mem_free(settings->cert_pem);
    mem_free_secret(settings->key_pem);
    mem_free(settings->server_name);
    mem_free(settings->proxy_url);
    *settings = (struct http_settings){0};
}

static long status_of(const struct http_call *call)
{
    long status = 0;

    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static bool is_success(const struct http_call *call)
{
    long status = status_of(call);

    return status >= 200 && status < 300;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
    struct http_call *call = ctx;
    size_t len = size * count;
    bool ends_head = len == 2 && memcmp(bytes, "\r\n", 2) == 0;

    call->last_read_ms = loop_clock_ms();
    call->header_bytes += len;
    if (call->on_head && ends_head && is_success(call))
        call->on_head(call->ctx);
    if (call->header_bytes <= HEADERS_MAX_BYTES)
        return len;
    err_set(&call->err, ERR_INVALID, "response headers are larger than %d bytes", HEADERS_MAX_BYTES);
    return 0;
}

static int on_send(void *ctx, char *to, char *from, int to_port, int from_port)
{
    struct http_call *call = ctx;

    (void)to;
    (void)from;
    (void)to_port;
    (void)from_port;
    call->sends++;
    return CURL_PREREQFUNC_OK;
}

static size_t on_write(char *bytes, size_t size, size_t count, void *ctx)
{
    struct http_call *call = ctx;
    size_t len = size * count;

    call->last_read_ms = loop_clock_ms();
    if (call->cancelled)
        return CURL_WRITEFUNC_ERROR;
    if (call->on_bytes && is_success(call)) {
        if (!http_client_may_read(call->http, len)) {
            call->is_paused = true;
            return CURL_WRITEFUNC_PAUSE;
        }
        bool wanted = call->on_bytes(call->ctx, (int)status_of(call), bytes, len);
        if (wanted && !call->cancelled)
            return len;
        err_set(&call->err, ERR_INVALID, "the response is not as expected, and was not read to its end");
        return CURL_WRITEFUNC_ERROR;
    }
    if (str_add(&call->body, bytes, len))
        return len;
    err_set(&call->err, ERR_INVALID, "response is larger than %zu bytes", call->body.max);
    return CURL_WRITEFUNC_ERROR;
}

static void add_header(struct http_call *call, const char *line)
{
    struct curl_slist *longer;

    if (strpbrk(line, "\r\n")) {
        err_set(&call->err, ERR_INVALID, "invalid request header: contains a line break");
        return;
    }
    longer = curl_slist_append(call->headers, line);
    assert(longer);
    call->headers = longer;
}

static void add_headers(struct http_call *call, const struct http_request *request)
{
    AUTO(mem) char *accept = mem_printf("Accept: %s", request->accept ? request->accept : "application/json");
    AUTO(mem) char *type = NULL;

    add_header(call, accept);
    add_header(call, "Expect:"); /* no round trip before a body */
    if (request->content_type) {
        type = mem_printf("Content-Type: %s", request->content_type);
        add_header(call, type);
    }
    if (request->bearer_token) {
        char *bearer = mem_printf("Authorization: Bearer %s", request->bearer_token);

        add_header(call, bearer);
        mem_free_secret(bearer);
    }
    for (const char *const *line = request->headers; line && *line; line++)
        add_header(call, *line);
}

static void set_method(struct http_call *call, const struct http_request *request)
{
    bool has_body = request->body.len > 0;

    if (strcmp(request->method, "HEAD") == 0) {
        SET(call->easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (has_body || strcmp(request->method, "POST") == 0) {
        SET(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        SET(call->easy, CURLOPT_COPYPOSTFIELDS, has_body ? request->body.ptr : "");
        if (!request->content_type)
            add_header(call, "Content-Type:"); /* libcurl would send it as a form */
    }
    SET(call->easy, CURLOPT_CUSTOMREQUEST, request->method);
}

/* The URL with its host replaced by the name to verify, and the way to the real host. libcurl takes the name
 * for SNI, for verification and for the Host header from the URL; the header is set back to the original. */
static CURLUcode rename_host(struct http_call *call, const char *server_name, CURLU *url)
{
    char *host = NULL;
    char *port = NULL;
    CURLUcode bad = curl_url_get(url, CURLUPART_HOST, &host, 0);

    if (!bad)
        bad = curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    if (!bad)
        bad = curl_url_set(url, CURLUPART_HOST, server_name, 0);
    if (!bad) {
        AUTO(mem) char *way = mem_printf("::%s:%s", host, port);
        AUTO(mem) char *header = mem_printf("Host: %s:%s", host, port);
        call->connect_to = curl_slist_append(NULL, way);
        assert(call->connect_to);
        add_header(call, header);
    }
    curl_free(host);
    curl_free(port);
    return bad;
}

static void set_url(struct http_call *call, const struct http_settings *settings, const char *text)
{
    CURLU *url = curl_url();
    char *whole = NULL;

    assert(url);
    /* Cleartext is HTTP/1.1 here: a request that waits for that connection would wait for its whole call. */
    SET(call->easy, CURLOPT_PIPEWAIT, str_has_prefix(text, "https://") ? 1L : 0L);
    CURLUcode bad = curl_url_set(url, CURLUPART_URL, text, 0);
    if (!bad && !str_has_prefix(text, "http://") && !str_has_prefix(text, "https://"))
        bad = CURLUE_UNSUPPORTED_SCHEME;
    if (!bad && settings->server_name)
        bad = rename_host(call, settings->server_name, url);
    if (!bad)
        bad = curl_url_get(url, CURLUPART_URL, &whole, 0);
    if (bad) {
        err_set(&call->err, ERR_INVALID, "invalid URL \"%.100s\": %s", text, curl_url_strerror(bad));
    } else {
        SET(call->easy, CURLOPT_URL, whole);
        SET(call->easy, CURLOPT_CONNECT_TO, call->connect_to);
    }
    curl_free(whole);
    curl_url_cleanup(url);
}

static void set_blob(CURL *easy, CURLoption option, char *pem)
{
    struct curl_blob blob = {.data = pem, .flags = CURL_BLOB_NOCOPY};

    if (!pem)
        return;
    blob.len = strlen(pem);
    SET(easy, option, &blob);
}

static void set_transport(CURL *easy, const struct http_settings *settings)
{
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(easy, CURLOPT_QUICK_EXIT, 1L); /* a call that ends does not wait for its name resolution's thread */
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_TCP_KEEPIDLE, 2L);
    SET(easy, CURLOPT_TCP_KEEPINTVL, 2L);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    if (settings->proxy_url || !settings->env_proxy) { /* else libcurl asks the environment */
        SET(easy, CURLOPT_PROXY, settings->proxy_url ? settings->proxy_url : "");
        SET(easy, CURLOPT_NOPROXY, "");
    }
    SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(easy, CURLOPT_USERAGENT, settings->user_agent);
    set_blob(easy, CURLOPT_CAINFO_BLOB, settings->ca_pem);
    set_blob(easy, CURLOPT_SSLCERT_BLOB, settings->cert_pem);
    set_blob(easy, CURLOPT_SSLKEY_BLOB, settings->key_pem);
    if (settings->insecure) {
        SET(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        SET(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static void set_callbacks(struct http_call *call)
{
    SET(call->easy, CURLOPT_PRIVATE, call);
    SET(call->easy, CURLOPT_ERRORBUFFER, call->why);
    SET(call->easy, CURLOPT_PREREQFUNCTION, on_send);
    SET(call->easy, CURLOPT_PREREQDATA, call);
    SET(call->easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(call->easy, CURLOPT_HEADERDATA, call);
    SET(call->easy, CURLOPT_WRITEFUNCTION, on_write);
    SET(call->easy, CURLOPT_WRITEDATA, call);
}

struct http_call *http_call_new(struct http_client *http, const struct http_settings *settings,
                                const struct http_request *request)
{
    struct http_call *call = NEW(struct http_call);

    call->http = http;
    call->easy = curl_easy_init();
    assert(call->easy);
    call->body.max = request->max_body ? request->max_body : BODY_DEFAULT_MAX;
    call->on_head = request->on_head;
    call->on_bytes = request->on_bytes;
    call->on_done = request->on_done;
    call->ctx = request->ctx;
    call->idle_timeout_ms = request->idle_timeout_ms;
    set_callbacks(call);
    set_transport(call->easy, settings);
    set_url(call, settings, request->url);
    set_method(call, request);
    add_headers(call, request);
    SET(call->easy, CURLOPT_HTTPHEADER, call->headers);
    SET(call->easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    return call;
}

void http_call_free(struct http_call *call)
{
    loop_timer_stop(&call->idle);
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    str_release(&call->body);
    mem_free(call);
}

static enum err_kind kind_of(CURLcode code)
{
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        return ERR_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return ERR_DENIED;
    default:
        return ERR_IO;
    }
}

void http_call_set_result(struct http_call *call, CURLcode code)
{
    if (call->err.kind || code == CURLE_OK)
        return;
    err_set_code(&call->err, kind_of(code), (int)code, "%s",
                 call->why[0] ? call->why : curl_easy_strerror(code));
}

static const char *header(const struct http_call *call, const char *name)
{
    struct curl_header *found = NULL;

    return curl_easy_header(call->easy, name, 0, CURLH_HEADER, -1, &found) ? NULL : found->value;
}

/* Warning: 299 - "text" */
static struct slice quoted_part(const char *value)
{
    const char *start = value ? strchr(value, '"') : NULL;
    const char *end = start ? strrchr(start + 1, '"') : NULL;

    return end ? (struct slice){start + 1, (size_t)(end - start - 1)} : (struct slice){"", 0};
}

/* A peer that asks for longer is asked again before: it may be wrong about its time. */
static int64_t retry_after_ms(const char *value)
{
    const int64_t max = 300;
    int64_t seconds;

    if (!value || !parse_i64(value, 0, INT64_MAX, &seconds))
        return -1;
    return (seconds < max ? seconds : max) * 1000;
}

void http_call_response(const struct http_call *call, struct http_response *ret)
{
    const char *type = header(call, "Content-Type"), *date = header(call, "Date");

    *ret = (struct http_response){
        .status = (int)status_of(call),
        .body = str_slice(&call->body),
        .retry_after_ms = retry_after_ms(header(call, "Retry-After")),
        .date_s = date ? (int64_t)curl_getdate(date, NULL) : -1,
        .content_type = type ? type : "",
        .warning = quoted_part(header(call, "Warning")),
        .was_repeated = call->sends > 1,
    };
}
