#include "operator/admin/asking.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "base/io/http.h"

enum { ANSWER_MS = 15000 };

struct answer {
    struct loop *loop;
    cJSON *body;
    struct err err;
};

int asking_run(const struct asking_settings *settings, asking_fn work, struct loop *loop, struct kube *kube)
{
    struct asking asking = {.loop = loop, .kube = kube, .pages = settings->pages};
    struct err err = {0};
    bool is_done;

    asking.http = http_new(loop, &(struct http_options){.user_agent = "ipu-operator"}, &err);
    is_done = asking.http && work(&asking, settings, &err);
    if (asking.http)
        http_free(asking.http);
    if (is_done)
        return TOOL_DONE;
    if (err.kind != ERR_NONE)
        (void)fprintf(stderr, "ipu-operator: %s\n", err.msg);
    return TOOL_REFUSED;
}

const char *asking_ns(const struct asking_settings *settings)
{
    return settings->ns ? settings->ns : settings->access.ns;
}

static void on_page(void *ctx, const struct http_response *res, const struct err *err)
{
    struct answer *answer = ctx;
    size_t len = res->body.len;

    loop_stop(answer->loop);
    while (len && res->body.ptr[len - 1] == '\n')
        len--;
    if (err->kind != ERR_NONE) {
        answer->err = *err;
    } else if (res->status != 200) {
        err_set_code(&answer->err, ERR_IO, res->status, "it answers %d: %.*s", res->status, (int)len,
                     res->body.ptr);
    } else {
        answer->body = json_parse(res->body, &answer->err);
    }
}

cJSON *ask_page(struct asking *asking, const char *path, struct err *err)
{
    struct answer answer = {.loop = asking->loop};
    AUTO(mem) char *url = mem_printf("%s%s", asking->pages, path);

    http_send(asking->http, &(struct http_request){.method = "GET",
                                                   .url = url,
                                                   .timeout_ms = ANSWER_MS,
                                                   .max_body = JSON_MAX_BYTES,
                                                   .on_done = on_page,
                                                   .ctx = &answer});
    loop_run(asking->loop);
    if (!answer.body) {
        *err = answer.err;
        err_wrap(err, "the operator's page %s", url);
    }
    return answer.body;
}

static void on_answer(void *ctx, struct kube_response *res)
{
    struct answer *answer = ctx;

    loop_stop(answer->loop);
    if (res->err.kind == ERR_NONE)
        answer->body = res->body ? TAKE(res->body) : json_object();
    else
        err_set_code(&answer->err, res->err.kind, res->err.code, "%s",
                     res->message[0] ? res->message : res->err.msg);
}

cJSON *ask_kube(struct asking *asking, const struct kube_request *request, struct err *err)
{
    struct answer answer = {.loop = asking->loop};

    kube_send(asking->kube, request, on_answer, &answer);
    loop_run(asking->loop);
    if (!answer.body)
        *err = answer.err;
    return answer.body;
}

bool ask_for_record(struct asking *asking, const char *ns, const struct record *record, struct err *err)
{
    AUTO(json) cJSON *body = record_build(record, ns);
    AUTO(json)
    cJSON *made = ask_kube(
        asking,
        &(struct kube_request){
            .method = "POST", .resource = &KUBE_CONFIGMAPS, .ns = ns, .body = body, .retry_post = true},
        err);

    if (made)
        return true;
    if (err->kind == ERR_EXISTS)
        return err_set(err, ERR_EXISTS,
                       "a record is there already; it was made just now, or keeps a used id from being used "
                       "again: kubectl -n %s get configmap %s -o yaml",
                       ns, record->name);
    return err_wrap(err, "its record");
}

struct pause {
    struct loop *loop;
    struct loop_timer timer;
};

static void on_pause_over(struct loop_timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct pause, timer)->loop);
}

void asking_pause(struct asking *asking, int64_t ms)
{
    struct pause pause = {.loop = asking->loop};

    loop_timer_start(asking->loop, &pause.timer, ms, on_pause_over);
    loop_run(asking->loop);
    loop_timer_stop(&pause.timer);
}
