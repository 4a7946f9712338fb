#include "script/script.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/kube/client/client.h"
#include "operator/kube/client/stream.h"

#define FINALIZER "example.com/hold"

struct script {
    const struct script_options *options;
    uint64_t random;
    cJSON *last[3][3];       /* per resource and name: the object as it was answered last; NULL: never */
    char *begun_versions[3]; /* of the resources, at the start */
    unsigned sneaks;
    bool is_done;
    /* of the request under way */
    struct kube_response answer;
    cJSON *body;
    struct str text;
};

enum kind { CONFIGMAP, IPUJOB, POD };
static const struct kube_resource *const RESOURCES[] = {
    [CONFIGMAP] = &KUBE_CONFIGMAPS, [IPUJOB] = &KUBE_IPUJOBS, [POD] = &KUBE_PODS};
static const char *const NAMES[] = {"a", "b", "c"};

static uint32_t roll(struct script *s, uint32_t sides)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(s->random >> 33) % sides;
}

/* ---- one request ---- */

static void on_done(void *ctx, struct kube_response *res)
{
    struct script *s = ctx;

    s->answer = *res;
    cJSON_Delete(s->body);
    s->body = TAKE(res->body);
    s->is_done = true;
}

static void ask(struct script *s, struct kube_request *request)
{
    request->ns = s->options->ns;
    s->is_done = false;
    kube_send(s->options->kube, request, on_done, s);
    s->options->wait(s->options->ctx, &s->is_done);
}

/* ---- what an answer says ---- */

static void say_member(const cJSON *object, const char *path)
{
    const cJSON *member = json_at(object, path);
    AUTO(mem) char *text = member ? json_print(member) : NULL;

    if (text)
        printf(" %s=%s", path, text);
}

/* An empty status is the schema's business. */
static void say_object(const cJSON *object)
{
    static const char *const paths[] = {
        "metadata/name", "metadata/labels", "metadata/finalizers",        "metadata/generation",
        "data",          "spec/suspend",    "spec/activeDeadlineSeconds", "status/reason",
        "status/phase"};

    for (size_t i = 0; i < COUNT_OF(paths); i++)
        say_member(object, paths[i]);
    if (json_at(object, "metadata/deletionTimestamp"))
        printf(" deleting");
}

static void say_answer(const struct script *s, const cJSON *before)
{
    const char *was = json_str(before, "metadata/resourceVersion", "");
    const char *is = json_str(s->body, "metadata/resourceVersion", "");

    printf(" -> %d", s->answer.http_status);
    if (s->answer.err.kind != ERR_NONE)
        printf(" %s", json_str(s->body, "reason", ""));
    else if (str_eq(json_str(s->body, "kind", ""), "Status"))
        printf(" Success");
    else
        say_object(s->body);
    if (s->answer.err.kind == ERR_NONE && before &&
        str_eq(json_str(before, "metadata/uid", ""), json_str(s->body, "metadata/uid", "-")))
        printf(" version=%s", str_eq(was, is) ? "same" : "new");
    printf("\n");
}

/* ---- bodies ---- */

static cJSON *new_object(size_t kind, const char *name, bool held, bool marked)
{
    static const char *const specs[] = {
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"x\":\"1\"}}",
        "{\"kind\":\"IPUJob\",\"apiVersion\":\"graphcore.ai/"
        "v1alpha1\",\"spec\":{\"jobInstances\":1,\"ipusPerJobInstance\":"
        "\"4\",\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"t\",\"image\":\"t:1\"}]}}}}}",
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"containers\":[{\"name\":\"t\",\"image\":\"t:1\"}"
        "],"
        "\"schedulerName\":\"nobody\"}}"};
    struct err err = {0};
    cJSON *object = json_parse(slice_of(specs[kind]), &err);
    cJSON *metadata = json_put_object(object, "metadata");

    json_put_str(metadata, "name", name);
    if (marked)
        json_put_str(json_put_object(metadata, "labels"), "mark", "yes");
    if (held)
        json_push_str(json_put_array(metadata, "finalizers"), FINALIZER);
    return object;
}

/* What a write requires of the object that it finds. */
enum precondition { NO_CONDITION, SAME_UID, OTHER_UID, SAME_VERSION, OLD_VERSION, PRECONDITIONS };

static void put_precondition(struct script *s, cJSON *metadata, const cJSON *last, enum precondition which)
{
    switch (which) {
    case SAME_UID:
        json_put_str(metadata, "uid", json_str(last, "metadata/uid", "none"));
        break;
    case OTHER_UID:
        json_put_str(metadata, "uid", "00000000-0000-0000-0000-000000000000");
        break;
    case SAME_VERSION:
        json_put_str(metadata, "resourceVersion", json_str(last, "metadata/resourceVersion", NULL));
        break;
    case OLD_VERSION:
        json_put_str(metadata, "resourceVersion", s->begun_versions[CONFIGMAP]);
        break;
    case NO_CONDITION:
    case PRECONDITIONS:
        break;
    }
}

