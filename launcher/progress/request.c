#include "launcher/progress/request.h"

#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/doc/json.h"

#define SCHEME "https://"
#define SECONDS_MAX ((int64_t)10 * 365 * 86400) /* the operator takes no more */

/* ---- where ---- */

bool progress_url_read(const char *text, struct progress_url *ret, struct err *err)
{
    const char *host, *path, *port;

    if (!str_has_prefix(text, SCHEME) || strpbrk(text, " \r\n\"@[]"))
        return err_set(err, ERR_INVALID, "expected https://HOST:PORT/PATH, got \"%s\"", text);
    host = text + strlen(SCHEME);
    path = strchrnul(host, '/');
    port = memchr(host, ':', (size_t)(path - host));
    if (host == path || port == host)
        return err_set(err, ERR_INVALID, "expected https://HOST:PORT/PATH, got \"%s\"", text);
    *ret = (struct progress_url){
        .host = mem_strndup(host, (size_t)((port ? port : path) - host)),
        .port = port ? mem_strndup(port + 1, (size_t)(path - port - 1)) : mem_strdup("443"),
        .path = mem_strdup(*path ? path : "/"),
    };
    return true;
}

void progress_url_release(struct progress_url *url)
{
    mem_free(url->host);
    mem_free(url->port);
    mem_free(url->path);
    *url = (struct progress_url){0};
}

/* ---- what ---- */

static bool add_metric(cJSON *metrics, const char *word, struct err *err)
{
    const char *equals = strchr(word, '=');
    AUTO(mem) char *name = equals ? mem_strndup(word, (size_t)(equals - word)) : NULL;
    cJSON *metric;

    if (!equals || equals == word || !equals[1] || word[0] == '-')
        return err_set(err, ERR_INVALID, "expected NAME=VALUE, got \"%s\": " PROGRESS_USAGE, word);
    metric = json_push_take(metrics, json_object());
    json_put_str(metric, "name", name);
    json_put_str(metric, "value", equals + 1);
    return true;
}

static bool fill(cJSON *status, char *const *words, struct err *err)
{
    cJSON *metrics;
    int64_t number;

    if (!words[0] || !parse_i64(words[0], 0, 100, &number))
        return err_set(err, ERR_INVALID,
                       "PERCENT must be a number from 0 to 100, got \"%s\": " PROGRESS_USAGE,
                       words[0] ? words[0] : "");
    json_put_i64(status, "progressPercentage", number);
    words++;
    if (words[0] && str_eq(words[0], "--eta")) {
        if (!words[1] || !parse_i64(words[1], 0, SECONDS_MAX, &number))
            return err_set(err, ERR_INVALID, "--eta must be a number of seconds, got \"%s\": " PROGRESS_USAGE,
                           words[1] ? words[1] : "");
        json_put_i64(status, "estimatedRemainingSeconds", number);
        words += 2;
    }
    metrics = json_put_array(status, "metrics");
    for (; *words; words++) {
        if (!add_metric(metrics, *words, err))
            return false;
    }
    return true;
}

char *progress_request_body(char *const *words, struct err *err)
{
    AUTO(json) cJSON *body = json_object();

    return fill(json_put_object(body, "trainerStatus"), words, err) ? json_print(body) : NULL;
}

void progress_request_print(const struct progress_url *url, const char *token, const char *body,
                            struct str *out)
{
    str_addf(
        out,
        "POST %s HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
        url->path, url->host, url->port, token, strlen(body), body);
}

int progress_response_status(const char *text)
{
    AUTO(mem) char *digits = NULL;
    uint32_t status = 0;

    if (!str_has_prefix(text, "HTTP/1.") || strlen(text) < strlen("HTTP/1.1 200"))
        return 0;
    digits = mem_strndup(text + strlen("HTTP/1.1 "), 3);
    return parse_u32(digits, 100, 599, &status) ? (int)status : 0;
}
