#include "operator/admin/sync_client.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/http/http_client.h"

enum { ANSWER_MS = 15000, PAGES_MAX = 1000 };

struct answer {
    struct loop *loop;
    cJSON *body;
    struct err err;
};

static int run(void *ctx, struct loop *loop, struct kube *kube)
{
    const struct sync_client_settings *settings = ctx;
    struct sync_client client = {.loop = loop, .kube = kube, .operator_url = settings->operator_url};
    struct err err = {0};
    bool is_done;

    client.http = http_client_new(loop, &(struct http_client_options){.user_agent = "ipu-operator"}, &err);
    is_done = client.http && settings->work(&client, settings, &err);
    if (client.http)
        http_client_free(client.http);
    if (is_done)
        return SUBCOMMAND_OK;
    if (err.kind != ERR_NONE)
        (void)fprintf(stderr, "ipu-operator: %s\n", err.msg);
    return SUBCOMMAND_FAILED;
}

int sync_client_main(const struct opts_spec *spec, struct sync_client_settings *settings, sync_client_fn work,
                     int argc, char **argv, const char *(*env)(const char *))
{
    settings->work = work;
    return subcommand_main(spec, &settings->access, run, argc, argv, env);
}

const char *sync_client_ns(const struct sync_client_settings *settings)
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
        err_set_code(&answer->err, ERR_IO, res->status, "responded with %d: %.*s", res->status, (int)len,
                     res->body.ptr);
    } else {
        answer->body = json_parse(res->body, &answer->err);
        json_make_visible(answer->body, VISIBLE_LINE); /* it may be the page of another program */
    }
}

static cJSON *get_page(struct sync_client *client, const char *path, const char *token, struct err *err)
{
    struct answer answer = {.loop = client->loop};
    AUTO(str) struct str url = {0};

    (void)str_addf(&url, "%s%s", client->operator_url, path);
    if (token) {
        (void)str_adds(&url, "?continue=");
        http_add_escaped(&url, token);
    }

    http_send(client->http, &(struct http_request){.method = "GET",
                                                   .url = str_text(&url),
                                                   .timeout_ms = ANSWER_MS,
                                                   .max_body = JSON_MAX_BYTES,
                                                   .on_done = on_page,
                                                   .ctx = &answer});
    loop_run(client->loop);
    if (!answer.body) {
        *err = answer.err;
        err_wrap(err, "%s", str_text(&url));
    }
    return answer.body;
}

static void move_items(cJSON *from, cJSON *to)
{
    while (from && from->child)
        json_push_take(to, cJSON_DetachItemViaPointer(from, from->child));
}

cJSON *sync_get_partitions(struct sync_client *client, struct err *err)
{
    AUTO(json) cJSON *all = get_page(client, "/partitions", NULL, err);
    cJSON *list = json_at_mut(all, "partitions");
    AUTO(mem) char *token = mem_strdup(json_str(all, "continue", NULL));

    for (unsigned pages = 1; list && token && pages < PAGES_MAX; pages++) {
        AUTO(json) cJSON *next = get_page(client, "/partitions", token, err);

        if (!next)
            return NULL;
        move_items(json_at_mut(next, "partitions"), list);
        mem_set_str(&token, json_str(next, "continue", NULL));
    }
    return TAKE(all);
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

cJSON *sync_kube_request(struct sync_client *client, const struct kube_request *request, struct err *err)
{
    struct answer answer = {.loop = client->loop};

    kube_send(client->kube, request, on_answer, &answer);
    loop_run(client->loop);
    if (!answer.body)
        *err = answer.err;
    return answer.body;
}

bool sync_create_record(struct sync_client *client, const char *ns, const struct record *record,
                        struct err *err)
{
    AUTO(json) cJSON *body = record_build(record, ns);
    AUTO(json)
    cJSON *made = sync_kube_request(
        client,
        &(struct kube_request){
            .method = "POST", .resource = &KUBE_CONFIGMAPS, .ns = ns, .body = body, .retry_post = true},
        err);

    if (made)
        return true;
    if (err->kind == ERR_EXISTS)
        return err_set(err, ERR_EXISTS,
                       "a record already exists: it was just created, or it quarantines the ID; see kubectl "
                       "-n %s get configmap %s -o yaml",
                       ns, record->name);
    return err_wrap(err, "partition record");
}

struct pause {
    struct loop *loop;
    struct loop_timer timer;
};

static void on_pause_over(struct loop_timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct pause, timer)->loop);
}

void sync_sleep(struct sync_client *client, int64_t ms)
{
    struct pause pause = {.loop = client->loop};

    loop_timer_start(client->loop, &pause.timer, ms, on_pause_over);
    loop_run(client->loop);
    loop_timer_stop(&pause.timer);
}