/* ---- operations ---- */

static void create(struct script *s, size_t kind, size_t name)
{
    static const char *const dry[] = {"dryRun", "All", NULL};
    /* No pods: the pod garbage collector would take an interest in those that are held. */
    bool held = roll(s, 3) == 0 && kind != POD, marked = roll(s, 2) == 0, is_dry = roll(s, 4) == 0;
    AUTO(json) cJSON *body = new_object(kind, NAMES[name], held, marked);

    printf("create %s %s%s%s%s", RESOURCES[kind]->plural, NAMES[name], held ? " held" : "",
           marked ? " marked" : "", is_dry ? " dry" : "");
    ask(s, &(struct kube_request){
               .method = "POST", .resource = RESOURCES[kind], .body = body, .query = is_dry ? dry : NULL});
    say_answer(s, NULL);
}

static void get(struct script *s, size_t kind, size_t name)
{
    printf("get %s %s", RESOURCES[kind]->plural, NAMES[name]);
    ask(s, &(struct kube_request){.method = "GET", .resource = RESOURCES[kind], .name = NAMES[name]});
    say_answer(s, s->last[kind][name]);
}

static void send_patch(struct script *s, size_t kind, size_t name, const char *sub, const cJSON *body)
{
    ask(s, &(struct kube_request){.method = "PATCH",
                                  .resource = RESOURCES[kind],
                                  .name = NAMES[name],
                                  .sub = sub,
                                  .body = body,
                                  .content_type = KUBE_MERGE_PATCH});
    say_answer(s, s->last[kind][name]);
}

static void patch(struct script *s, size_t kind, size_t name)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");
    enum precondition which = roll(s, PRECONDITIONS);
    enum { LABEL, FINALIZERS, SUSPEND, STATUS, DEADLINE, CHANGES } what = roll(s, CHANGES);
    uint32_t value = roll(s, 2);

    printf("patch %s %s condition=%u what=%u value=%u", RESOURCES[kind]->plural, NAMES[name], which, what,
           value);
    put_precondition(s, metadata, s->last[kind][name], which);
    if (what == LABEL) {
        json_put_strf(json_put_object(metadata, "labels"), "mark", "%u", value);
    } else if (what == FINALIZERS && kind != POD) {
        cJSON *finalizers = json_put_array(metadata, "finalizers");

        /* Taking away what is not there changes who manages the field, and that has a version, too. */
        if (value || !json_at(s->last[kind][name], "metadata/finalizers"))
            json_push_str(finalizers, FINALIZER);
    } else if (what == SUSPEND && kind == IPUJOB) {
        json_put_bool(json_put_object(body, "spec"), "suspend", value);
    } else if (what == DEADLINE && kind == POD) { /* set, lowered, raised, taken back */
        uint32_t seconds = roll(s, 4);

        printf(" seconds=%u", seconds);
        json_put_take(json_put_object(body, "spec"), "activeDeadlineSeconds",
                      seconds ? cJSON_CreateNumber(seconds) : cJSON_CreateNull());
    } else if (what == STATUS && kind == IPUJOB) { /* the main resource does not take it */
        json_put_strf(json_put_object(metadata, "labels"), "mark", "sneaks-%u", ++s->sneaks);
        json_put_str(json_put_object(body, "status"), "reason", "Sneaked");
    } else {
        json_put_take(json_put_object(metadata, "labels"), "mark", cJSON_CreateNull());
    }
    send_patch(s, kind, name, NULL, body);
}

static void patch_status(struct script *s, size_t name)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");
    cJSON *status = json_put_object(body, "status");
    enum precondition which = roll(s, PRECONDITIONS);
    uint32_t value = roll(s, 2);

    printf("status %s condition=%u value=%u", NAMES[name], which, value);
    put_precondition(s, metadata, s->last[IPUJOB][name], which);
    json_put_i64(status, "desiredReplicas", 1);
    json_put_str(status, "lastMessage", "from the script");
    json_put_strf(status, "reason", "Reason%u", value);
    json_put_bool(json_put_object(body, "spec"), "suspend", true); /* the status does not take it */
    send_patch(s, IPUJOB, name, "status", body);
}

static void delete_one(struct script *s, size_t kind, size_t name)
{
    AUTO(json) cJSON *body = json_object();
    enum precondition which = roll(s, PRECONDITIONS);
    uint32_t now = roll(s, 2);

    printf("delete %s %s condition=%u now=%u", RESOURCES[kind]->plural, NAMES[name], which, now);
    json_put_str(body, "apiVersion", "v1");
    json_put_str(body, "kind", "DeleteOptions");
    if (which != NO_CONDITION)
        put_precondition(s, json_put_object(body, "preconditions"), s->last[kind][name], which);
    if (now)
        json_put_i64(body, "gracePeriodSeconds", 0);
    ask(s, &(struct kube_request){
               .method = "DELETE", .resource = RESOURCES[kind], .name = NAMES[name], .body = body});
    printf(" -> %d %s\n", s->answer.http_status,
           s->answer.err.kind != ERR_NONE ? json_str(s->body, "reason", "") : "");
}

static void list(struct script *s, size_t kind, bool marked)
{
    static const char *const query[] = {"labelSelector", "mark", NULL};

    printf("list %s%s", RESOURCES[kind]->plural, marked ? " marked" : "");
    ask(s,
        &(struct kube_request){.method = "GET", .resource = RESOURCES[kind], .query = marked ? query : NULL});
    printf(" -> %d %s", s->answer.http_status, json_str(s->body, "kind", ""));
    JSON_EACH (item, json_at(s->body, "items")) {
        if (!str_eq(json_str(item, "metadata/name", ""), "kube-root-ca.crt")) /* the real one's own */
            say_object(item);
    }
    printf("\n");
}

/* What is known of the object now, for the next conditions. */
static void remember(struct script *s, size_t kind, size_t name)
{
    ask(s, &(struct kube_request){.method = "GET", .resource = RESOURCES[kind], .name = NAMES[name]});
    if (s->answer.err.kind != ERR_NONE)
        return;
    cJSON_Delete(s->last[kind][name]);
    s->last[kind][name] = TAKE(s->body);
}

static void step(struct script *s)
{
    size_t kind = roll(s, COUNT_OF(RESOURCES)), name = roll(s, COUNT_OF(NAMES));

    switch (roll(s, 8)) {
    case 0:
    case 1:
        create(s, kind, name);
        break;
    case 2:
        get(s, kind, name);
        break;
    case 3:
    case 4:
        patch(s, kind, name);
        break;
    case 5:
        patch_status(s, name);
        break;
    case 6:
        delete_one(s, kind, name);
        break;
    case 7:
        list(s, kind, roll(s, 2) == 0);
        break;
    }
    if (roll(s, 2))
        remember(s, kind, name);
}

/* ---- the complete history once more, as a watch sends it ---- */

static bool on_bytes(void *ctx, const char *bytes, size_t len)
{
    return str_add(&((struct script *)ctx)->text, bytes, len);
}

static void on_end(void *ctx, const struct err *err, int64_t retry_after_ms)
{
    struct script *s = ctx;

    (void)err;
    (void)retry_after_ms;
    s->is_done = true;
}

static void say_event(const char *line, size_t len)
{
    struct err err = {0};
    AUTO(json) cJSON *event = json_parse((struct slice){line, len}, &err);
    const char *type = json_str(event, "type", "?");

    if (str_eq(type, "BOOKMARK") || str_eq(json_str(event, "object/metadata/name", ""), "kube-root-ca.crt"))
        return;
    printf("%s", type);
    say_object(json_at(event, "object"));
    printf("\n");
}

static void watch_from_the_start(struct script *s, size_t kind)
{
    AUTO(strv) struct strv query = {0};
    const char *version = s->begun_versions[kind];

    strv_push(&query, "watch");
    strv_push(&query, "true");
    strv_push(&query, "resourceVersion");
    strv_push(&query, version);
    strv_push(&query, "timeoutSeconds");
    strv_push(&query, "1");
    printf("watch %s\n", RESOURCES[kind]->plural);
    s->is_done = false;
    stream_open(s->options->kube, &(struct stream_request){.resource = RESOURCES[kind],
                                                           .ns = s->options->ns,
                                                           .query = &query,
                                                           .is_watch = true,
                                                           .timeout_ms = 60000,
                                                           .on_bytes = on_bytes,
                                                           .on_end = on_end,
                                                           .ctx = s});
    s->options->wait(s->options->ctx, &s->is_done);
    for (const char *at = str_text(&s->text); *at;) {
        size_t len = strcspn(at, "\n");

        say_event(at, len);
        at += len + (at[len] == '\n');
    }
    str_clear(&s->text);
}

void script_run(const struct script_options *options)
{
    struct script s = {.options = options, .random = options->seed};

    for (size_t kind = 0; kind < COUNT_OF(RESOURCES); kind++) {
        ask(&s, &(struct kube_request){.method = "GET", .resource = RESOURCES[kind]});
        s.begun_versions[kind] = mem_strdup(json_str(s.body, "metadata/resourceVersion", ""));
    }
    for (unsigned i = 0; i < options->steps; i++)
        step(&s);
    for (size_t kind = 0; kind < COUNT_OF(RESOURCES); kind++) {
        list(&s, kind, false);
        watch_from_the_start(&s, kind);
        mem_free(s.begun_versions[kind]);
        for (size_t name = 0; name < COUNT_OF(NAMES); name++)
            cJSON_Delete(s.last[kind][name]);
    }
    cJSON_Delete(s.body);
    str_release(&s.text);
}
